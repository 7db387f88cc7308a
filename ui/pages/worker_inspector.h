// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The fields of one worker, each with its problem below it. Every keystroke is in the document.

#include "ui/models/workspace.h"
#include "ui/widgets/form.h"

class QComboBox;
class QLineEdit;
class QPlainTextEdit;
class QPushButton;

namespace lockstep::ui {

class WorkerInspector final : public QWidget {
    Q_OBJECT
public:
    explicit WorkerInspector(Workspace* workspace, QWidget* parent = nullptr);
    /// -1: no worker is selected.
    void setRow(int row);
    /// "address", "ssh", "name", "task", "env".
    void focusField(const QString& key);
    void setCanTest(bool can);

Q_SIGNALS:
    void testWanted();

private:
    void edit(const QString& what, const char* key,
              const std::function<void(cluster::Worker&)>& change);
    void showProblems();

    Workspace* m_workspace;
    int m_row = -1;
    Card* m_card;
    QPushButton* m_test;
    bool m_canTest = false;
    QLineEdit* m_name;
    QComboBox* m_role;
    QLineEdit* m_address;
    QLineEdit* m_machine;
    QPlainTextEdit* m_env;
    QList<std::pair<std::string, Field*>> m_fields; ///< by key in the document
};

} // namespace lockstep::ui
