// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The job: form and JSON, both ways in step, beside what it comes to on this cluster.

#include "ui/pages/page.h"

class QLineEdit;
class QPlainTextEdit;
class QStackedWidget;

namespace lockstep::ui {

class JobForm;
class ProblemLabel;
class Segments;

class JobPage final : public Page {
    Q_OBJECT
public:
    explicit JobPage(Workspace* workspace, QWidget* parent = nullptr);
    void reveal(const QString& path) override;
    enum class Tab { Form, Json };
    void showTab(Tab tab);

private:
    QWidget* makeJson();
    void textEdited();
    void refresh();

    Workspace* m_workspace;
    QLineEdit* m_name;
    Segments* m_tabs;
    QStackedWidget* m_stack;
    JobForm* m_form;
    QPlainTextEdit* m_text;
    ProblemLabel* m_textProblem;
    bool m_isTyping = false; ///< the change comes from the text itself
};

} // namespace lockstep::ui
