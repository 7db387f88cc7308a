// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Everything that can be found wrong before a worker starts, all at once: cluster, job, model and
// data (as the worker program sees them), ports of this machine, folders.
// Thread: the caller's, with an event loop; nothing blocks it.

#include "core/base/problem.h"
#include "core/cluster/cluster_spec.h"
#include "core/job/job_spec.h"
#include "core/run/background.h"
#include "core/run/fleet.h"

#include <QObject>

#include <functional>
#include <memory>
#include <string>

namespace lockstep::run {

/// What `lockstep-worker describe` says about a job.
struct JobDescription {
    Problems problems;  ///< of document, model and data; paths and lines are those of the job file
    json::Value object; ///< model, memory, data, batching, …; null where it could not be asked
};

/// Asks the worker program on this machine about jobs. One at a time.
class JobDescriber : public QObject {
    Q_OBJECT
public:
    /// `root`: where a temporary job file may be written.
    JobDescriber(std::string root, const HostFactory& hosts, QObject* parent = nullptr);
    ~JobDescriber() override;

    /// `job` as in LaunchRequest. Calls `done` once, later; a new call drops the one before. A job
    /// whose document is wrong, or of kind command, is judged without the program.
    void describe(const json::Value& job, const std::string& jobFile, int workers,
                  std::function<void(JobDescription)> done);

private:
    void ask(const QString& temporary, int workers);
    void answer(const Result<remote::Output>& output);
    void finish();
    void finishLater();

    std::string m_root;
    std::shared_ptr<remote::Host> m_host;
    bool m_isReady = false;
    remote::HostFacts m_facts;
    remote::Host::RequestId m_request = 0;
    int m_generation = 0; ///< of describe(), so that a late finish is known
    json::Value m_job;
    std::string m_jobFile;
    std::string m_temporary;
    JobDescription m_description;
    std::function<void(JobDescription)> m_done;
};

struct PreflightInput {
    json::Value cluster;
    std::string clusterFile;
    json::Value job;
    std::string jobFile;
};

struct PreflightResult {
    Problems problems;
    cluster::ClusterSpec cluster;
    job::JobSpec job;
    std::vector<PushedFile> files; ///< with their hashes
    std::optional<PushManifest> push;
};

class Preflight : public QObject {
    Q_OBJECT
public:
    Preflight(std::string root, const HostFactory& hosts, QObject* parent = nullptr);

    /// Once.
    void start(const PreflightInput& input, std::function<void(PreflightResult)> done);

private:
    void hashFiles();

    std::string m_root;
    HostFactory m_hosts;
    JobDescriber m_describer;
    Background m_background;
    PreflightResult m_result;
    std::function<void(PreflightResult)> m_done;
};

/// Job problems without the worker program: the document and its fit to so many replicas.
Problems checkJob(const json::Value& job, const std::string& jobFile, int workers,
                  job::JobSpec& spec);

} // namespace lockstep::run
