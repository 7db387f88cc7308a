// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/models/run_desk.h"

#include <utility>

namespace lockstep::ui {

RunDesk::RunDesk(Workspace* workspace, SessionFactory factory, RunLibrary* library, QObject* parent)
    : QObject(parent)
    , m_workspace(workspace)
    , m_factory(std::move(factory))
    , m_library(library) {
    connect(workspace, &Workspace::problemsChanged, this, &RunDesk::stateChanged);
}

RunDesk::~RunDesk() = default;

RunSession* RunDesk::live() const {
    return m_liveSession && !m_liveSession->isOver() ? m_liveSession.get() : nullptr;
}

PrimaryAction RunDesk::primary() const {
    if (const RunSession* session = live()) {
        switch (session->state()) {
        case run::State::Training:
        case run::State::Finishing:
            return PrimaryAction::Stop;
        case run::State::Stopping:
            return PrimaryAction::Stopping;
        default:
            return PrimaryAction::Cancel;
        }
    }
    return m_liveSession ? PrimaryAction::LaunchAgain : PrimaryAction::Launch;
}

bool RunDesk::isPrimaryEnabled() const {
    switch (primary()) {
    case PrimaryAction::Launch:
    case PrimaryAction::LaunchAgain:
        return m_workspace->canLaunch();
    case PrimaryAction::Stopping:
        return false;
    default:
        return true;
    }
}

void RunDesk::runPrimary() {
    if (!isPrimaryEnabled())
        return;
    if (live())
        stop();
    else
        launch();
}

void RunDesk::watch(RunSession* session) {
    connect(session, &RunSession::stateChanged, this, &RunDesk::stateChanged);
    connect(session, &RunSession::confirmationWanted, this,
            [this, session] { askAbout(session->problems()); });
    connect(session, &RunSession::done, this, [this, session] {
        Q_EMIT stateChanged();
        if (session != m_liveSession.get())
            return;
        Q_EMIT runEnded();
        m_library->refresh();
    });
}

/// Readers of the shown run let go of it before it is destroyed.
void RunDesk::show(RunSession* session) {
    m_shown = session;
    Q_EMIT shownChanged();
}

void RunDesk::launch(Warnings warnings) {
    if (live())
        return;
    auto session = m_factory();
    watch(session.get());
    show(session.get());
    m_openedSession.reset();
    m_liveSession = std::move(session);
    run::LaunchRequest request;
    request.cluster = m_workspace->cluster().document();
    request.clusterFile = m_workspace->file(Document::Cluster).toStdString();
    request.job = m_workspace->jobDocument();
    request.jobFile = m_workspace->file(Document::Job).toStdString();
    request.acceptsWarnings = warnings == Warnings::Accept;
    Q_EMIT launched();
    m_liveSession->launch(std::move(request));
    Q_EMIT stateChanged();
}

void RunDesk::stop() {
    if (RunSession* session = live())
        session->stop();
}

void RunDesk::askAbout(const Problems& problems) {
    m_asked.clear();
    for (const Problem& problem : problems)
        if (problem.severity == Severity::Warning && !m_accepted.count(describe(problem)))
            m_asked.push_back(problem);
    if (m_asked.empty())
        confirm(true);
    else
        Q_EMIT confirmationWanted(m_asked);
}

void RunDesk::confirm(bool proceeds) {
    RunSession* session = live();
    if (!session)
        return;
    for (const Problem& problem : m_asked)
        if (proceeds)
            m_accepted.insert(describe(problem));
    session->confirm(proceeds);
}

void RunDesk::open(const QString& runId) {
    const std::string id = runId.toStdString();
    if (m_liveSession && m_liveSession->record().id == id)
        return showLive();
    bool works = false;
    for (const RunEntry& entry : m_library->entries())
        works = works || (entry.entry.id == id && entry.entry.status == run::RunStatus::Running);
    auto session = m_factory();
    watch(session.get());
    RunSession* opened = session.get();
    show(opened);
    // A run that still works becomes the one that the primary action stops.
    auto& place = works && !live() ? m_liveSession : m_openedSession;
    place = std::move(session);
    opened->attach(runId);
    Q_EMIT stateChanged();
}

void RunDesk::showLive() {
    if (!m_liveSession || m_shown == m_liveSession.get())
        return;
    show(m_liveSession.get());
    m_openedSession.reset();
    Q_EMIT stateChanged();
}

void RunDesk::attachToRunning() {
    if (m_liveSession)
        return;
    for (const RunEntry& entry : m_library->entries())
        if (entry.entry.status == run::RunStatus::Running)
            return open(QString::fromStdString(entry.entry.id));
}

void RunDesk::detachAll() {
    for (RunSession* session : {m_liveSession.get(), m_openedSession.get()})
        if (session && !session->isOver())
            session->detach();
}

} // namespace lockstep::ui
