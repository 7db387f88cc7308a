// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/run/preflight.h"

#include "core/base/files.h"
#include "core/base/hash.h"
#include "core/base/json_reader.h"
#include "core/job/batching.h"
#include "core/run/job_package.h"
#include "core/run/port_check.h"

#include <QFile>

#include <algorithm>

namespace lockstep::run {

namespace {

using namespace std::chrono_literals;

QString text(const std::string& value) {
    return QString::fromStdString(value);
}

void addNew(Problems& all, Problems more) {
    for (Problem& problem : more) {
        const bool known = std::any_of(all.begin(), all.end(), [&](const Problem& p) {
            return p.path == problem.path && p.message == problem.message;
        });
        if (!known)
            all.push_back(std::move(problem));
    }
}

/// Ports and hosts, which the document alone does not tell.
Problems checkMachines(const cluster::ClusterSpec& cluster, const std::string& file,
                       const Fleet& fleet) {
    Problems problems;
    const auto workers = cluster.workers();
    const auto unreachable = fleet.unreachableTasks();
    for (std::size_t i = 0; i < workers.size(); ++i) {
        const cluster::Worker& worker = workers[i];
        const std::string path = "workers." + std::to_string(i);
        const json::Value* place = json::findPath(cluster.document(), path);
        const int line = place ? place->line() : 0;
        for (const auto& [task, why] : unreachable)
            if (task == worker.task.text())
                problems.push_back({Severity::Error, file, path + ".ssh", line,
                                    "The host " + worker.sshText() + " of " + task +
                                        " cannot be reached: " + lockstep::describe(why),
                                    why.code == Code::InvalidArgument
                                        ? "a destination as ssh takes it, or null for this machine"
                                        : "",
                                    ""});
        const auto address = cluster::Address::parse(worker.address);
        if (!worker.isOnThisMachine() || !address)
            continue;
        if (const auto why = whyNotListen(*address))
            problems.push_back({Severity::Error, file, path + ".address", line,
                                "The worker " + worker.task.text() + " cannot listen at " +
                                    worker.address + ": " + *why,
                                "an address of this machine with a free port",
                                "Stop that process or choose another port."});
    }
    return problems;
}

/// Parts of a command job for tasks that are not there.
Problems checkTaskParts(const job::JobSpec& job, const cluster::ClusterSpec& cluster) {
    Problems problems;
    for (const auto& [task, part] : job.command.tasks) {
        const auto id = cluster::TaskId::parse(task);
        if (!id || !cluster.find(*id))
            problems.push_back(job::problemAt(job, "tasks." + task,
                                              "The cluster has no task " + task + ".",
                                              "a task of the cluster", {}, Severity::Warning));
    }
    return problems;
}

Problems checkFolder(const std::string& root) {
    Status status = files::makeFolders(root + "/runs");
    if (status)
        status = files::checkWritable(root + "/runs");
    if (status)
        return {};
    return {{Severity::Error, root + "/runs", "", 0,
             "The folder for runs cannot be used: " + status.error().message,
             "a folder that this user can write",
             "Set XDG_DATA_HOME to another folder, or change the rights of this one."}};
}

} // namespace

Problems checkJob(const json::Value& job, const std::string& jobFile, int workers,
                  job::JobSpec& spec) {
    Problems problems;
    spec = job::parseJob(job, jobFile, problems);
    if (!hasErrors(problems) && spec.kind == job::JobKind::Model && workers > 0)
        addNew(problems, job::checkReplicas(spec, workers));
    return problems;
}

JobDescriber::JobDescriber(std::string root, const HostFactory& hosts, QObject* parent)
    : QObject(parent)
    , m_root(std::move(root))
    , m_host(std::move(*hosts(cluster::Worker{}))) {}

JobDescriber::~JobDescriber() {
    if (!m_temporary.empty())
        QFile::remove(text(m_temporary));
}

void JobDescriber::describe(const json::Value& job, const std::string& jobFile, int workers,
                            std::function<void(JobDescription)> done) {
    if (m_request != 0)
        m_host->cancel(m_request);
    m_request = 0;
    ++m_generation;
    m_done = std::move(done);
    m_job = job;
    m_jobFile = jobFile;
    m_description = {};
    job::JobSpec spec;
    m_description.problems = checkJob(job, jobFile, workers, spec);
    if (hasErrors(m_description.problems) || spec.kind != job::JobKind::Model) {
        return finishLater();
    }
    // The program reads a file, which may differ from the document at hand; relative names must
    // still start where the user's file is.
    if (m_temporary.empty())
        m_temporary = m_root + "/describe-" + randomHex(6) + ".job.json";
    const auto files = filesToPush(spec, job::folderOf(jobFile));
    Status written = files::makeFolders(m_root);
    if (written)
        written = files::writeAtomic(m_temporary, json::dump(jobWithAbsoluteFiles(job, files)),
                                     files::Durability::Renamed);
    if (!written) {
        m_description.problems.push_back({Severity::Error, m_temporary, "", 0,
                                          written.error().message, "a folder that can be written",
                                          "Set XDG_DATA_HOME to a folder that can be written."});
        return finishLater();
    }
    ask(text(m_temporary), workers);
}

void JobDescriber::ask(const QString& temporary, int workers) {
    const auto failed = [this](const Error& error) {
        m_request = 0;
        m_description.problems.push_back(
            {Severity::Error, m_jobFile, "", 0, "The job could not be checked: " + error.message,
             "lockstep-worker beside this program, or its path in LOCKSTEP_WORKER", ""});
        finish();
    };
    const auto run = [this, temporary, workers] {
        const QStringList args{QStringLiteral("describe"), temporary, QStringLiteral("--workers"),
                               QString::number(std::max(1, workers))};
        m_request = m_host->run(
            m_facts.worker(args), {}, [this](Result<remote::Output> output) { answer(output); },
            120s);
    };
    if (m_isReady)
        return run();
    m_request = m_host->deploy([this, failed, run](Result<QString> version) {
        if (!version)
            return failed(version.error());
        m_request = m_host->prepare({}, [this, failed, run](Result<remote::HostFacts> facts) {
            if (!facts)
                return failed(facts.error());
            m_facts = *facts;
            m_isReady = true;
            run();
        });
    });
}

void JobDescriber::answer(const Result<remote::Output>& output) {
    m_request = 0;
    auto object = output ? json::parse(output->out.toStdString(), "describe")
                         : Result<json::Value>(output.error());
    if (!object || !object->isObject()) {
        std::string why = object ? "its answer is no object" : object.error().message;
        if (output && !output->err.isEmpty())
            why = output->err.right(2000).trimmed().toStdString();
        m_description.problems.push_back({Severity::Error, m_jobFile, "", 0,
                                          "The worker program could not judge the job: " + why, "",
                                          "See whether lockstep-worker describe runs by hand."});
        return finish();
    }
    Problems ignored;
    Problems found;
    const json::Reader root(&*object, "", "describe", &ignored);
    for (const json::Reader& item : root.at("problems").items()) {
        const auto textOf = [&](const char* key) { return item.at(key).string().value_or(""); };
        Problem problem{textOf("severity") == "warning" ? Severity::Warning : Severity::Error,
                        textOf("file"),
                        textOf("path"),
                        static_cast<int>(item.at("line").integer(0, 1 << 30).value_or(0)),
                        textOf("message"),
                        textOf("expected"),
                        textOf("hint")};
        if (problem.file == m_temporary || problem.file.empty()) {
            const json::Value* place = json::findPath(m_job, problem.path);
            problem.file = m_jobFile;
            problem.line = place ? place->line() : 0;
        }
        found.push_back(std::move(problem));
    }
    addNew(m_description.problems, std::move(found));
    object->remove("problems");
    m_description.object = std::move(*object);
    finish();
}

void JobDescriber::finishLater() {
    const auto finishSame = [this, generation = m_generation] {
        if (generation == m_generation)
            finish();
    };
    QMetaObject::invokeMethod(this, finishSame, Qt::QueuedConnection);
}

void JobDescriber::finish() {
    if (!m_temporary.empty())
        QFile::remove(text(m_temporary));
    if (!m_done)
        return;
    const auto done = std::exchange(m_done, nullptr);
    done(std::move(m_description));
}

Preflight::Preflight(std::string root, const HostFactory& hosts, QObject* parent)
    : QObject(parent)
    , m_root(std::move(root))
    , m_hosts(hosts)
    , m_describer(m_root, hosts) {}

void Preflight::start(const PreflightInput& input, std::function<void(PreflightResult)> done) {
    m_done = std::move(done);
    m_result.cluster = cluster::ClusterSpec(input.cluster);
    Problems jobProblems;
    m_result.job = job::parseJob(input.job, input.jobFile, jobProblems);
    cluster::ValidateOptions options;
    options.use =
        m_result.job.kind == job::JobKind::Command ? cluster::Use::Command : cluster::Use::ModelJob;
    options.file = input.clusterFile;
    m_result.problems = cluster::validate(m_result.cluster, options);
    if (!hasErrors(m_result.problems)) {
        const Fleet fleet(m_hosts, m_result.cluster, options.use);
        addNew(m_result.problems, checkMachines(m_result.cluster, input.clusterFile, fleet));
    }
    addNew(m_result.problems, checkFolder(m_root));
    addNew(m_result.problems, checkTaskParts(m_result.job, m_result.cluster));
    const auto workers = static_cast<int>(cluster::rankTable(m_result.cluster).size());
    m_describer.describe(input.job, input.jobFile, workers, [this](JobDescription description) {
        addNew(m_result.problems, std::move(description.problems));
        hashFiles();
    });
}

void Preflight::hashFiles() {
    if (hasErrors(m_result.problems))
        return m_done(std::move(m_result));
    m_background.start(
        [this, job = m_result.job,
         files = filesToPush(m_result.job, job::folderOf(m_result.job.file))]() mutable {
            std::optional<PushManifest> push;
            Problems problems;
            if (job.kind == job::JobKind::Command && job.command.push) {
                push = scanFolder(job, job::folderOf(job.file), problems);
                if (!hasErrors(problems))
                    addNew(problems, checkPushedPrograms(job, *push));
            }
            std::optional<std::pair<std::string, Error>> failure;
            for (PushedFile& file : files) {
                auto hash = sha256OfFile(file.file);
                if (hash)
                    file.sha256 = *hash;
                else if (!failure)
                    failure = {file.path, hash.error()};
            }
            return [this, files = std::move(files), failure = std::move(failure),
                    push = std::move(push), problems = std::move(problems)] {
                addNew(m_result.problems, problems);
                m_result.push = push;
                if (failure)
                    m_result.problems.push_back(job::problemAt(m_result.job, failure->first,
                                                               describe(failure->second),
                                                               "a file that can be read"));
                m_result.files = files;
                m_done(std::move(m_result));
            };
        });
}

} // namespace lockstep::run
