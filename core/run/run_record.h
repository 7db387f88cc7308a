// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// run.json: the snapshot of a run that the control machine keeps. A value; reading and writing it
// is run_folder.h.

#include "core/base/json.h"
#include "core/base/result.h"
#include "core/run/clock_watch.h"
#include "core/run/run_state.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::run {

enum class RunStatus { Running, Finished, Failed, Stopped };

const char* statusName(RunStatus status); ///< "running", "finished", "failed", "stopped"
std::optional<RunStatus> statusFromName(std::string_view name);

/// Why a run failed: the earliest abnormal cause.
struct Cause {
    std::string task;   ///< to blame, "worker:1"; empty where no task is
    std::string host;   ///< where it ran
    std::string reason; ///< a full sentence
    /// Of the error behind it, for those who try again; not in the record.
    Code code = Code::Internal;
    bool operator==(const Cause&) const = default;
};

/// Where one task of the run lives.
struct TaskPlace {
    std::string task;      ///< "worker:0"
    std::string hostName;  ///< for people: this machine's name, or the SSH destination
    std::string address;   ///< in TF_CONFIG
    std::string runFolder; ///< on the host: …/runs/<run-id>/<worker-0>/<attempt>
    /// The host's clock against ours, as it was seen, in order.
    std::vector<ClockOffset> clock = {};
    bool operator==(const TaskPlace&) const = default;
};

/// A file that was pushed with the job.
struct PushedFile {
    std::string path; ///< place in the job: "data.train.path"
    std::string file; ///< absolute, on the control machine
    std::string sha256;
    bool operator==(const PushedFile&) const = default;
};

/// The model that the chief exported, once it is in the run folder.
struct ModelFile {
    std::string name = "model.safetensors"; ///< in the run folder
    std::string sha256;
    std::int64_t bytes = 0;
    bool operator==(const ModelFile&) const = default;
};

struct RunRecord {
    std::string id;   ///< "20261201-081403-ab12cd"
    std::string name; ///< of the job
    RunStatus status = RunStatus::Running;
    State state = State::Deploying; ///< the last one that was saved
    int attempt = 1;
    double startedAt = 0; ///< UTC seconds
    std::optional<double> endedAt;
    std::string clusterFile; ///< as the user gave it; empty for local workers made by number
    std::string jobFile;     ///< absolute
    json::Value cluster;     ///< the documents as launched
    json::Value job;
    std::vector<TaskPlace> tasks; ///< in rank order
    std::vector<PushedFile> files;
    json::Value decisions; ///< what the chief planned: batch, steps, algorithm, buckets; or null
    std::optional<Cause> failure;
    std::optional<ModelFile> model;
    json::Value summary; ///< as metrics::summarize, once the run is over; or null

    const TaskPlace* find(const std::string& task) const;
    TaskPlace* find(const std::string& task);
    /// The job starts a program of the user's own.
    bool isCommand() const;
};

json::Value toJson(const RunRecord& record);
/// Corrupt or NewerFormat; `path` goes into errors.
Result<RunRecord> recordFromJson(const json::Value& value, const std::string& path);

/// The object of `lockstepctl --json`: run, status, workers, epochs, final, digest,
/// samples_per_second, step_ms, and failure where it failed.
json::Value resultObject(const RunRecord& record, const json::Value& summary);

/// Sortable by time, unique: "20261201-081403-ab12cd".
std::string newRunId(double utcSeconds);
bool isRunId(std::string_view text);

} // namespace lockstep::run
