// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The hosts of a run and what is done on all of them at once: prepare, push, start, stop, fetch.
// Each step calls `done` once, later, when every host has answered; the first failure wins and
// names task and host.
// Thread: the caller's, as with Host. Nothing is called any more once this is gone.

#include "core/agent/protocol.h"
#include "core/cluster/cluster_spec.h"
#include "core/cluster/validation.h"
#include "core/remote/host.h"
#include "core/run/host_factory.h"
#include "core/run/host_progress.h"
#include "core/run/push_folder.h"
#include "core/run/run_record.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::run {

/// A task with all that its host needs to start it.
struct TaskStart {
    std::string task;
    std::string specJson; ///< empty: none (a command job)
    std::string tfConfigJson;
    std::string program; ///< empty: the worker program of the host
    std::vector<std::string> args;
    std::string cwd;
    agent::Pairs env;
};

class Fleet {
public:
    using Finished = std::function<void(std::optional<Cause> failure)>;

    /// Training tasks of the cluster in rank order; for a command its other tasks behind them.
    Fleet(const HostFactory& factory, const cluster::ClusterSpec& cluster,
          cluster::Use use = cluster::Use::ModelJob);
    ~Fleet();
    Fleet(const Fleet&) = delete;
    Fleet& operator=(const Fleet&) = delete;

    /// Tasks whose host the factory could not make, and why.
    std::vector<std::pair<std::string, Error>> unreachableTasks() const;
    std::string hostNameOf(const std::string& task) const;
    /// Of every task, in rank order; `changed` is called when one of them moved on.
    const std::vector<HostProgress>& progress() const { return m_progress; }
    void onProgress(std::function<void()> changed) { m_progressChanged = std::move(changed); }
    /// Whether the task's host may be out of reach for a while without anything being wrong there.
    bool isRemote(const std::string& task) const;

    /// The hosts of this fleet as they are connected, for others to ask too. Whoever holds one of
    /// them ends its requests before the fleet goes.
    HostFactory hosts() const;

    /// The worker program is there, and a folder for our files.
    void prepare(Finished done);
    bool isPrepared() const { return m_isPrepared; }
    /// After prepare(): where each task will live.
    std::vector<TaskPlace> places(const std::string& runId, int attempt) const;
    /// The job folder on the task's host: …/runs/<run-id>/job
    std::string jobFolderOf(const std::string& task, const std::string& runId) const;

    /// Writes job.json and the pushed files into the job folder of each host.
    void push(const std::string& runId, const std::string& jobJson,
              const std::vector<PushedFile>& files, Finished done);
    /// Where pushFolder() makes the folder, for the task's host.
    std::string pushedFolderOf(const std::string& task, const std::string& runId) const;
    /// Makes the folder anew on each host, sending only files that no earlier run sent there.
    /// `sent` once for each host.
    void
    pushFolder(const std::string& runId, const PushManifest& manifest,
               std::function<void(const std::string& host, int files, std::int64_t bytes)> sent,
               Finished done);
    using Dropped =
        std::function<void(const std::string& task, const std::vector<std::string>& names)>;
    /// Writes spec.json and tf_config.json and starts the task; with `onlyMissing` nothing where it
    /// was started before. `started` once for each that runs; `dropped` where variables of the
    /// host's own environment were not handed on.
    void start(const RunRecord& record, const std::vector<TaskStart>& tasks, bool onlyMissing,
               std::function<void(const std::string& task)> started, Finished done,
               Dropped dropped = {});
    std::unique_ptr<remote::Stream>
    follow(const TaskPlace& place,
           const std::vector<std::pair<std::string, std::int64_t>>& offsets);
    /// Ends every process of the run on every host; a failure names what lives on.
    void stop(const RunRecord& record, std::chrono::milliseconds grace, Finished done);
    /// Copies a file of the task's attempt to this machine.
    void fetch(const TaskPlace& place, const std::string& name, const std::string& localPath,
               Finished done);

private:
    struct Entry; ///< a host and its tasks
    class Batch;  ///< answers that are waited for
    struct Launch;
    class FolderPush; ///< to one host

    void noteStage(const Entry& entry, remote::HostStage stage, std::int64_t done,
                   std::int64_t total);
    Entry* entryOf(const std::string& task) const;
    Cause causeOf(const Entry& entry, const std::string& task, const Error& error) const;
    void prepareHost(Entry& entry, std::shared_ptr<Batch> batch);
    void putTask(std::shared_ptr<Launch> launch, const TaskStart& task);
    void supervise(std::shared_ptr<Launch> launch, const TaskStart& task);

    std::vector<std::unique_ptr<Entry>> m_entries;
    std::vector<HostProgress> m_progress;
    std::function<void()> m_progressChanged;
    std::vector<cluster::Worker> m_tasks; ///< that are started, in order
    bool m_isPrepared = false;
};

} // namespace lockstep::run
