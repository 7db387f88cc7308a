// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Which run is on the screen and which one works, and what the one primary action does now.
// GUI thread.

#include "ui/models/run_session.h"
#include "ui/models/workspace.h"

#include <set>
#include <string>

namespace lockstep::ui {

enum class PrimaryAction { Launch, Cancel, Stop, Stopping, LaunchAgain };

class RunDesk final : public QObject {
    Q_OBJECT
public:
    RunDesk(Workspace* workspace, SessionFactory factory, RunLibrary* library,
            QObject* parent = nullptr);
    ~RunDesk() override;

    Workspace* workspace() const { return m_workspace; }
    RunLibrary* library() const { return m_library; }
    /// What Monitor shows; nullptr before the first run.
    RunSession* shown() const { return m_shown; }
    /// The run with workers of its own, launched or attached here; nullptr where none works.
    RunSession* live() const;

    PrimaryAction primary() const;
    bool isPrimaryEnabled() const;
    /// Launches, cancels or stops, as primary() says.
    void runPrimary();
    enum class Warnings { Ask, Accept };
    void launch(Warnings warnings = Warnings::Ask);
    void stop();
    /// The answer to confirmationWanted().
    void confirm(bool proceeds);
    /// Shows a run of the list: attaches to one that works, loads one that is over.
    void open(const QString& runId);
    void showLive();
    /// Attaches to the newest run that still works, after the library has been read.
    void attachToRunning();
    /// Leaves all workers alone; for closing the window.
    void detachAll();

Q_SIGNALS:
    void shownChanged();
    void stateChanged(); ///< of the shown or the live run
    void launched();
    /// Whether to launch in spite of `warnings`; those that were accepted once are not asked again.
    void confirmationWanted(const lockstep::Problems& warnings);
    void runEnded(); ///< the live run came to its end

private:
    void watch(RunSession* session);
    void show(RunSession* session);
    void askAbout(const Problems& problems);

    Workspace* m_workspace;
    SessionFactory m_factory;
    RunLibrary* m_library;
    std::unique_ptr<RunSession> m_liveSession;
    std::unique_ptr<RunSession> m_openedSession; ///< a run of the list, beside the live one
    RunSession* m_shown = nullptr;
    Problems m_asked;
    std::set<std::string> m_accepted; ///< warnings, while this window is open
};

} // namespace lockstep::ui
