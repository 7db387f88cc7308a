// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The questions of SSH connections as dialogs over the window: unknown host keys of many hosts in
// one table, everything else one after the other. GUI thread.

#include "core/ssh/prompter.h"
#include "ui/dialogs/secret_store.h"
#include "ui/models/host_keys_model.h"

#include <QDialog>
#include <QPointer>
#include <QTimer>

#include <deque>

namespace lockstep::ui {

class HostKeysDialog;
class QuestionDialog;

class PromptDialogs final : public ssh::Prompter {
    Q_OBJECT
public:
    /// `secrets` may be null: nothing can be remembered. Both outlive this.
    explicit PromptDialogs(SecretStore* secrets = nullptr, QObject* parent = nullptr);
    ~PromptDialogs() override;

    /// Over which window the dialogs open.
    void setWindow(QWidget* window) { m_window = window; }

    QuestionId ask(const ssh::Question& question, Done done) override;
    void withdraw(QuestionId id) override;

    /// The dialog that is open; nullptr where none is.
    QDialog* current() const { return m_open; }

private:
    struct Waiting {
        QuestionId id;
        ssh::Question question;
        Done done;
    };
    void showNext();
    void showHostKeys();
    void showQuestion();
    void askStore(const Waiting& waiting);
    void answerHostKeys(bool accepted);
    void answerQuestion(bool accepted);
    /// Takes the question out; nothing where it was withdrawn.
    Done take(QuestionId id);
    void openDialog(QDialog* dialog);

    SecretStore* m_secrets;
    QPointer<QWidget> m_window;
    QuestionId m_last = 0;
    HostKeysModel m_keys;
    std::deque<Waiting> m_keyQuestions;
    std::deque<Waiting> m_questions; ///< the first is the one that is open
    std::deque<Waiting> m_looking;   ///< while the keyring is asked
    QPointer<QDialog> m_open;
    QTimer m_gather; ///< so that hosts that come at once stand in one table from the start
};

} // namespace lockstep::ui
