// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/shell/log_drawer.h"

#include "ui/models/format.h"
#include "ui/widgets/delegates.h"
#include "ui/widgets/form.h"
#include "ui/widgets/icons.h"

#include <QAction>
#include <QClipboard>
#include <QComboBox>
#include <QGuiApplication>
#include <QListView>
#include <QPushButton>
#include <QScrollBar>
#include <QTimer>
#include <QVBoxLayout>

namespace lockstep::ui {
namespace {
constexpr int kClosedHeight = 34;
constexpr int kRefreshMilliseconds = 150;
} // namespace

LogDrawer::LogDrawer(RunDesk* desk, QWidget* parent)
    : QFrame(parent)
    , m_desk(desk)
    , m_model(new LogModel(this))
    , m_title(new QPushButton(tr("Log")))
    , m_line(new ElidedLabel)
    , m_list(new QListView) {
    setProperty("kind", QStringLiteral("drawer"));
    m_title->setProperty("kind", QStringLiteral("quiet"));
    setIconBeside(m_title, "chevron-right", Ink::Muted);
    m_title->setToolTip(tr("Open or close the log (Ctrl+L)"));
    m_title->setShortcut(QKeySequence(QStringLiteral("Ctrl+L")));
    connect(m_title, &QPushButton::clicked, this, &LogDrawer::toggle);
    m_line->setFont(monospace(scaled(font(), 0.92)));
    m_line->setProperty("kind", QStringLiteral("muted"));

    m_list->setModel(m_model);
    m_list->setItemDelegate(new LogDelegate(m_list));
    m_list->setUniformItemSizes(true);
    m_list->setSelectionMode(QAbstractItemView::ExtendedSelection);
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_list->setAccessibleName(tr("Log of all workers"));
    auto* copy = new QAction(m_list);
    copy->setShortcut(QKeySequence::Copy);
    copy->setShortcutContext(Qt::WidgetShortcut);
    connect(copy, &QAction::triggered, this, &LogDrawer::copySelected);
    m_list->addAction(copy);
    m_list->hide();

    auto* bar = new QHBoxLayout;
    bar->setContentsMargins(8, 0, 12, 0);
    bar->setSpacing(8);
    bar->addWidget(m_title);
    bar->addWidget(m_line, 1);
    m_tools = makeTools();
    bar->addWidget(m_tools, 1);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 1, 0, 0);
    column->setSpacing(0);
    column->addLayout(bar);
    column->addWidget(m_list, 1);
    setFixedHeight(kClosedHeight);

    auto* timer = new QTimer(this);
    timer->setInterval(kRefreshMilliseconds);
    connect(timer, &QTimer::timeout, this, &LogDrawer::refresh);
    timer->start();
    connect(desk, &RunDesk::shownChanged, this, &LogDrawer::showSession);
    showSession();
}

QWidget* LogDrawer::makeTools() {
    auto* tools = new QWidget;
    auto* row = new QHBoxLayout(tools);
    row->setContentsMargins(0, 3, 0, 3);
    row->setSpacing(8);
    m_text = new QLineEdit;
    m_text->setPlaceholderText(tr("Filter"));
    m_text->setAccessibleName(tr("Show only lines with this text"));
    m_text->setToolTip(tr("Show only lines with this text (Ctrl+F)"));
    m_text->setClearButtonEnabled(true);
    m_text->addAction(icon("search", Ink::Muted), QLineEdit::LeadingPosition);
    m_task = new QComboBox;
    m_task->addItem(tr("All workers"));
    m_task->setAccessibleName(tr("Show only one worker's lines"));
    m_level = new QComboBox;
    m_level->addItem(tr("All levels"), int(wire::Level::Debug));
    m_level->addItem(tr("Info and up"), int(wire::Level::Info));
    m_level->addItem(tr("Warnings"), int(wire::Level::Warning));
    m_level->addItem(tr("Errors"), int(wire::Level::Error));
    m_level->setCurrentIndex(1);
    m_level->setAccessibleName(tr("Show only lines of this level and up"));
    row->addStretch(1);
    row->addWidget(m_task);
    row->addWidget(m_level);
    row->addWidget(m_text, 1);
    connect(m_text, &QLineEdit::textChanged, this, &LogDrawer::setFilter);
    connect(m_task, &QComboBox::currentIndexChanged, this, &LogDrawer::setFilter);
    connect(m_level, &QComboBox::currentIndexChanged, this, &LogDrawer::setFilter);
    tools->hide();
    return tools;
}

void LogDrawer::setOpen(bool open) {
    m_isOpen = open;
    setIconBeside(m_title, open ? "chevron-down" : "chevron-right", Ink::Muted);
    m_list->setVisible(open);
    m_tools->setVisible(open);
    m_line->setVisible(!open);
    setFixedHeight(open ? std::max(160, window()->height() / 2 - 40) : kClosedHeight);
    refresh();
    if (open)
        QTimer::singleShot(0, m_list, &QListView::scrollToBottom); // once it has its place
}

void LogDrawer::find() {
    setOpen(true);
    m_text->setFocus(Qt::ShortcutFocusReason);
    m_text->selectAll();
}

void LogDrawer::showSession() {
    const RunSession* session = m_desk->shown();
    m_model->setStore(session ? &session->store() : nullptr);
    while (m_task->count() > 1)
        m_task->removeItem(m_task->count() - 1);
    refresh();
}

void LogDrawer::setFilter() {
    LogModel::Filter filter;
    filter.text = m_text->text();
    filter.task = m_task->currentIndex() > 0 ? m_task->currentText().toStdString() : std::string();
    filter.least = static_cast<wire::Level>(m_level->currentData().toInt());
    m_model->setFilter(filter);
}

void LogDrawer::refresh() {
    // At the end it follows; scrolled up, it stays where one reads.
    const QScrollBar* bar = m_list->verticalScrollBar();
    const bool atEnd = bar->value() >= bar->maximum() - 1;
    m_model->refresh();
    if (m_isOpen && atEnd)
        m_list->scrollToBottom();
    if (const RunSession* session = m_desk->shown(); session && m_isOpen) {
        const auto workers = session->store().workers();
        for (auto i = static_cast<std::size_t>(m_task->count()) - 1; i < workers.size(); ++i)
            m_task->addItem(QString::fromStdString(workers[i]->task));
    }
    if (m_isOpen)
        return;
    const metrics::LogLine* newest = m_model->newest();
    m_line->setFullText(
        newest
            ? QStringLiteral("%1  %2  %3")
                  .arg(formatClock(newest->time),
                       newest->task.empty() ? tr("control") : QString::fromStdString(newest->task),
                       plainText(QString::fromStdString(newest->text.substr(0, 600)), 400))
            : tr("Nothing logged yet"));
}

void LogDrawer::copySelected() {
    auto rows = m_list->selectionModel()->selectedIndexes();
    std::sort(rows.begin(), rows.end());
    QStringList lines;
    for (const QModelIndex& row : rows)
        lines.append(QStringLiteral("%1 %2 %3")
                         .arg(row.data(LogModel::TimeRole).toString(),
                              row.data(LogModel::TaskRole).toString(), row.data().toString()));
    QGuiApplication::clipboard()->setText(lines.join(QLatin1Char('\n')));
}

} // namespace lockstep::ui
