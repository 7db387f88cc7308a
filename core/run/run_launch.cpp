// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/job/command.h"
#include "core/run/catalogue.h"
#include "core/run/detail/controller_private.h"
#include "core/run/job_package.h"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace lockstep::run {

namespace {

std::string listed(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names)
        text += (text.empty() ? "" : ", ") + name;
    return text;
}

std::string counted(int count, const std::string& what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

} // namespace

void RunController::Private::launch(LaunchRequest given) {
    request = std::move(given);
    saidCaughtUp = true; // there is nothing older
    if (!request.jobFile.empty())
        request.jobFile = std::filesystem::absolute(request.jobFile).lexically_normal().string();
    setState(State::Validating);
    preflight = std::make_unique<Preflight>(options.root, options.hosts);
    preflight->start({request.cluster, request.clusterFile, request.job, request.jobFile},
                     [this](PreflightResult result) { validated(std::move(result)); });
}

void RunController::Private::validated(PreflightResult result) {
    problems = std::move(result.problems);
    if (hasErrors(problems)) {
        record.failure =
            Cause{"", "",
                  "Refused before a worker started: " +
                      describe(*std::find_if(problems.begin(), problems.end(), [](const auto& p) {
                          return p.severity == Severity::Error;
                      }))};
        return finish(State::Refused);
    }
    job = std::move(result.job);
    files = std::move(result.files);
    push = std::move(result.push);
    sayWhatGoesAlong();
    setState(State::PreparingHosts);
    fleet = std::make_unique<Fleet>(options.hosts, result.cluster, use());
    fleet->onProgress([this] { updateLater(); });
    fleet->prepare([this](std::optional<Cause> failure) {
        if (!failure)
            return checkHosts();
        record.failure = failure;
        refuse({Severity::Error, request.clusterFile, "workers", 0,
                "The host " + failure->host + " (for " + failure->task +
                    ") cannot be used: " + failure->reason,
                "", ""});
    });
}

/// On the hosts as they are connected now. This machine alone was looked at already.
void RunController::Private::checkHosts() {
    const auto& hosts = fleet->progress();
    if (!request.checks ||
        std::none_of(hosts.begin(), hosts.end(), [](const auto& host) { return host.isRemote; }))
        return deploy();
    setState(State::Checking);
    check = std::make_unique<ClusterCheck>(fleet->hosts(), cluster::ClusterSpec(request.cluster));
    connect(check.get(), &ClusterCheck::done, q, [this] { checked(); });
    check->start();
}

void RunController::Private::checked() {
    if (state != State::Checking)
        return; // we looked away meanwhile
    const Problems found = problemsOf(check->report(), request.clusterFile, [this](const auto& t) {
        return t.empty() || !fleet->hostNameOf(t).empty();
    });
    problems.insert(problems.end(), found.begin(), found.end());
    if (hasErrors(found)) {
        record.failure = Cause{"", "", "Refused by the check of the hosts: " + describe(found[0])};
        return finish(State::Refused);
    }
    if (found.empty() || request.acceptsWarnings)
        return deploy();
    isAsking = true;
    Q_EMIT q->confirmationWanted();
}

void RunController::Private::confirmed(bool proceeds) {
    if (!std::exchange(isAsking, false) || state != State::Checking)
        return;
    if (proceeds)
        return deploy();
    record.failure = Cause{"", "", "Not launched, because of the warnings of the check."};
    finish(State::Refused);
}

/// What of this machine a command gets: variables and a folder, told before anything is sent.
void RunController::Private::sayWhatGoesAlong() {
    if (isModelJob())
        return;
    const job::PassedVariables found = job::passedVariables(job.command, ownVariables());
    passed = found.variables;
    if (!found.dropped.empty())
        say(wire::Level::Warning,
            "Not handed on, since their names are none to a shell: " + listed(found.dropped) + ".");
    if (push)
        say(wire::Level::Info, "Each host gets the folder " + push->folder + ": " +
                                   counted(push->files(), "file") + ", " + sizeText(push->bytes()) +
                                   ".");
}

/// The run gets its id and folder, and the hosts what they need. Also where a launch is resumed.
void RunController::Private::deploy() {
    if (!folder) {
        record.startedAt = options.clock->utcSeconds();
        record.id = newRunId(record.startedAt);
        record.name = job.name;
        record.clusterFile = request.clusterFile;
        record.cluster = request.cluster;
        record.jobFile = request.jobFile;
        record.job = request.job;
        record.tasks = fleet->places(record.id, record.attempt);
        record.files = files;
        folder.emplace(options.root, record.id);
        Status made = folder->create();
        if (made)
            lock = WriterLock::tryTake(*folder);
        if (made && push)
            made = folder->savePush(*push);
        if (!made || !lock) {
            folder.reset();
            return refuse({Severity::Error, options.root, "", 0,
                           made ? "The run's folder cannot be locked." : made.error().message,
                           "a folder that this user can write", ""});
        }
    }
    setState(State::Deploying);
    Catalogue catalogue(options.root);
    if (Status known = catalogue.open(); known)
        known = catalogue.put(record);
    Q_EMIT q->placed();
    fleet->push(record.id, json::dumpPretty(packagedJob(record.job, record.files)), record.files,
                [this](std::optional<Cause> failure) {
                    failure || !push ? pushed(std::move(failure)) : pushFolder();
                });
}

