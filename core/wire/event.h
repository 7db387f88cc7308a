// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The events that a worker writes to its events.jsonl and the control side follows: one JSON object
// a line, {"v":1,"event":"<name>","t":<UTC seconds>,…}. A line without its LF is not yet an event.
// Unknown fields are ignored, an unknown event is Unknown, another major version is refused.
// Non-finite numbers travel as the texts "NaN", "Infinity", "-Infinity".

#include "core/base/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace lockstep::wire {

/// First event of every worker: who speaks. `task` is "worker:0" as in all of wire.
struct Started {
    std::string task;
    int rank = 0;
    int world = 1;
    std::string run;
    int attempt = 1;
    std::string host;           ///< the machine's host name, for people
    std::string address;        ///< own entry in TF_CONFIG
    std::string version;        ///< of the worker program
    std::string configHash;     ///< SHA-256 hex of the TF_CONFIG bytes it read
    std::string clusterHash;    ///< of the cluster object alone; equal on all workers
    bool authenticated = false; ///< a secret came with the run
    int threads = 1;            ///< that the engine computes with
    bool operator==(const Started&) const = default;
};

enum class Phase {
    Preparing, ///< reading data, building the plan
    Joining,   ///< port open, waiting for `waitingFor`
    Training,
    Validating,
    Finishing, ///< exporting, exit barrier
};

struct PhaseChanged {
    Phase phase = Phase::Preparing;
    std::vector<std::string> waitingFor; ///< tasks not yet joined, while Joining
    double deadlineSeconds = 0;          ///< left until the join fails, while Joining
    bool operator==(const PhaseChanged&) const = default;
};

/// What will be trained, once known; equal on all ranks but for nothing.
struct Planned {
    std::int64_t parameters = 0;
    std::int64_t trainable = 0;
    std::int64_t trainRows = 0;
    std::int64_t validationRows = 0;
    std::int64_t globalBatch = 0;
    std::int64_t stepsPerEpoch = 0;
    int epochs = 0;
    std::int64_t bytesPerAllReduce = 0;
    std::vector<std::int64_t> bucketBytes; ///< in the order in which backward completes them
    std::string algorithm;                 ///< "ring"
    std::string shardPolicy;               ///< the effective one: "DATA", "OFF"
    bool operator==(const Planned&) const = default;
};

struct Stat {
    double mean = 0;
    double min = 0;
    double max = 0;
    bool operator==(const Stat&) const = default;
};

/// Steps `first`..`last` of this worker, aggregated (at most 20 such events a second); together the
/// events of an attempt cover every step once. Times are of this worker, in milliseconds a step.
struct Steps {
    int epoch = 1;          ///< from 1
    std::int64_t first = 1; ///< global step numbers, from 1, over all epochs
    std::int64_t last = 1;
    std::int64_t rows = 0;    ///< of the global batches of these steps
    std::int64_t ownRows = 0; ///< of them computed here
    double seconds = 0;       ///< wall time that these steps took
    double learningRate = 0;  ///< of the last of them
    Stat loss;                ///< global, equal on all ranks
    Stat inputMs;             ///< waiting for data
    Stat computeMs;           ///< forward and backward
    Stat allReduceMs;         ///< from the first bucket's start to the last one's end
    Stat allReduceWaitMs;     ///< of it not hidden behind computing
    Stat updateMs;
    Stat totalMs;
    bool operator==(const Steps&) const = default;
};

using NamedValues = std::vector<std::pair<std::string, double>>;

struct EpochEnded {
    int epoch = 1;
    std::int64_t step = 0; ///< last step of the epoch
    double seconds = 0;
    NamedValues values; ///< Keras' names and order: loss, metrics, val_loss, val_metrics
    std::string digest; ///< SHA-256 hex of the variables
    bool operator==(const EpochEnded&) const = default;
};

/// A file in the worker's run folder is complete. Chief only.
struct FileWritten {
    std::string kind; ///< "model" (safetensors)
    std::string path; ///< relative to the attempt's folder
    std::int64_t bytes = 0;
    std::string sha256;
    bool operator==(const FileWritten&) const = default;
};

/// Why this worker ends before its work is done: its own fault, or its verdict about a peer.
struct Failed {
    std::string task; ///< the one to blame; own task for an own fault
    std::string host; ///< its address in TF_CONFIG, or host name
    std::string code; ///< codeName(), e.g. "peer_lost"
    /// "killed", "frozen", "cut_off", "not_joined", "refused", "diverged", "own", "stopped"
    std::string verdict;
    std::string reason; ///< a full sentence for the user
    bool operator==(const Failed&) const = default;
};

/// Last event of a worker that has done all its work and left through the exit barrier.
struct Finished {
    std::string digest;
    std::int64_t steps = 0;
    std::int64_t rows = 0; ///< training rows of steps 2 to the end
    double seconds = 0;    ///< wall time of steps 2 to the end, validation left out
    double inputMs = 0, computeMs = 0, allReduceWaitMs = 0, updateMs = 0,
           totalMs = 0; ///< means over steps 2..
    bool operator==(const Finished&) const = default;
};

enum class Level { Debug, Info, Warning, Error };

struct Logged {
    Level level = Level::Info;
    std::string text;
    bool operator==(const Logged&) const = default;
};

/// An event of a newer program: kept as its line, shown nowhere.
struct Unknown {
    std::string line;
    bool operator==(const Unknown&) const = default;
};

using Body = std::variant<Started, PhaseChanged, Planned, Steps, EpochEnded, FileWritten, Failed,
                          Finished, Logged, Unknown>;

struct Event {
    double time = 0; ///< UTC seconds since 1970, on the worker's clock
    Body body;
    bool operator==(const Event&) const = default;
};

/// One line with its LF.
std::string encode(const Event& event);
/// `line` without its LF. Corrupt (what and where in the line) or NewerFormat.
Result<Event> decode(std::string_view line);

/// Cuts a byte stream into complete lines, whatever the pieces it arrives in.
class LineSplitter {
public:
    /// Complete lines of what was held back plus `bytes`, without LF. Lines over 16 MiB are dropped
    /// and counted.
    std::vector<std::string> add(std::string_view bytes);
    /// Bytes held back: the beginning of a line that is not yet one.
    std::size_t pending() const { return m_rest.size(); }
    std::size_t droppedLines() const { return m_dropped; }

private:
    std::string m_rest;
    std::size_t m_dropped = 0;
    bool m_skipping = false;
};

} // namespace lockstep::wire
