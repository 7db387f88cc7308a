// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// What the control side and the agent commands of lockstep-worker say to each other. Every command
// reads one JSON request line from its standard input and writes JSON lines to its standard output;
// encode() gives such a line with its LF, the decode functions take one without it. A refused
// request is one line {"ok":false,"code":…,"message":…,"where":…}, which every decode of a reply
// gives back as that Error. Unknown fields are ignored. Plain data: no thread rules.

#include "core/base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace lockstep::agent {

using Pairs = std::vector<std::pair<std::string, std::string>>;

/// Every supervised process and its descendants carry the run's id in this variable.
inline constexpr const char* kRunIdVariable = "LOCKSTEP_RUN_ID";

// Names in the folder of an attempt.
inline constexpr const char* kStateFile = "state.json";
/// ProcessState::problem where the process went with its machine.
inline constexpr const char* kMachineRestarted = "lost: this machine was restarted";
inline constexpr const char* kEventsFile = "events.jsonl";
inline constexpr const char* kStdoutFile = "stdout.log";
inline constexpr const char* kStderrFile = "stderr.log";
inline constexpr const char* kStdoutTimesFile = "stdout.idx"; ///< wire/output_times.h
inline constexpr const char* kStderrTimesFile = "stderr.idx";

/// A process that no later one can be taken for.
struct Identity {
    std::int64_t pid = 0;
    std::uint64_t startTime = 0; ///< field 22 of /proc/<pid>/stat, clock ticks since boot
    bool operator==(const Identity&) const = default;
};

enum class Phase {
    Running,
    Exited, ///< over, and the supervisor said how
    Lost,   ///< never written to the file: process and supervisor are gone and left no exit record
};

/// state.json of an attempt, {"format":"lockstep-state","version":1,…}.
struct ProcessState {
    Phase phase = Phase::Running;
    std::string run;
    std::string task; ///< "worker:0"
    int attempt = 1;
    Identity process; ///< also the leader of its process group
    Identity supervisor;
    std::string bootId;
    std::string program;
    double startedAt = 0;               ///< UTC seconds since 1970
    std::optional<double> endedAt;      ///< once Exited
    std::optional<int> exitCode;        ///< Exited by itself
    std::optional<int> signal;          ///< Exited by this signal
    std::optional<std::string> problem; ///< Exited because it could not be executed; or Lost
    bool operator==(const ProcessState&) const = default;
};

/// "exit code 1", "killed by signal 9 (SIGKILL)", "running", …: for people.
std::string describe(const ProcessState& state);

/// `supervise`: starts `program` apart from the caller's session and returns; the supervisor lives
/// on, writes state.json, and the exit record when the process is over.
struct SuperviseRequest {
    std::string runDir; ///< absolute; made where missing
    std::string run;
    std::string task;
    int attempt = 1;
    std::string program; ///< absolute, or a name looked up in the child's PATH
    std::vector<std::string> args;
    Pairs env;       ///< added to the agent's own environment, less names no shell takes
    Pairs envFiles;  ///< variable → name of a file in runDir whose bytes are its value
    std::string cwd; ///< empty: runDir
};
struct SuperviseReply {
    Identity process;
    Identity supervisor;
    /// Of the agent's own environment, not handed on: their names are no names to a shell.
    std::vector<std::string> dropped = {};
};

/// `follow`: streams the bytes of files in runDir from given offsets, and state.json's changes,
/// until the process is over and every byte was sent, or standard input or output is closed.
struct FollowRequest {
    std::string runDir;
    std::vector<std::pair<std::string, std::int64_t>> offsets; ///< file name → first byte wanted
    std::int64_t chunkBytes = 256 * 1024;                      ///< at most this many in one line
};
struct FileBytes {
    std::string file;
    std::int64_t offset = 0; ///< of the first of `bytes`
    std::string bytes;
    bool operator==(const FileBytes&) const = default;
};
/// Sent every second, so that silence means a lost connection.
struct Heartbeat {
    double utcSeconds = 0; ///< on the host's clock; 0: not said
    bool operator==(const Heartbeat&) const = default;
};
/// Last line: the process is over and all bytes were sent.
struct End {
    bool operator==(const End&) const = default;
};
using FollowItem = std::variant<FileBytes, ProcessState, Heartbeat, End>;

/// `stop`: SIGTERM to the process groups, SIGKILL after the grace time, then no process of this
/// user with the run's id may be left.
struct StopRequest {
    std::string run;
    std::vector<std::string> runDirs; ///< those of this host; ones without a state.json are fine
    double graceSeconds = 10;
};
struct ProcessName {
    std::int64_t pid = 0;
    std::string name; ///< /proc/<pid>/comm
    bool operator==(const ProcessName&) const = default;
};
struct StopReply {
    std::vector<ProcessName> killed;    ///< that needed SIGKILL
    std::vector<ProcessName> remaining; ///< that live on (not ours to kill, or stuck in the kernel)
    bool ok() const { return remaining.empty(); }
};

/// `place`: where on this host Lockstep keeps its files.
struct PlaceRequest {
    std::string base; ///< the cluster's own choice; empty: the first usable of the standard ones
};
struct PlaceReply {
    std::string base;    ///< absolute, exists, can be written to and executed from
    std::string machine; ///< "<hostname>-<first 8 of machine-id>": the folder below base
    Pairs refused;       ///< folder → why it was passed over
};

std::string encode(const SuperviseRequest& request);
std::string encode(const SuperviseReply& reply);
std::string encode(const FollowRequest& request);
std::string encode(const FollowItem& item);
std::string encode(const StopRequest& request);
std::string encode(const StopReply& reply);
std::string encode(const PlaceRequest& request);
std::string encode(const PlaceReply& reply);
/// The line of a refused request.
std::string encode(const Error& error);
/// The text of state.json.
std::string encodeFile(const ProcessState& state);

// Each gives InvalidArgument (a request) or Corrupt (a reply) naming the field that does not fit.
Result<SuperviseRequest> decodeSuperviseRequest(std::string_view line);
Result<SuperviseReply> decodeSuperviseReply(std::string_view line);
Result<FollowRequest> decodeFollowRequest(std::string_view line);
Result<FollowItem> decodeFollowItem(std::string_view line);
Result<StopRequest> decodeStopRequest(std::string_view line);
Result<StopReply> decodeStopReply(std::string_view line);
Result<PlaceRequest> decodePlaceRequest(std::string_view line);
Result<PlaceReply> decodePlaceReply(std::string_view line);
/// NewerFormat where a newer agent wrote it. `path` goes into errors.
Result<ProcessState> decodeFile(std::string_view text, const std::string& path);

} // namespace lockstep::agent
