// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/clock.h"
#include "core/job/command.h"
#include "core/run/detail/controller_private.h"
#include "core/run/job_package.h"

#include <algorithm>
#include <limits>
#include <map>

namespace lockstep::run {

namespace {

using namespace std::chrono_literals;

constexpr auto kRecordPoll = 250ms;
constexpr std::chrono::milliseconds kLocalPatience = 30s;
constexpr std::chrono::milliseconds kFirstAttachPause = 500ms;
constexpr std::chrono::milliseconds kLongestAttachPause = 15s;

State stateOf(RunStatus status) {
    switch (status) {
    case RunStatus::Finished:
        return State::Finished;
    case RunStatus::Stopped:
        return State::Stopped;
    default:
        return State::Failed;
    }
}

} // namespace

void RunController::Private::attach(const std::string& runId) {
    folder.emplace(options.root, runId);
    auto known = folder->load();
    if (known && known->status == RunStatus::Running)
        lock = WriterLock::tryTake(*folder);
    if (lock)
        known = folder->load(); // its writer may have ended it just before
    if (!known) {
        lock.reset();
        return refuse({Severity::Error, "", "", 0, describe(known.error()), "a run's folder", ""});
    }
    record = std::move(*known);
    Problems ignored;
    job = job::parseJob(record.job, record.jobFile, ignored);
    Q_EMIT q->placed();
    if (record.status != RunStatus::Running) {
        lock.reset();
        mode = Watch::Load;
        return load();
    }
    if (lock)
        return takeOver();
    mode = Watch::Read;
    setState(State::Joining);
    for (const TaskPlace& place : record.tasks)
        watch(place.task);
    recordPoll.start(kRecordPoll);
}

/// The record is ours: find the workers again.
void RunController::Private::takeOver() {
    resumeFrom = record.state;
    recordPoll.stop();
    mode = Watch::Write;
    setState(State::PreparingHosts);
    fleet = std::make_unique<Fleet>(options.hosts, cluster::ClusterSpec(record.cluster), use());
    fleet->onProgress([this] { updateLater(); });
    fleet->prepare([this](std::optional<Cause> failure) { attachPrepared(std::move(failure)); });
}

void RunController::Private::attachPrepared(std::optional<Cause> failure) {
    if (failure)
        return attachAgain(*failure);
    stopRequested = stopRequested || folder->isStopRequested();
    // The launch was interrupted: its steps can be done again, each worker is started once.
    if (resumeFrom == State::Deploying || resumeFrom == State::Launching) {
        if (auto known = folder->loadPush())
            push = std::move(*known);
        if (!isModelJob())
            passed = job::passedVariables(job.command, ownVariables()).variables;
        return deploy();
    }
    setState(State::Joining);
    for (const TaskPlace& place : record.tasks)
        watch(place.task);
    seenTraining = seenTraining || !isModelJob();
    advance();
    if (stopRequested || record.failure)
        beginStop();
}

/// A host that cannot be reached says nothing about the run: try again, or leave it as it is.
void RunController::Private::attachAgain(const Cause& failure) {
    const bool isAway = failure.code == Code::Unreachable || failure.code == Code::TimedOut;
    say(wire::Level::Warning, "The host " + failure.host +
                                  " cannot be used now: " + failure.reason +
                                  (isAway ? " Lockstep tries again; the run may go on." : ""));
    if (!isAway) {
        problems.push_back({Severity::Error, "", "", 0,
                            "The run cannot be followed: " + failure.host + ": " + failure.reason,
                            "", "The run itself is left alone; attach again."});
        return end(State::Detached);
    }
    if (stopRequested && attachPause > kFirstAttachPause) {
        setState(State::Joining);
        return beginStop(); // on the hosts that are there; its answer names the others
    }
    attachPause = attachPause.count() == 0 ? kFirstAttachPause
                                           : std::min(attachPause * 2, kLongestAttachPause);
    attachRetry.start(attachPause);
}

/// Another program writes the folder: see when it ends the run, or itself.
void RunController::Private::pollRecord() {
    const auto known = folder->load();
    if (!known)
        return;
    if (known->status != RunStatus::Running) {
        record = *known;
        recordPoll.stop();
        mode = Watch::Load;
        return load();
    }
    record.state = known->state;
    lock = WriterLock::tryTake(*folder);
    if (lock)
        takeOver();
}

/// Reads the copies of a run that is over to their end.
void RunController::Private::load() {
    loadsLeft = record.tasks.size();
    for (const TaskPlace& place : record.tasks) {
        TaskFollower& follower = followerFor(place.task);
        follower.stopTail();
    }
    if (loadsLeft == 0)
        end(stateOf(record.status));
}

TaskFollower& RunController::Private::followerFor(const std::string& task) {
    for (const auto& follower : followers)
        if (follower->task() == task)
            return *follower;
    auto made = std::make_unique<TaskFollower>(*folder, task, record.attempt);
    TaskFollower& follower = *made;
    followers.push_back(std::move(made));
    if (const TaskPlace* place = record.find(task))
        beginTask(*place, follower.attempt());
    connect(&follower, &TaskFollower::replayed, q, [this, &follower] { replayed(follower); });
    connect(&follower, &TaskFollower::eventReceived, q,
            [this, &follower](const wire::Event& event) { received(follower, event); });
    connect(&follower, &TaskFollower::faultReceived, q, [this, &follower](const Error& error) {
        say(wire::Level::Warning, follower.task() + ": " + describe(error));
    });
    connect(&follower, &TaskFollower::lineReceived, q,
            [this, &follower](const OutputLine& line) { printed(follower, line); });
    connect(&follower, &TaskFollower::outputReceived, q,
            [this, &follower](const std::string& bytes) { readProgress(follower, bytes); });
    connect(&follower, &TaskFollower::clockSeen, q,
            [this, &follower](double hostTime) { clockSeen(follower.task(), hostTime); });
    connect(&follower, &TaskFollower::processChanged, q,
            [this](const agent::ProcessState& process) { changed(process); });
    connect(&follower, &TaskFollower::caughtUp, q, [this, &follower] {
        caughtUpTasks.insert(follower.task());
        if (caughtUpTasks.size() == record.tasks.size())
            noteCaughtUp();
    });
    connect(&follower, &TaskFollower::ended, q, [this, &follower] {
        overTasks.insert(follower.task());
        checkEnd(follower.task());
        maybeConclude();
    });
    connect(&follower, &TaskFollower::awayChanged, q, [this, &follower](const std::string& why) {
        const TaskPlace* place = record.find(follower.task());
        const std::string host = place ? place->hostName : std::string();
        if (why.empty())
            return say(wire::Level::Info, follower.task() + " is in sight again, on " + host + ".");
        say(wire::Level::Warning, follower.task() + " is out of sight: " + why +
                                      " Its worker may go on; Lockstep connects again.");
    });
    connect(&follower, &TaskFollower::lost, q, [this, &follower](const Error& error) {
        overTasks.insert(follower.task());
        addEvidence({options.clock->utcSeconds(), follower.task(), follower.task(),
                     follower.task() + " was lost from sight: " + describe(error), true});
        maybeConclude();
    });
    return follower;
}

/// What is known of a task before its first word.
void RunController::Private::beginTask(const TaskPlace& place, int attempt) {
    for (const ClockOffset& offset : place.clock) {
        store.setClockOffset(place.task, offset.ahead,
                             offset.since.value_or(-std::numeric_limits<double>::infinity()));
        clocks[place.task] = ClockWatch(offset.ahead);
    }
    if (isModelJob())
        return;
    // A program of the user's own writes no events; the series need to know who leads.
    const auto trains = [](const TaskPlace& one) {
        return one.task.starts_with("chief:") || one.task.starts_with("worker:");
    };
    wire::Started begin;
    begin.task = place.task;
    begin.world = static_cast<int>(std::count_if(record.tasks.begin(), record.tasks.end(), trains));
    begin.rank = static_cast<int>(&place - record.tasks.data());
    begin.run = record.id;
    begin.attempt = attempt;
    begin.host = place.hostName;
    begin.address = place.address;
    const double ahead = hostNow(place.task) - options.clock->utcSeconds();
    store.add(place.task, attempt, {record.startedAt + ahead, begin});
    printedProgress.try_emplace(place.task, begin.world);
}

void RunController::Private::watch(const std::string& task) {
    followerFor(task).replay();
}

void RunController::Private::replayed(TaskFollower& follower) {
    if (mode == Watch::Read) {
        caughtUpTasks.insert(follower.task());
        if (caughtUpTasks.size() == record.tasks.size())
            noteCaughtUp();
        return follower.tail();
    }
    if (mode == Watch::Load) {
        if (--loadsLeft == 0)
            end(stateOf(record.status));
        return;
    }
    const TaskPlace* place = record.find(follower.task());
    // A connection that is lost says nothing about a worker, which goes on without us.
    std::optional<std::chrono::milliseconds> patience;
    if (!fleet->isRemote(place->task))
        patience = kLocalPatience;
    follower.follow([this, place](const auto& offsets) { return fleet->follow(*place, offsets); },
                    patience);
}

void RunController::Private::received(TaskFollower& follower, const wire::Event& event) {
    const std::string& task = follower.task();
    store.add(task, follower.attempt(), event);
    if (const auto* phase = std::get_if<wire::PhaseChanged>(&event.body)) {
        seenTraining = seenTraining || phase->phase == wire::Phase::Training ||
                       phase->phase == wire::Phase::Validating;
        seenFinishing = seenFinishing || phase->phase == wire::Phase::Finishing;
    } else if (std::holds_alternative<wire::Steps>(event.body)) {
        seenTraining = true;
    } else if (std::holds_alternative<wire::Finished>(event.body)) {
        seenFinishing = true;
    } else if (const auto* plan = std::get_if<wire::Planned>(&event.body)) {
        if (task == record.tasks.front().task && record.decisions.isNull())
            record.decisions = json::Value::object(
                {{"global_batch", plan->globalBatch},
                 {"steps_per_epoch", plan->stepsPerEpoch},
                 {"epochs", plan->epochs},
                 {"algorithm", plan->algorithm},
                 {"shard_policy", plan->shardPolicy},
                 {"bucket_bytes",
                  json::Value(json::Array(plan->bucketBytes.begin(), plan->bucketBytes.end()))}});
    } else if (const auto* failed = std::get_if<wire::Failed>(&event.body)) {
        if (const auto found = evidenceOf(task, event.time, *failed))
            addEvidence(*found);
    }
    if (mode != Watch::Load)
        advance();
    updateLater();
}

void RunController::Private::printed(TaskFollower& follower, const OutputLine& line) {
    const metrics::Worker* worker = store.worker(follower.task());
    // Where the host did not write down when, what was printed before we looked is put at the
    // worker's last word.
    const bool isLive = mode == Watch::Write && caughtUpTasks.count(follower.task());
    const double otherwise = isLive || !worker ? hostNow(follower.task()) : worker->lastTime;
    store.addLine(follower.task(),
                  line.isError ? metrics::Origin::ErrorOutput : metrics::Origin::Output,
                  line.isError ? wire::Level::Warning : wire::Level::Info, line.text,
                  line.time.value_or(otherwise));
    const QString task = QString::fromStdString(follower.task());
    const QString text = QString::fromStdString(line.text);
    if (line.isError)
        Q_EMIT q->errorOutputReceived(task, text);
    else
        Q_EMIT q->outputReceived(task, text);
    updateLater();
}

/// Keras' progress lines in what a program of the user's own prints.
void RunController::Private::readProgress(TaskFollower& follower, const std::string& bytes) {
    const auto reader = printedProgress.find(follower.task());
    if (reader == printedProgress.end())
        return;
    for (const metrics::Progress& progress : reader->second.add(bytes))
        store.add(follower.task(), follower.attempt(), progress,
                  follower.printedAt(progress.position).value_or(hostNow(follower.task())));
    updateLater();
}

void RunController::Private::clockSeen(const std::string& task, double hostTime) {
    const auto change = clocks[task].seen(hostTime, options.clock->utcSeconds(), Monotonic::now());
    TaskPlace* place = record.find(task);
    if (!change || !place)
        return;
    if (!change->since)
        place->clock.clear();
    place->clock.push_back(*change);
    store.setClockOffset(task, change->ahead,
                         change->since.value_or(-std::numeric_limits<double>::infinity()));
    if (change->since)
        say(wire::Level::Warning, "The clock of " + place->hostName + " was set while " + task +
                                      " ran; the log is in order of this machine's clock.");
    if (lock)
        save();
    updateLater();
}

/// What the clock of the task's host shows now, as far as we know.
double RunController::Private::hostNow(const std::string& task) const {
    const auto clock = clocks.find(task);
    return options.clock->utcSeconds() + (clock == clocks.end() ? 0 : clock->second.ahead());
}

void RunController::Private::changed(const agent::ProcessState& process) {
    processes[process.task] = process;
    // How it ended is judged at once where it cannot have said why, else when all its words are
    // here: see checkEnd().
    const bool isAbrupt = process.signal || process.problem || process.phase == agent::Phase::Lost;
    if (isAbrupt && !stopSent)
        if (const auto found = evidenceOf(process, std::nullopt))
            addEvidence(*found);
    // A stop restarts no machine: this is why, though we hear of it when the machine is back.
    if (stopSent && process.problem == agent::kMachineRestarted && record.failure &&
        record.failure->task == process.task)
        record.failure = causeOf(*evidenceOf(process, std::nullopt));
}

/// Every word of the task is here and its process is over.
void RunController::Private::checkEnd(const std::string& task) {
    const auto process = processes.find(task);
    if (process == processes.end() || stopSent)
        return;
    const metrics::Worker* worker = store.worker(task);
    const auto said = worker ? worker->failed : std::nullopt;
    const bool isAbrupt = process->second.signal || process->second.problem ||
                          process->second.phase == agent::Phase::Lost;
    const auto found = evidenceOf(process->second, said);
    if (found && !isAbrupt)
        addEvidence(*found);
    const bool isQuiet = process->second.exitCode == 0 && !said;
    if (isQuiet && isModelJob() && !(worker && worker->finished))
        addEvidence({process->second.endedAt.value_or(0), task, task,
                     task + " ended with exit code 0 without having finished its work.", true});
}

/// At the end every rank must hold the same bits.
void RunController::Private::checkDigests() {
    std::map<std::string, std::vector<std::string>> tasksByDigest;
    for (const metrics::Worker* worker : store.workers())
        if (worker->finished)
            tasksByDigest[worker->finished->digest].push_back(worker->task);
    if (tasksByDigest.size() < 2)
        return;
    const auto most = std::max_element(
        tasksByDigest.begin(), tasksByDigest.end(),
        [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    const bool hasMajority = 2 * most->second.size() > record.tasks.size();
    std::string names;
    std::string first;
    for (const auto& [digest, tasks] : tasksByDigest)
        for (const std::string& task : tasks) {
            if (hasMajority && digest == most->first)
                continue;
            first = first.empty() ? task : first;
            names += (names.empty() ? "" : ", ") + task + " (" + digest.substr(0, 12) + ")";
        }
    addEvidence({options.clock->utcSeconds(), first, hasMajority ? first : "",
                 "The workers hold different models at the end: " + names +
                     (hasMajority ? " differ from the others." : "."),
                 true});
}

void RunController::Private::addEvidence(Evidence found) {
    if (mode != Watch::Write || stopSent || isFinal(state))
        return;
    evidence.push_back(std::move(found));
    if (hasWorkers(state) && !isStarting && !settle.isActive())
        settle.start(options.verdictSettle);
}

void RunController::Private::noteCaughtUp() {
    if (saidCaughtUp)
        return;
    saidCaughtUp = true;
    Q_EMIT q->caughtUp();
}

void RunController::Private::say(wire::Level level, const std::string& text) {
    store.addLine({}, metrics::Origin::Control, level, text, options.clock->utcSeconds());
    updateLater();
}

void RunController::Private::updateLater() {
    if (isUpdatePending)
        return;
    isUpdatePending = true;
    QTimer::singleShot(0, q, [this] {
        isUpdatePending = false;
        Q_EMIT q->updated();
    });
}

} // namespace lockstep::run
