// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// A job: what to train. JobSpec is the read side of a job file; the document it was read from is
// kept beside it, so that editors change the document (settings.h) and read again, and unknown keys
// survive. The complete table of keys is core/job/README.md.

#include "core/base/json.h"
#include "core/base/problem.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace lockstep::job {

/// The newest version of the job file that this program reads, and the one it writes.
inline constexpr int kJobVersion = 1;
inline constexpr const char* kJobFormat = "lockstep-job";

enum class JobKind {
    Model,   ///< the engine trains `model`
    Command, ///< the user's own program is started on each host with TF_CONFIG set
};

/// A Keras object by name and settings: "adam" and {"class_name": "Adam", "config": {…}} alike.
/// The name is as written; which names exist is judged by nn.
struct KerasObject {
    std::string className;
    json::Value config = json::Value::object(); ///< always an object
    std::string path;                           ///< in the job: "compile.optimizer"
    int line = 0;                               ///< in the job file
};

struct Compile {
    KerasObject optimizer;
    KerasObject loss;
    std::vector<KerasObject> metrics;
};

/// Which column of a CSV file is the label: a name of its header, or a place from 0, negative from
/// the end.
using LabelColumn = std::variant<std::int64_t, std::string>;

struct CsvSource {
    std::string path;           ///< as written; relative ones start at the job file's folder
    bool header = false;        ///< the first line after skip_lines holds names
    std::int64_t skipLines = 0; ///< lines to leave out at the top, before the header
    LabelColumn label = std::int64_t{-1};
    double scale = 1; ///< every feature is multiplied by it; the label is not
};

/// Features and labels uniform in [0, 1), a function of seed, row and column alone.
struct RandomUniformSource {
    std::int64_t rows = 0;
    std::int64_t features = 0;
    std::int64_t labels = 0;
    std::uint64_t seed = 0;
};

using Source = std::variant<CsvSource, RandomUniformSource>;

enum class ShardPolicy { Auto, Data, Off, File };

/// What is done with the rows at the end of an epoch that fill no whole global batch.
enum class Remainder { Keep, Drop };

/// `shuffle: true`: a buffer as long as the data.
inline constexpr std::int64_t kShuffleAll = std::numeric_limits<std::int64_t>::max();

struct Data {
    Source train;
    std::optional<Source> validation;
    double validationFraction = 0; ///< [0, 1); 0 where there is none or `validation` is a source
    std::int64_t shuffle = 0;      ///< rows in the shuffle buffer; 0 keeps the order
    Remainder remainder = Remainder::Keep;
    ShardPolicy shardPolicy = ShardPolicy::Auto;
};

enum class RateScaling { None, Linear, Sqrt };

struct Fit {
    std::int64_t epochs = 1;
    /// One of the two is set. Use globalBatchSize() of batching.h to read them.
    std::optional<std::int64_t> globalBatchSize;
    std::optional<std::int64_t> batchSizePerReplica;
    RateScaling rateScaling = RateScaling::None;
    std::int64_t warmupSteps = 0;
};

enum class Implementation { Auto, Ring, Nccl };

struct Communication {
    Implementation implementation = Implementation::Auto;
    double timeoutSeconds = 60;         ///< of one collective
    double joinTimeoutSeconds = 60;     ///< until all workers have met
    double heartbeatTimeoutSeconds = 5; ///< of silence until a peer is given up
    std::int64_t bytesPerPack = 0;      ///< of gradients in one all-reduce; 0: the program chooses
};

using Variables = std::vector<std::pair<std::string, std::string>>;

/// A folder that is sent to each host before a command starts.
struct PushFolder {
    std::string folder;              ///< as written; relative ones start at the job file's folder
    std::vector<std::string> ignore; ///< patterns, see isIgnored() in command.h
};

/// What one task of a command job has of its own.
struct TaskCommand {
    std::vector<std::string> argv; ///< empty: the job's
    Variables env;                 ///< beside the job's; stronger
    std::optional<std::string> workingDirectory;
};

/// A job of kind "command".
struct Command {
    std::vector<std::string> argv;
    Variables env;
    std::vector<std::string> passEnv; ///< names, or beginnings with a "*" behind
    std::string workingDirectory;     ///< as written; see workingDirectoryOf() in command.h
    std::optional<PushFolder> push;
    std::vector<std::pair<std::string, TaskCommand>> tasks; ///< by "worker:1"
};

struct JobSpec {
    std::string name;
    JobKind kind = JobKind::Model;
    /// Keras' own JSON (an object) or the path of a file with it (a text, relative to the job
    /// file). Its layers are judged by nn.
    json::Value model;
    Compile compile;
    Data data;
    Fit fit;
    Communication communication;
    std::int64_t threadsPerWorker = 0; ///< 0: the worker's share of its host's cores
    std::uint64_t seed = 0;
    Command command;

    json::Value document; ///< what it was read from
    std::string file;     ///< name of the document, for Problems
};

/// Reads and judges a job document. Every fault is added to `problems`, in the order of the table;
/// what could be read is returned, with defaults elsewhere. Train with it only where there are no
/// errors.
JobSpec parseJob(const json::Value& document, const std::string& file, Problems& problems);

/// A job to begin with: the smallest useful model, as a document.
json::Value newJobDocument(const std::string& name);

/// A Problem at `path` of the job, with the line that the value (or its nearest parent) has there.
Problem problemAt(const JobSpec& job, const std::string& path, std::string message,
                  std::string expected = {}, std::string hint = {},
                  Severity severity = Severity::Error);

/// A file that the job names.
struct FileReference {
    std::string path; ///< place in the job: "data.train.path", "model"
    std::string file; ///< as written
    bool isAbsolute() const { return !file.empty() && file.front() == '/'; }
};

/// Model and data files, in the order of the job. Relative ones are pushed with the job, absolute
/// ones are the host's own.
std::vector<FileReference> fileReferences(const JobSpec& job);

/// `file` where absolute, else inside `folder` (the job file's; "" is the working directory).
std::string resolvePath(const std::string& folder, const std::string& file);
/// The folder of a path, "" for a bare name: what relative paths of a job file start at.
std::string folderOf(const std::string& path);

const char* textOf(ShardPolicy policy);
const char* textOf(RateScaling scaling);
const char* textOf(Implementation implementation);

} // namespace lockstep::job