void RunController::Private::pushFolder() {
    const auto sent = [this](const std::string& host, int count, std::int64_t bytes) {
        say(wire::Level::Info, count == 0 ? host + " has all files of the folder already."
                                          : host + " got " + counted(count, "file") +
                                                " that it lacked, " + sizeText(bytes) + ".");
    };
    fleet->pushFolder(record.id, *push, sent,
                      [this](std::optional<Cause> failure) { pushed(std::move(failure)); });
}

void RunController::Private::pushed(std::optional<Cause> failure) {
    if (!failure)
        return startWorkers();
    record.failure = failure;
    if (resumeFrom != State::Idle) {
        // A worker of the interrupted launch may run.
        setState(State::Launching);
        addEvidence(
            {options.clock->utcSeconds(), failure->task, failure->task, failure->reason, true});
        return beginStop();
    }
    abandonFolder();
    refuse({Severity::Error, request.jobFile, "", 0,
            "The job could not be copied to " + failure->host + ": " + failure->reason, "", ""});
}

/// Nothing was started: no trace of the run stays.
void RunController::Private::abandonFolder() {
    if (!folder || resumeFrom != State::Idle)
        return;
    lock.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder->path(), ignored);
    folder.reset();
    record.id.clear();
    Catalogue catalogue(options.root);
    (void)catalogue.open();
}

void RunController::Private::startWorkers() {
    const auto tasks = taskStarts();
    if (!tasks) {
        abandonFolder();
        return refuse(
            {Severity::Error, request.clusterFile, "", 0, describe(tasks.error()), "", ""});
    }
    sayWhatStarts(*tasks);
    isStarting = true;
    setState(State::Launching);
    fleet->start(
        record, *tasks, resumeFrom != State::Idle, [this](const std::string& task) { watch(task); },
        [this](std::optional<Cause> failure) { started(std::move(failure)); },
        [this](const std::string& task, const std::vector<std::string>& names) {
            if (!isModelJob())
                say(wire::Level::Warning, "Variables of the host's own environment that " + task +
                                              " does not get, since their names are none to a "
                                              "shell: " +
                                              listed(names) + ".");
        });
}

/// The final list for each task: what is started, where, with which variables. Values may be
/// secrets and are not told.
void RunController::Private::sayWhatStarts(const std::vector<TaskStart>& tasks) {
    if (isModelJob())
        return;
    for (const TaskStart& start : tasks) {
        std::string words = start.program;
        for (const std::string& word : start.args)
            words += " " + word;
        std::vector<std::string> names{"TF_CONFIG"};
        for (const auto& [name, value] : start.env)
            names.push_back(name);
        std::sort(names.begin(), names.end());
        say(wire::Level::Info,
            start.task + " starts " + words + " in " + start.cwd + " with " + listed(names) + ".");
    }
}

Result<std::vector<TaskStart>> RunController::Private::taskStarts() const {
    const cluster::ClusterSpec spec(record.cluster);
    auto secret = folder->secret();
    if (!secret)
        return secret.error();
    std::vector<TaskStart> starts;
    for (const TaskPlace& place : record.tasks) {
        const auto id = cluster::TaskId::parse(place.task);
        if (!id)
            return id.error();
        const auto config = cluster::tfConfigFor(spec, *id);
        if (!config)
            return config.error();
        TaskStart start;
        start.task = place.task;
        start.tfConfigJson = config->dump();
        if (const auto worker = spec.find(*id))
            start.env.assign(worker->env.begin(), worker->env.end());
        if (isModelJob()) {
            start.specJson = json::dump(json::Value::object({{"format", "lockstep-spec"},
                                                             {"version", 1},
                                                             {"run", record.id},
                                                             {"secret", *secret},
                                                             {"attempt", record.attempt},
                                                             {"task", place.task}})) +
                             "\n";
            start.args = {"train",
                          "--job",
                          fleet->jobFolderOf(place.task, record.id) + "/job.json",
                          "--run-dir",
                          place.runFolder,
                          "--expect-workers",
                          std::to_string(record.tasks.size()),
                          "--cluster-hash",
                          config->clusterHash()};
        } else {
            const job::Command& command = job.command;
            const auto& argv = job::argvOf(command, place.task);
            start.program = argv.front();
            start.args.assign(argv.begin() + 1, argv.end());
            const std::string home =
                push ? fleet->pushedFolderOf(place.task, record.id) : place.runFolder;
            start.cwd = job::workingDirectoryOf(command, place.task, home);
            start.env = job::variablesOf(command, place.task, passed, start.env);
        }
        starts.push_back(std::move(start));
    }
    return starts;
}

void RunController::Private::started(std::optional<Cause> failure) {
    isStarting = false;
    for (const TaskPlace& place : record.tasks) {
        const bool runs = std::any_of(followers.begin(), followers.end(),
                                      [&](const auto& f) { return f->task() == place.task; });
        if (!runs)
            overTasks.insert(place.task);
    }
    if (failure) {
        addEvidence({options.clock->utcSeconds(), failure->task, failure->task,
                     failure->task + " could not be started: " + failure->reason, true});
        return beginStop();
    }
    if (stopRequested)
        return beginStop();
    setState(State::Joining);
    seenTraining = seenTraining || !isModelJob(); // whom it waits for is the program's own affair
    advance();
    if (!evidence.empty())
        settle.start(options.verdictSettle);
    maybeConclude();
}

} // namespace lockstep::run
