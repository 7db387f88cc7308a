// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The TF_CONFIG of one task as it would be sent now, with what changed tinted, and a copy button
// that gives the exact bytes.

#include "ui/models/workspace.h"
#include "ui/widgets/form.h"

namespace lockstep::ui {

class CodeView;

class TfConfigCard final : public QWidget {
    Q_OBJECT
public:
    explicit TfConfigCard(Workspace* workspace, QWidget* parent = nullptr);
    void setRow(int row);

Q_SIGNALS:
    void noticed(const QString& text);

private:
    Workspace* m_workspace;
    Card* m_card;
    CodeView* m_view;
    QLabel* m_task;
    QToolButton* m_copy;
    QString m_bytes; ///< what is sent
};

} // namespace lockstep::ui
