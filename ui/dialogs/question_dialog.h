// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// A secret, the server's own questions, or a key to touch: who asks is always on top, what a server
// says stands in a box of its own and is plain text. No timer runs. GUI thread.

#include "core/ssh/prompter.h"

#include <QDialog>
#include <QLineEdit>

class QBoxLayout;
class QCheckBox;

namespace lockstep::ui {

class QuestionDialog final : public QDialog {
    Q_OBJECT
public:
    enum class Remember { NotOffered, Offered };
    QuestionDialog(const ssh::Question& question, Remember remember, QWidget* parent = nullptr);

    /// In the order of the prompts.
    QStringList replies() const;
    bool wantsRemembering() const;

private:
    QWidget* makeServerBox(const ssh::Question& question);
    void addPrompts(const ssh::Question& question, QBoxLayout* column);

    QList<QLineEdit*> m_edits;
    QCheckBox* m_remember = nullptr;
};

} // namespace lockstep::ui
