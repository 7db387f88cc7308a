// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The window: top bar, rail, pages, log drawer. It only routes: what a document or a run does is in
// Workspace and RunDesk, what a page shows is in the page.

#include "ui/models/check_session.h"
#include "ui/models/run_desk.h"
#include "ui/models/ssh_access.h"

#include <QMainWindow>

#include <functional>

class QStackedWidget;

namespace lockstep::ui {

class ClusterPage;
class JobPage;
class LogDrawer;
class MonitorPage;
class NoticeBar;
class Page;
class Rail;
class RunsPage;
class TopBar;

class MainWindow final : public QMainWindow {
    Q_OBJECT
public:
    enum class PageId { Cluster, Job, Check, Monitor, Runs };

    /// Without `check` there is no page Check.
    explicit MainWindow(RunDesk* desk, const SshAccess& access = {}, CheckSession* check = nullptr,
                        QWidget* parent = nullptr);

    void showPage(PageId page);
    Page* page(PageId page) const;
    MonitorPage* monitor() const { return m_monitor; }
    JobPage* jobPage() const { return m_job; }
    LogDrawer* log() const { return m_log; }
    /// Opens a document and says so where that fails.
    bool openPath(Document document, const QString& path);
    void setRecent(Document document, const QStringList& paths);

Q_SIGNALS:
    void themeWanted();
    /// A document was opened or saved at this path.
    void documentUsed(lockstep::ui::Document document, const QString& path);
    void closed();

protected:
    void closeEvent(QCloseEvent* event) override;

private:
    void addPage(PageId id, const char* sign, const QString& word, Page* page);
    void connectPages();
    void connectDocuments();
    void makeShortcuts();
    void notice(const QString& text, bool canUndo);
    void askToLaunch(const Problems& warnings);
    void refreshBadges();
    void chooseFile(Document document, bool toSave);
    void save(Document document);
    void saveTo(Document document, const QString& path);
    void saveAll();
    /// Calls `then` at once where nothing is unsaved, else after the question was answered so.
    void whenSaved(const QList<Document>& documents, std::function<void()> then);
    void reveal(Document document, const QString& path);

    RunDesk* m_desk;
    Workspace* m_workspace;
    TopBar* m_top;
    Rail* m_rail;
    QStackedWidget* m_stack;
    QList<PageId> m_order; ///< of the rail and the stack
    LogDrawer* m_log;
    NoticeBar* m_notice;
    ClusterPage* m_cluster;
    JobPage* m_job;
    MonitorPage* m_monitor;
    RunsPage* m_runs;
    bool m_mayClose = false;
};

} // namespace lockstep::ui
