// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/run/run_controller.h"

#include "core/base/files.h"
#include "core/metrics/summary.h"
#include "core/run/catalogue.h"
#include "core/run/detail/controller_private.h"
#include "core/run/job_package.h"

#include <QLoggingCategory>

#include <algorithm>
#include <filesystem>

namespace lockstep::run {

namespace {

using namespace std::chrono_literals;

Q_LOGGING_CATEGORY(logRun, "lockstep.run", QtWarningMsg)

/// What followers may take after a stop was answered.
constexpr auto kEndsAfterStop = 10s;

} // namespace

RunController::Private::Private(RunController* controller, ControllerOptions given)
    : q(controller)
    , options(std::move(given)) {
    if (options.root.empty())
        options.root = defaultRoot();
    if (!options.hosts)
        options.hosts = defaultHosts();
    settle.setSingleShot(true);
    stopDeadline.setSingleShot(true);
    connect(&settle, &QTimer::timeout, q, [this] { beginStop(); });
    connect(&recordPoll, &QTimer::timeout, q, [this] { pollRecord(); });
    attachRetry.setSingleShot(true);
    connect(&attachRetry, &QTimer::timeout, q, [this] {
        fleet->prepare(
            [this](std::optional<Cause> failure) { attachPrepared(std::move(failure)); });
    });
    connect(&stopDeadline, &QTimer::timeout, q, [this] {
        for (const TaskPlace& place : record.tasks)
            overTasks.insert(place.task);
        maybeConclude();
    });
}

void RunController::Private::setState(State next) {
    if (state == next)
        return;
    Q_ASSERT_X(mayFollow(state, next), stateName(state), stateName(next));
    qCDebug(logRun, "%s: %s", record.id.c_str(), stateName(next));
    state = next;
    if (lock && (hasWorkers(next) || next == State::Deploying)) {
        record.state = next;
        save();
    }
    Q_EMIT q->stateChanged(next);
}

/// Follows what the workers say; called again when the launch is through.
void RunController::Private::advance() {
    if (state == State::Joining && (seenTraining || seenFinishing))
        setState(State::Training);
    if (state == State::Training && seenFinishing)
        setState(State::Finishing);
}

void RunController::Private::save() {
    if (const Status saved = folder->save(record); !saved)
        say(wire::Level::Error, describe(saved.error()));
}

void RunController::Private::refuse(Problem problem) {
    problems.push_back(std::move(problem));
    finish(State::Refused);
}

/// The end of a run that we write: the record says so for ever.
void RunController::Private::finish(State last) {
    record.state = last;
    record.status = last == State::Finished  ? RunStatus::Finished
                    : last == State::Stopped ? RunStatus::Stopped
                                             : RunStatus::Failed;
    record.endedAt = options.clock->utcSeconds();
    if (last == State::Stopped || last == State::Finished)
        record.failure.reset();
    if (lock && last != State::Refused) {
        record.summary = metrics::summarize(store);
        save();
        Catalogue catalogue(options.root);
        if (Status known = catalogue.open(); known)
            known = catalogue.put(record);
    }
    end(last);
}

void RunController::Private::end(State last) {
    settle.stop();
    stopDeadline.stop();
    recordPoll.stop();
    attachRetry.stop();
    for (const auto& follower : followers)
        follower->close();
    lock.reset();
    noteCaughtUp();
    setState(last);
    // A listener may delete us; by then we are out of every call of ours.
    QMetaObject::invokeMethod(q, &RunController::done, Qt::QueuedConnection);
}

void RunController::Private::applyStop() {
    if (isFinal(state) || state == State::Idle)
        return;
    stopRequested = true;
    if (mode == Watch::Load)
        return;
    if (folder && folder->exists())
        (void)folder->requestStop();
    if (mode == Watch::Read) {
        // The writer sees the end of its workers and that it was wanted.
        fleet = std::make_unique<Fleet>(options.hosts, cluster::ClusterSpec(record.cluster), use());
        fleet->prepare([this](std::optional<Cause> failure) {
            if (failure)
                return say(wire::Level::Error, failure->reason);
            fleet->stop(record, options.stopGrace, [this](std::optional<Cause> left) {
                if (left)
                    say(wire::Level::Error, left->reason);
            });
        });
        return;
    }
    const bool attaching = resumeFrom != State::Idle && state == State::PreparingHosts;
    if (attaching || (state == State::Launching && isStarting))
        return; // goes on when the hosts have answered
    if (hasWorkers(state))
        return beginStop();
    preflight.reset();
    check.reset();
    fleet.reset();
    abandonFolder();
    finish(State::Stopped);
}

void RunController::Private::beginStop() {
    if (stopSent || isStarting || !hasWorkers(state))
        return;
    settle.stop();
    stopSent = true;
    if (!stopRequested && !record.failure)
        record.failure = cause();
    setState(State::Stopping);
    if (record.failure)
        say(wire::Level::Error, record.failure->reason);
    fleet->stop(record, options.stopGrace,
                [this](std::optional<Cause> failure) { stopped(std::move(failure)); });
}

void RunController::Private::stopped(std::optional<Cause> failure) {
    stopAnswered = true;
    if (failure) {
        say(wire::Level::Error, failure->reason);
        if (record.failure)
            record.failure->reason += " " + failure->reason;
        else
            record.failure = failure;
    }
    stopDeadline.start(kEndsAfterStop);
    maybeConclude();
}

void RunController::Private::maybeConclude() {
    if (isStarting || isFinal(state) || isFetching || mode != Watch::Write)
        return;
    if (stopSent && !stopAnswered)
        return;
    for (const TaskPlace& place : record.tasks)
        if (!overTasks.count(place.task))
            return;
    conclude();
}

void RunController::Private::conclude() {
    const bool wanted = stopRequested || folder->isStopRequested();
    if (!stopSent && !wanted)
        checkDigests();
    const bool success = allFinished() && evidence.empty() && !record.failure;
    if (success)
        return fetchModel();
    if (!stopSent) {
        // All ended by themselves; their children may not have.
        stopRequested = stopRequested || wanted;
        return beginStop();
    }
    if (wanted && !(record.failure && record.failure->task.empty()))
        return finish(State::Stopped);
    if (!record.failure)
        record.failure = cause();
    finish(State::Failed);
}

bool RunController::Private::allFinished() const {
    return std::all_of(record.tasks.begin(), record.tasks.end(), [&](const TaskPlace& place) {
        const auto process = processes.find(place.task);
        const bool isGood = process != processes.end() && process->second.exitCode == 0;
        const metrics::Worker* worker = store.worker(place.task);
        return isGood && (!isModelJob() || (worker && worker->finished));
    });
}

void RunController::Private::fetchModel() {
    seenFinishing = true;
    advance();
    if (!isModelJob())
        return finish(State::Finished);
    const TaskPlace& chief = record.tasks.front();
    const metrics::Worker* worker = store.worker(chief.task);
    isFetching = true;
    if (!worker || !worker->model) {
        record.failure = causeOf({0, chief.task, chief.task,
                                  chief.task + " finished without having written a model.", true});
        return finish(State::Failed);
    }
    const wire::FileWritten model = *worker->model;
    fleet->fetch(chief, model.path, folder->modelPath(),
                 [this, model](std::optional<Cause> failure) {
                     if (!failure)
                         return checkModel(model.sha256, model.bytes);
                     record.failure = failure;
                     record.failure->reason = "The model could not be fetched. " + failure->reason;
                     finish(State::Failed);
                 });
}

void RunController::Private::checkModel(const std::string& wanted, std::int64_t bytes) {
    background.start([this, wanted, bytes, path = folder->modelPath()] {
        return [this, wanted, bytes, path, hash = sha256OfFile(path)] {
            if (hash && *hash == wanted) {
                record.model = ModelFile{"model.safetensors", wanted, bytes};
                return finish(State::Finished);
            }
            std::error_code ignored;
            std::filesystem::remove(path, ignored);
            const TaskPlace& chief = record.tasks.front();
            const std::string got = hash ? *hash : describe(hash.error());
            record.failure = Cause{chief.task, chief.hostName,
                                   "The model arrived changed: its SHA-256 is " + got +
                                       ", the chief wrote " + wanted + "."};
            finish(State::Failed);
        };
    });
}

std::optional<Cause> RunController::Private::cause() const {
    const auto first = earliestCause(evidence);
    if (first)
        return causeOf(*first);
    return std::nullopt;
}

Cause RunController::Private::causeOf(const Evidence& found) const {
    const TaskPlace* place = record.find(found.task);
    Cause cause{found.task, place ? place->hostName : "", found.reason};
    const auto process = processes.find(found.task);
    const metrics::Worker* worker = store.worker(found.task);
    const bool saidNothing = !worker || !worker->failed;
    if (!found.isOwn || !saidNothing || process == processes.end() || process->second.signal)
        return cause;
    // Its last line on standard error is likely why.
    for (auto line = store.log().rbegin(); line != store.log().rend(); ++line)
        if (line->task == found.task && line->origin == metrics::Origin::ErrorOutput &&
            !line->text.empty()) {
            cause.reason += " It printed: " + line->text;
            break;
        }
    return cause;
}

RunController::RunController(ControllerOptions options, QObject* parent)
    : QObject(parent)
    , m_d(std::make_unique<Private>(this, std::move(options))) {}

RunController::~RunController() = default;

void RunController::launch(LaunchRequest request) {
    Q_ASSERT(m_d->state == State::Idle);
    m_d->launch(std::move(request));
}

void RunController::attach(const std::string& runId) {
    Q_ASSERT(m_d->state == State::Idle);
    m_d->attach(runId);
}

void RunController::confirm(bool proceeds) {
    QMetaObject::invokeMethod(
        this, [this, proceeds] { m_d->confirmed(proceeds); }, Qt::QueuedConnection);
}

void RunController::stop() {
    // Later: the caller may be in the middle of one of our signals.
    QMetaObject::invokeMethod(
        this, [this] { m_d->applyStop(); }, Qt::QueuedConnection);
}

void RunController::detach() {
    QMetaObject::invokeMethod(
        this,
        [this] {
            if (!isFinal(m_d->state) && m_d->state != State::Idle)
                m_d->end(State::Detached);
        },
        Qt::QueuedConnection);
}

State RunController::state() const {
    return m_d->state;
}

const Problems& RunController::problems() const {
    return m_d->problems;
}

const RunRecord& RunController::record() const {
    return m_d->record;
}

std::vector<HostProgress> RunController::hostProgress() const {
    return m_d->fleet ? m_d->fleet->progress() : std::vector<HostProgress>();
}

const metrics::Store& RunController::store() const {
    return m_d->store;
}

bool RunController::isReadOnly() const {
    return m_d->mode == Private::Watch::Read;
}

bool RunController::isCaughtUp() const {
    return m_d->saidCaughtUp;
}

json::Value RunController::result() const {
    return resultObject(m_d->record, metrics::summarize(m_d->store));
}

int RunController::exitCode() const {
    switch (m_d->state) {
    case State::Refused:
        return 2;
    case State::Failed:
    case State::Stopped:
        return 1;
    default:
        return 0;
    }
}

} // namespace lockstep::run
