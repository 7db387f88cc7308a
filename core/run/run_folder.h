// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The folder of a run on the control machine: <root>/runs/<run-id>/ with run.json, per task and
// attempt exact copies of what the worker wrote, and the model once it is home. One program writes
// it (flock); any number read it.

#include "core/base/result.h"
#include "core/metrics/csv.h"
#include "core/run/push_folder.h"
#include "core/run/run_record.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::run {

/// $XDG_DATA_HOME/lockstep, by default ~/.local/share/lockstep.
std::string defaultRoot();

class RunFolder {
public:
    RunFolder(std::string root, std::string runId);

    const std::string& id() const { return m_id; }
    std::string path() const;
    std::string modelPath() const;
    /// …/worker-0/1
    std::string attemptFolder(const std::string& task, int attempt) const;
    std::string eventsPath(const std::string& task, int attempt) const;
    std::string outputPath(const std::string& task, int attempt) const;
    std::string errorOutputPath(const std::string& task, int attempt) const;

    bool exists() const;
    Status create() const; ///< 0700
    Result<RunRecord> load() const;
    Status save(const RunRecord& record) const;

    /// The list of the pushed folder, push.json; NotFound where the run has none.
    Result<PushManifest> loadPush() const;
    Status savePush(const PushManifest& manifest) const;

    /// The run's secret for the workers' hello, 64 hex digits; made once, kept in spec.json (0600).
    Result<std::string> secret() const;

    /// Says to whoever follows this run that its end is wanted, not a failure.
    Status requestStop() const;
    bool isStopRequested() const;

private:
    std::string m_root;
    std::string m_id;
};

/// The right to write a run folder, held while this lives and gone with the process.
class WriterLock {
public:
    /// Nothing where another program holds it.
    static std::optional<WriterLock> tryTake(const RunFolder& folder);
    WriterLock(WriterLock&& other) noexcept;
    WriterLock& operator=(WriterLock&& other) noexcept;
    ~WriterLock();

private:
    explicit WriterLock(int fd)
        : m_fd(fd) {}
    int m_fd = -1;
};

/// The run that `text` names: an id, the beginning of one that is unique, or "last". NotFound and
/// InvalidArgument say which there are.
Result<std::string> findRun(const std::string& root, const std::string& text);

/// Every <task>/<attempt>/events.jsonl below `folder`, a run's folder here or on a host.
Result<std::vector<metrics::EventsFile>> readEventsFiles(const std::string& folder);

/// Writes the metrics of the run folder as CSV to `target`, atomically.
Status exportMetrics(const std::string& folder, const std::string& target);
enum class ModelFormat { Safetensors, Keras, WeightsH5, LegacyH5 };
/// By the ending of a file's name: ".keras", ".weights.h5", ".h5" or ".hdf5"; else safetensors.
ModelFormat modelFormatOf(const std::string& fileName);
/// Writes the run's model to `target`, atomically; NotFound where the run has none (yet), Corrupt
/// where its bytes are not what the chief wrote, Unsupported where the format cannot hold it.
Status exportModel(const RunFolder& folder, const std::string& target, ModelFormat format);

} // namespace lockstep::run
