// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/shell/main_window.h"

#include "ui/dialogs/launch_warnings_dialog.h"
#include "ui/models/format.h"
#include "ui/pages/check_page.h"
#include "ui/pages/cluster_page.h"
#include "ui/pages/job_page.h"
#include "ui/pages/monitor_page.h"
#include "ui/pages/runs_page.h"
#include "ui/shell/log_drawer.h"
#include "ui/shell/notice_bar.h"
#include "ui/shell/rail.h"
#include "ui/shell/top_bar.h"

#include <QCloseEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QMessageBox>
#include <QPushButton>
#include <QShortcut>
#include <QStackedWidget>
#include <QUndoStack>

namespace lockstep::ui {
namespace {

QString kindOf(Document document) {
    return document == Document::Cluster ? MainWindow::tr("cluster") : MainWindow::tr("job");
}

} // namespace

MainWindow::MainWindow(RunDesk* desk, const SshAccess& access, CheckSession* check, QWidget* parent)
    : QMainWindow(parent)
    , m_desk(desk)
    , m_workspace(desk->workspace())
    , m_top(new TopBar(desk))
    , m_rail(new Rail)
    , m_stack(new QStackedWidget)
    , m_log(new LogDrawer(desk))
    , m_cluster(new ClusterPage(m_workspace, access))
    , m_job(new JobPage(m_workspace))
    , m_monitor(new MonitorPage(desk))
    , m_runs(new RunsPage(desk)) {
    setWindowTitle(QStringLiteral("Lockstep"));
    setMinimumSize(960, 600);
    resize(1280, 820);
    addPage(PageId::Cluster, "cluster", tr("Cluster"), m_cluster);
    addPage(PageId::Job, "job", tr("Job"), m_job);
    if (check)
        addPage(PageId::Check, "check", tr("Check"), new CheckPage(m_workspace, check));
    addPage(PageId::Monitor, "monitor", tr("Monitor"), m_monitor);
    addPage(PageId::Runs, "runs", tr("Runs"), m_runs);

    auto* middle = new QHBoxLayout;
    middle->setSpacing(0);
    middle->addWidget(m_rail);
    middle->addWidget(m_stack, 1);
    auto* central = new QWidget;
    auto* column = new QVBoxLayout(central);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(m_top);
    column->addLayout(middle, 1);
    column->addWidget(m_log);
    setCentralWidget(central);
    m_notice = new NoticeBar(m_workspace->undoStack(), central);

    connectPages();
    connectDocuments();
    makeShortcuts();
    showPage(PageId::Cluster);
    refreshBadges();
}

void MainWindow::addPage(PageId id, const char* sign, const QString& word, Page* page) {
    m_order.append(id);
    m_rail->add(sign, word);
    m_stack->addWidget(page);
}

void MainWindow::connectPages() {
    connect(m_rail, &Rail::chosen, this, [this](int index) { showPage(m_order[index]); });
    connect(m_rail, &Rail::themeWanted, this, &MainWindow::themeWanted);
    for (int i = 0; i < m_stack->count(); ++i)
        connect(static_cast<Page*>(m_stack->widget(i)), &Page::noticed, this, &MainWindow::notice);
    connect(m_runs, &RunsPage::opened, this, [this] { showPage(PageId::Monitor); });
    connect(m_desk, &RunDesk::launched, this, [this] { showPage(PageId::Monitor); });
    connect(m_desk, &RunDesk::confirmationWanted, this, &MainWindow::askToLaunch);
    connect(m_workspace, &Workspace::problemsChanged, this, &MainWindow::refreshBadges);
    connect(m_top, &TopBar::problemChosen, this, &MainWindow::reveal);
}

void MainWindow::askToLaunch(const Problems& warnings) {
    auto* dialog = new LaunchWarningsDialog(warnings, this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &QDialog::finished, m_desk,
            [this](int answer) { m_desk->confirm(answer == QDialog::Accepted); });
    // Cancelled meanwhile: there is nothing to decide any more.
    connect(m_desk, &RunDesk::stateChanged, dialog, [this, dialog] {
        if (!m_desk->live())
            dialog->close();
    });
    dialog->open();
}

void MainWindow::connectDocuments() {
    connect(m_top, &TopBar::newWanted, this, [this](Document document) {
        whenSaved({document}, [this, document] { m_workspace->newDocument(document); });
    });
    connect(m_top, &TopBar::openWanted, this, [this](Document document) {
        whenSaved({document}, [this, document] { chooseFile(document, false); });
    });
    connect(m_top, &TopBar::openPathWanted, this, [this](Document document, const QString& path) {
        whenSaved({document}, [this, document, path] { openPath(document, path); });
    });
    connect(m_top, &TopBar::saveWanted, this, &MainWindow::save);
    connect(m_top, &TopBar::saveAsWanted, this,
            [this](Document document) { chooseFile(document, true); });
}

void MainWindow::makeShortcuts() {
    const auto add = [this](const QKeySequence& keys, auto slot) {
        connect(new QShortcut(keys, this), &QShortcut::activated, this, slot);
    };
    add(QKeySequence::Save, [this] { saveAll(); });
    add(QKeySequence::Open,
        [this] { whenSaved({Document::Job}, [this] { chooseFile(Document::Job, false); }); });
    add(QKeySequence(QStringLiteral("Ctrl+Shift+O")), [this] {
        whenSaved({Document::Cluster}, [this] { chooseFile(Document::Cluster, false); });
    });
    add(QKeySequence::Undo, [this] { m_workspace->undoStack()->undo(); });
    add(QKeySequence::Redo, [this] { m_workspace->undoStack()->redo(); });
    add(QKeySequence::Find, [this] { m_log->find(); });
    add(QKeySequence::Quit, [this] { close(); });
}

void MainWindow::showPage(PageId page) {
    const auto index = static_cast<int>(m_order.indexOf(page));
    if (index < 0)
        return; // Check, where nothing checks
    m_stack->setCurrentIndex(index);
    m_rail->setCurrent(index);
    m_stack->currentWidget()->setFocus();
}

Page* MainWindow::page(PageId page) const {
    return static_cast<Page*>(m_stack->widget(static_cast<int>(m_order.indexOf(page))));
}

void MainWindow::notice(const QString& text, bool canUndo) {
    m_notice->show(text, canUndo);
}

void MainWindow::refreshBadges() {
    for (const auto& [page, document] :
         {std::pair(PageId::Cluster, Document::Cluster), std::pair(PageId::Job, Document::Job)})
        m_rail->setBadge(static_cast<int>(m_order.indexOf(page)),
                         m_workspace->count(document, Severity::Error),
                         m_workspace->count(document, Severity::Warning));
}

void MainWindow::reveal(Document document, const QString& path) {
    const PageId id = document == Document::Cluster ? PageId::Cluster : PageId::Job;
    showPage(id);
    page(id)->reveal(path);
}

bool MainWindow::openPath(Document document, const QString& path) {
    const Status status = m_workspace->open(document, path);
    if (status.ok())
        Q_EMIT documentUsed(document, path);
    else
        notice(
            tr("Could not open the %1: %2")
                .arg(kindOf(document), plainText(QString::fromStdString(describe(status.error())))),
            false);
    return status.ok();
}

void MainWindow::setRecent(Document document, const QStringList& paths) {
    m_top->setRecent(document, paths);
}

void MainWindow::chooseFile(Document document, bool toSave) {
    const QString now = m_workspace->file(document);
    const QString end =
        QStringLiteral(".%1.json")
            .arg(document == Document::Cluster ? QStringLiteral("cluster") : QStringLiteral("job"));
    auto* dialog = new QFileDialog(
        this,
        toSave ? tr("Save the %1").arg(kindOf(document)) : tr("Open a %1").arg(kindOf(document)),
        now.isEmpty() ? QString() : QFileInfo(now).absolutePath(),
        tr("%1 (*%2);;JSON (*.json);;All files (*)").arg(kindOf(document), end));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    if (toSave) {
        dialog->setAcceptMode(QFileDialog::AcceptSave);
        dialog->selectFile(now.isEmpty() ? m_workspace->title(document) + end
                                         : QFileInfo(now).fileName());
    } else {
        dialog->setFileMode(QFileDialog::ExistingFile);
    }
    connect(dialog, &QFileDialog::fileSelected, this,
            [this, document, toSave](const QString& path) {
                if (toSave)
                    saveTo(document, path);
                else
                    openPath(document, path);
            });
    dialog->open();
}

void MainWindow::save(Document document) {
    if (const QString path = m_workspace->file(document); path.isEmpty())
        chooseFile(document, true);
    else
        saveTo(document, path);
}

void MainWindow::saveTo(Document document, const QString& path) {
    const Status status = m_workspace->save(document, path);
    if (status.ok())
        Q_EMIT documentUsed(document, path);
    notice(status.ok() ? tr("Saved %1.").arg(QFileInfo(path).fileName())
                       : tr("Could not save the %1: %2")
                             .arg(kindOf(document),
                                  plainText(QString::fromStdString(describe(status.error())))),
           false);
}

void MainWindow::saveAll() {
    for (const Document document : {Document::Cluster, Document::Job})
        if (m_workspace->isModified(document))
            save(document);
}

void MainWindow::whenSaved(const QList<Document>& documents, std::function<void()> then) {
    QList<Document> unsaved;
    QStringList names;
    for (const Document document : documents)
        if (m_workspace->isModified(document)) {
            unsaved.append(document);
            names.append(
                QStringLiteral("%1 %2").arg(kindOf(document), m_workspace->title(document)));
        }
    if (unsaved.isEmpty())
        return then();
    auto* box = new QMessageBox(QMessageBox::Question, tr("Unsaved changes"),
                                tr("Save the changes to the %1?").arg(names.join(tr(" and the "))),
                                QMessageBox::NoButton, this);
    box->setTextFormat(Qt::PlainText);
    auto* saveButton = box->addButton(QMessageBox::Save);
    auto* discard = box->addButton(QMessageBox::Discard);
    box->addButton(QMessageBox::Cancel);
    box->setDefaultButton(QMessageBox::Save);
    box->setAttribute(Qt::WA_DeleteOnClose);
    connect(saveButton, &QAbstractButton::clicked, this, [this, unsaved, then] {
        for (const Document document : unsaved)
            save(document);
        // One that has no place yet is asked for first; the user then closes again.
        for (const Document document : unsaved)
            if (m_workspace->isModified(document))
                return;
        then();
    });
    connect(discard, &QAbstractButton::clicked, this, then);
    box->open();
}

void MainWindow::closeEvent(QCloseEvent* event) {
    const bool unsaved =
        m_workspace->isModified(Document::Cluster) || m_workspace->isModified(Document::Job);
    if (unsaved && !m_mayClose) {
        event->ignore();
        whenSaved({Document::Cluster, Document::Job}, [this] {
            m_mayClose = true;
            close();
        });
        return;
    }
    m_desk->detachAll(); // a run goes on without its window
    Q_EMIT closed();
    event->accept();
}

} // namespace lockstep::ui
