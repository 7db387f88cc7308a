// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// What a check of a cluster found, as values: hosts, pairs of workers, findings. Texts are for
// people, in English, as they came from hosts: make them safe before showing them.

#include "core/agent/probe_protocol.h"
#include "core/base/json.h"
#include "core/base/problem.h"
#include "core/cluster/cluster_spec.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::run {

enum class FindingKind {
    Error,   ///< a launch would fail: refused
    Warning, ///< a launch asks first
    Fact,
};

struct CheckFinding {
    FindingKind kind = FindingKind::Fact;
    std::string id;   ///< what kind of fault: "port_in_use", "dropped", "twins", …
    std::string task; ///< "worker:0", the dialler of a pair; empty: the cluster
    std::string peer; ///< of a pair: who was dialled
    std::string what; ///< full sentences
    std::string todo; ///< what to do; may be empty
    bool operator==(const CheckFinding&) const = default;
};

/// One per task, in rank order (evaluators last). Tasks on one host have the same facts.
struct CheckedHost {
    enum class State { Waiting, Connecting, Deploying, Probing, Done, Failed };
    std::string task;
    std::string name;    ///< of the host, for people
    std::string address; ///< of the task, as written
    State state = State::Waiting;
    std::string words;             ///< why it failed, or progress
    std::string base;              ///< where Lockstep's files are there
    agent::HostProbe probe;        ///< once Done
    double clockOffsetSeconds = 0; ///< its clock minus ours
    double clockErrorSeconds = 0;  ///< half of the shortest exchange
    agent::ListenReply listener;   ///< task empty while unknown
};

struct CheckedPair {
    enum class State {
        Waiting,
        Running,
        Done,    ///< `result` holds
        Skipped, ///< the dialling host failed
        Self,
    };
    State state = State::Waiting;
    agent::DialResult result;
    /// Reached and every size came back.
    bool isGood() const;
};

struct CheckReport {
    std::vector<CheckedHost> hosts;
    std::vector<CheckedPair> pairs;     ///< hosts² of them: row dials column
    std::vector<CheckFinding> findings; ///< errors first; while a check runs, those known so far
    bool isComplete = false;
    double seconds = 0; ///< that it took

    const CheckedPair& pair(std::size_t from, std::size_t to) const {
        return pairs[from * hosts.size() + to];
    }
    CheckedPair& pair(std::size_t from, std::size_t to) { return pairs[from * hosts.size() + to]; }
    int count(FindingKind kind) const;
};

/// Everything that hosts and pairs tell about the cluster, errors first. Pure.
std::vector<CheckFinding> findingsOf(const cluster::ClusterSpec& spec, const CheckReport& report);

/// "worker:0", "worker:0 -> worker:1", or empty: whom it is about.
std::string subjectOf(const CheckFinding& finding);

/// Errors and warnings of the report as problems of the cluster file, errors first; only those of
/// tasks that `isWanted`, which also gets "". A check that did not come to its end is a warning.
Problems problemsOf(const CheckReport& report, const std::string& clusterFile,
                    const std::function<bool(const std::string& task)>& isWanted);

/// One line per pair, "Names both, says what happened"; empty where it is good or not yet known.
std::string pairWords(const CheckReport& report, std::size_t from, std::size_t to);

/// "belongs to run X, started 14:02 UTC by alice", "is in use by process 12 (python3) …".
std::string ownerWords(const agent::PortOwner& owner);

/// {"hosts":[…],"pairs":[…],"findings":[…]}.
json::Value toJson(const CheckReport& report);

/// For `count` (>= 0) members, who meets whom: N−1 rounds (N for odd N), each member at most once a
/// round, each pair once. The circle method of tournaments.
std::vector<std::vector<std::pair<std::size_t, std::size_t>>> meetingRounds(std::size_t count);

} // namespace lockstep::run
