// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/pages/job_page.h"

#include "core/base/json_reader.h"
#include "ui/models/format.h"
#include "ui/pages/job_form.h"
#include "ui/pages/job_summary.h"
#include "ui/widgets/code_view.h"

#include <QBoxLayout>
#include <QScrollArea>
#include <QStackedWidget>
#include <QTextBlock>

namespace lockstep::ui {
namespace {
constexpr int kSideWidth = 288;

QScrollArea* scrolled(QWidget* widget) {
    auto* area = new QScrollArea;
    area->setWidget(widget);
    area->setWidgetResizable(true);
    area->setFrameShape(QFrame::NoFrame);
    area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    return area;
}
} // namespace

JobPage::JobPage(Workspace* workspace, QWidget* parent)
    : Page(parent)
    , m_workspace(workspace)
    , m_name(new QLineEdit)
    , m_tabs(new Segments({tr("Form"), tr("JSON")}, tr("View of the job")))
    , m_stack(new QStackedWidget)
    , m_form(new JobForm(workspace)) {
    m_name->setFont(scaled(font(), 1.25, QFont::DemiBold));
    m_name->setAccessibleName(tr("Name of the job"));
    m_name->setToolTip(tr("Name of the job"));
    m_name->setMaximumWidth(320);
    auto* bar = new QHBoxLayout;
    bar->addWidget(m_name, 1);
    bar->addStretch(1);
    bar->addWidget(m_tabs);
    m_stack->addWidget(scrolled(m_form));
    m_stack->addWidget(makeJson());
    auto* side = scrolled(new JobSummary(workspace));
    side->setFixedWidth(kSideWidth);
    auto* row = new QHBoxLayout;
    row->setSpacing(16);
    row->addWidget(m_stack, 1);
    row->addWidget(side);
    auto* column = makeColumn();
    column->addLayout(bar);
    column->addLayout(row, 1);

    connect(m_tabs, &Segments::chosen, this,
            [this](int index) { showTab(static_cast<Tab>(index)); });
    connect(m_form, &JobForm::jsonWanted, this, [this] { showTab(Tab::Json); });
    connect(m_name, &QLineEdit::textEdited, this, [this](const QString& text) {
        // A name can always be set: the document is an object.
        (void)m_workspace->editJob(tr("Rename job"), "name", text.toStdString());
    });
    connect(workspace, &Workspace::jobChanged, this, &JobPage::refresh);
    refresh();
}

QWidget* JobPage::makeJson() {
    auto* page = new QWidget;
    auto* column = new QVBoxLayout(page);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(8);
    auto* view = new CodeView(tr("The job as JSON"));
    view->setReadOnly(false);
    view->setTextInteractionFlags(Qt::TextEditorInteraction);
    view->setUndoRedoEnabled(false); // the window's undo knows every step
    m_text = view;
    m_textProblem = new ProblemLabel;
    column->addWidget(m_text, 1);
    column->addWidget(m_textProblem);
    connect(m_text, &QPlainTextEdit::textChanged, this, &JobPage::textEdited);
    return page;
}

void JobPage::showTab(Tab tab) {
    m_tabs->setCurrent(static_cast<int>(tab));
    m_stack->setCurrentIndex(static_cast<int>(tab));
    if (tab == Tab::Json)
        m_text->setFocus();
}

void JobPage::textEdited() {
    if (!m_text->hasFocus())
        return;
    m_isTyping = true;
    const Status status = m_workspace->setJobText(m_text->toPlainText());
    m_isTyping = false;
    m_textProblem->setText(Tone::Error,
                           status.ok() ? QString()
                                       : plainText(QString::fromStdString(status.error().message)));
}

void JobPage::refresh() {
    if (const QString name = QString::fromStdString(m_workspace->job().name);
        m_name->text() != name)
        m_name->setText(name);
    if (m_isTyping)
        return; // what is typed stays as it is typed
    m_textProblem->setText(Tone::Error, {});
    static_cast<CodeView*>(m_text)->showText(m_workspace->jobText());
}

void JobPage::reveal(const QString& path) {
    if (path.startsWith(QStringLiteral("model"))) {
        showTab(Tab::Json);
        const json::Value* value = json::findPath(m_workspace->jobDocument(), path.toStdString());
        if (value && value->line() > 0)
            m_text->setTextCursor(
                QTextCursor(m_text->document()->findBlockByNumber(value->line() - 1)));
        return;
    }
    showTab(Tab::Form);
    m_form->reveal(path);
}

} // namespace lockstep::ui
