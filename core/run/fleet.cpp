// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/run/fleet.h"

#include "core/cluster/task.h"
#include "core/run/detail/fleet_private.h"
#include "core/run/job_package.h"

#include <QSysInfo>

#include <algorithm>
#include <set>

namespace lockstep::run {

namespace {

using namespace std::chrono_literals;
using detail::replyLine;
using remote::Output;

QString text(const std::string& value) {
    return QString::fromStdString(value);
}

QByteArray bytes(const std::string& value) {
    return QByteArray::fromStdString(value);
}

std::string folderOf(const std::string& path) {
    return path.substr(0, path.rfind('/'));
}

} // namespace

Result<std::string> detail::replyLine(const Result<Output>& output) {
    if (!output)
        return output.error();
    const QByteArray line = output->out.trimmed();
    if (!line.isEmpty())
        return line.toStdString();
    return Error{Code::Internal,
                 "The worker program gave no answer: " +
                     output->err.right(2000).trimmed().toStdString(),
                 {}};
}

namespace {

/// Tasks that `use` starts, those that train first in rank order.
std::vector<cluster::Worker> tasksOf(const cluster::ClusterSpec& cluster, cluster::Use use) {
    std::vector<cluster::Worker> tasks;
    for (const cluster::Worker& worker : cluster.workers()) {
        const bool trains = worker.task.type == cluster::TaskType::Chief ||
                            worker.task.type == cluster::TaskType::Worker;
        if (trains || use == cluster::Use::Command)
            tasks.push_back(worker);
    }
    std::sort(tasks.begin(), tasks.end(),
              [](const auto& a, const auto& b) { return a.task < b.task; });
    return tasks;
}

} // namespace

Fleet::Fleet(const HostFactory& factory, const cluster::ClusterSpec& cluster, cluster::Use use)
    : m_tasks(tasksOf(cluster, use)) {
    for (const cluster::Worker& worker : m_tasks) {
        const std::string key = hostKey(worker);
        auto at = std::find_if(m_entries.begin(), m_entries.end(),
                               [&](const auto& entry) { return entry->key == key; });
        if (at == m_entries.end()) {
            auto entry = std::make_unique<Entry>();
            entry->key = key;
            entry->base = worker.base;
            entry->isLocal = worker.isOnThisMachine();
            entry->name =
                entry->isLocal ? QSysInfo::machineHostName().toStdString() : worker.sshText();
            if (auto host = factory(worker))
                entry->host = std::move(*host);
            else
                entry->whyNot = host.error();
            if (entry->host)
                QObject::connect(entry->host.get(), &remote::Host::stageChanged, entry->host.get(),
                                 [this, from = entry.get()](remote::HostStage stage,
                                                            std::int64_t done, std::int64_t total) {
                                     noteStage(*from, stage, done, total);
                                 });
            at = m_entries.insert(m_entries.end(), std::move(entry));
        }
        (*at)->tasks.push_back(worker.task.text());
        m_progress.push_back({worker.task.text(), (*at)->name, worker.address, !(*at)->isLocal});
    }
}

void Fleet::noteStage(const Entry& entry, remote::HostStage stage, std::int64_t done,
                      std::int64_t total) {
    for (HostProgress& progress : m_progress)
        if (std::count(entry.tasks.begin(), entry.tasks.end(), progress.task)) {
            progress.stage = stage;
            progress.done = done;
            progress.total = total;
        }
    if (m_progressChanged)
        m_progressChanged();
}

Fleet::~Fleet() = default;

std::vector<std::pair<std::string, Error>> Fleet::unreachableTasks() const {
    std::vector<std::pair<std::string, Error>> tasks;
    for (const auto& entry : m_entries)
        if (!entry->host)
            for (const std::string& task : entry->tasks)
                tasks.emplace_back(task, entry->whyNot);
    return tasks;
}

Fleet::Entry* Fleet::entryOf(const std::string& task) const {
    for (const auto& entry : m_entries)
        if (std::find(entry->tasks.begin(), entry->tasks.end(), task) != entry->tasks.end())
            return entry.get();
    return nullptr;
}

std::string Fleet::hostNameOf(const std::string& task) const {
    const Entry* entry = entryOf(task);
    return entry ? entry->name : std::string();
}

bool Fleet::isRemote(const std::string& task) const {
    const Entry* entry = entryOf(task);
    return entry && !entry->isLocal;
}

Cause Fleet::causeOf(const Entry& entry, const std::string& task, const Error& error) const {
    return {task, entry.name, describe(error), error.code};
}

HostFactory Fleet::hosts() const {
    return [this](const cluster::Worker& worker) -> Result<std::shared_ptr<remote::Host>> {
        const Entry* entry = entryOf(worker.task.text());
        if (!entry)
            return Error{Code::NotFound, "This task has no part in the run.", worker.task.text()};
        return entry->host ? Result(entry->host)
                           : Result<std::shared_ptr<remote::Host>>(entry->whyNot);
    };
}

void Fleet::prepare(Finished done) {
    auto batch = std::make_shared<Batch>(m_entries.size(),
                                         [this, done = std::move(done)](std::optional<Cause> f) {
                                             m_isPrepared = !f;
                                             done(std::move(f));
                                         });
    for (const auto& entry : m_entries)
        prepareHost(*entry, batch);
}

void Fleet::prepareHost(Entry& entry, std::shared_ptr<Batch> batch) {
    entry.host->deploy([this, &entry, batch](Result<QString> version) {
        if (!version)
            return batch->answer(causeOf(entry, entry.tasks.front(), version.error()));
        entry.host->prepare(
            text(entry.base), [this, &entry, batch](Result<remote::HostFacts> facts) {
                if (!facts)
                    return batch->answer(causeOf(entry, entry.tasks.front(), facts.error()));
                entry.facts = *facts;
                batch->answer();
            });
    });
}

std::vector<TaskPlace> Fleet::places(const std::string& runId, int attempt) const {
    std::vector<TaskPlace> places;
    for (const cluster::Worker& worker : m_tasks) {
        const std::string task = worker.task.text();
        if (const Entry* entry = entryOf(task))
            places.push_back({task, entry->name, worker.address,
                              entry->runPath(runId) + "/" + worker.task.pathName() + "/" +
                                  std::to_string(attempt)});
    }
    return places;
}

std::string Fleet::jobFolderOf(const std::string& task, const std::string& runId) const {
    const Entry* entry = entryOf(task);
    return entry ? entry->runPath(runId) + "/job" : std::string();
}

void Fleet::push(const std::string& runId, const std::string& jobJson,
                 const std::vector<PushedFile>& files, Finished done) {
    // A file that the job names twice is sent once.
    std::vector<PushedFile> once;
    std::set<std::string> names;
    for (const PushedFile& file : files)
        if (names.insert(pushedName(file)).second)
            once.push_back(file);
    auto batch = std::make_shared<Batch>(m_entries.size() * (1 + once.size()), std::move(done));
    for (const auto& each : m_entries) {
        Entry& entry = *each;
        const auto answered = [this, &entry, batch](Status status) {
            batch->answer(status ? std::optional<Cause>()
                                 : causeOf(entry, entry.tasks.front(), status.error()));
        };
        const std::string folder = entry.runPath(runId) + "/job";
        const auto put = [&entry, answered](const std::string& path, auto send) {
            entry.host->makeFolder(text(folderOf(path)), 0700, [answered, send](Status made) {
                made ? send() : answered(made);
            });
        };
        put(folder + "/job.json", [&entry, answered, folder, jobJson] {
            entry.host->put(text(folder + "/job.json"), bytes(jobJson), 0600, answered);
        });
        for (const PushedFile& file : once) {
            const std::string path = folder + "/" + pushedName(file);
            put(path, [&entry, answered, path, file] {
                entry.host->putFile(text(file.file), text(path), 0600, {}, answered);
            });
        }
    }
}

void Fleet::start(const RunRecord& record, const std::vector<TaskStart>& tasks, bool onlyMissing,
                  std::function<void(const std::string&)> started, Finished done, Dropped dropped) {
    auto launch =
        std::make_shared<Launch>(Launch{Batch(tasks.size(), std::move(done)), record, onlyMissing,
                                        std::move(started), std::move(dropped)});
    for (const TaskStart& task : tasks)
        putTask(launch, task);
}

void Fleet::putTask(std::shared_ptr<Launch> launch, const TaskStart& task) {
    Entry& entry = *entryOf(task.task);
    const std::string folder = launch->record.find(task.task)->runFolder;
    const auto fail = [this, launch, &entry, task](const Error& error) {
        launch->batch.answer(causeOf(entry, task.task, error));
    };
    const auto putConfig = [this, launch, &entry, task, folder, fail] {
        entry.host->put(text(folder + "/tf_config.json"), bytes(task.tfConfigJson), 0600,
                        [this, launch, task, fail](Status put) {
                            put ? supervise(launch, task) : fail(put.error());
                        });
    };
    const auto putSpec = [&entry, task, folder, fail, putConfig] {
        if (task.specJson.empty())
            return putConfig();
        entry.host->put(text(folder + "/spec.json"), bytes(task.specJson), 0600,
                        [fail, putConfig](Status put) { put ? putConfig() : fail(put.error()); });
    };
    const auto makeFolder = [&entry, folder, fail, putSpec] {
        entry.host->makeFolder(text(folder), 0700, [fail, putSpec](Status made) {
            made ? putSpec() : fail(made.error());
        });
    };
    if (!launch->onlyMissing)
        return makeFolder();
    entry.host->info(text(folder + "/" + agent::kStateFile),
                     [launch, task, fail, makeFolder](Result<remote::FileFacts> facts) {
                         if (!facts)
                             return fail(facts.error());
                         if (facts->kind == remote::FileFacts::Kind::None)
                             return makeFolder();
                         launch->started(task.task);
                         launch->batch.answer();
                     });
}

void Fleet::supervise(std::shared_ptr<Launch> launch, const TaskStart& task) {
    Entry& entry = *entryOf(task.task);
    agent::SuperviseRequest request;
    request.runDir = launch->record.find(task.task)->runFolder;
    request.run = launch->record.id;
    request.task = task.task;
    request.attempt = launch->record.attempt;
    request.program = task.program;
    request.args = task.args;
    request.env = task.env;
    request.envFiles = {{"TF_CONFIG", "tf_config.json"}};
    request.cwd = task.cwd;
    if (request.program.empty()) {
        request.program = entry.facts.workerProgram.toStdString();
        std::vector<std::string> args;
        for (const QString& arg : entry.facts.workerArgs)
            args.push_back(arg.toStdString());
        args.insert(args.end(), task.args.begin(), task.args.end());
        request.args = std::move(args);
    }
    const auto answered = [this, launch, &entry, task](Result<Output> output) {
        const auto line = replyLine(output);
        const auto reply =
            line ? agent::decodeSuperviseReply(*line) : Result<agent::SuperviseReply>(line.error());
        // Another control program that was killed here may have started it meanwhile.
        const bool runs =
            reply || (launch->onlyMissing && reply.error().code == Code::AlreadyExists);
        if (!runs)
            return launch->batch.answer(causeOf(entry, task.task, reply.error()));
        if (reply && launch->dropped && !reply->dropped.empty())
            launch->dropped(task.task, reply->dropped);
        launch->started(task.task);
        launch->batch.answer();
    };
    entry.host->run(entry.facts.worker({QStringLiteral("supervise")}),
                    bytes(agent::encode(request)), answered, 40s);
}

std::unique_ptr<remote::Stream>
Fleet::follow(const TaskPlace& place,
              const std::vector<std::pair<std::string, std::int64_t>>& offsets) {
    Entry& entry = *entryOf(place.task);
    agent::FollowRequest request;
    request.runDir = place.runFolder;
    request.offsets = offsets;
    return entry.host->start(entry.facts.worker({QStringLiteral("follow")}),
                             bytes(agent::encode(request)));
}

void Fleet::stop(const RunRecord& record, std::chrono::milliseconds grace, Finished done) {
    auto batch = std::make_shared<Batch>(m_entries.size(), std::move(done));
    for (const auto& each : m_entries) {
        Entry& entry = *each;
        agent::StopRequest request;
        request.run = record.id;
        request.graceSeconds = std::chrono::duration<double>(grace).count();
        for (const std::string& task : entry.tasks)
            if (const TaskPlace* place = record.find(task))
                request.runDirs.push_back(place->runFolder);
        const auto answered = [this, &entry, batch](Result<Output> output) {
            const auto line = replyLine(output);
            const auto reply =
                line ? agent::decodeStopReply(*line) : Result<agent::StopReply>(line.error());
            if (!reply)
                return batch->answer(causeOf(entry, "", reply.error()));
            if (reply->ok())
                return batch->answer();
            std::string names;
            for (const agent::ProcessName& left : reply->remaining)
                names +=
                    (names.empty() ? "" : ", ") + left.name + " (" + std::to_string(left.pid) + ")";
            batch->answer(
                Cause{"", entry.name,
                      "Processes of the run are left on " + entry.name + ": " + names + "."});
        };
        entry.host->run(entry.facts.worker({QStringLiteral("stop")}), bytes(agent::encode(request)),
                        answered, grace + 30s);
    }
}

void Fleet::fetch(const TaskPlace& place, const std::string& name, const std::string& localPath,
                  Finished done) {
    Entry& entry = *entryOf(place.task);
    entry.host->fetchFile(text(place.runFolder + "/" + name), text(localPath), {},
                          [this, &entry, task = place.task, done](Status status) {
                              done(status ? std::optional<Cause>()
                                          : causeOf(entry, task, status.error()));
                          });
}

} // namespace lockstep::run
