// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Who this worker is: its task in TF_CONFIG, and the run that it belongs to.

#include "core/base/problem.h"
#include "core/base/result.h"
#include "core/cluster/task.h"
#include "core/collective/join.h"

#include <optional>
#include <string>
#include <vector>

namespace lockstep::train {

struct Launch {
    std::string version; ///< of this program; workers of one run must have the same
    std::string jobFile;
    std::string runDir;                  ///< empty: nothing is written
    std::optional<std::string> tfConfig; ///< the variable's value; nothing where it is not set
    std::optional<int> expectedWorkers;  ///< what the launcher believes, refused where it differs
    std::optional<std::string> clusterHash;
};

struct Identity {
    std::string task = "worker:0";
    std::string address; ///< own entry in TF_CONFIG; empty in local mode
    int rank = 0;
    std::vector<collective::Member> members; ///< by rank; one without an address in local mode
    std::string run;
    int attempt = 1;
    collective::Secret secret{};
    bool isAuthenticated = false; ///< the secret came with the run, in spec.json
    std::string clusterHash;
    std::string configHash; ///< SHA-256 (hex) of the bytes of TF_CONFIG
    int workersHere = 1;    ///< training tasks with this worker's host, itself included

    int world() const { return static_cast<int>(members.size()); }
    std::vector<std::string> tasks() const;
};

/// Reads TF_CONFIG and <runDir>/spec.json. Adds to `problems` and gives nothing where the worker
/// must not start: a TF_CONFIG that is wrong, another number of workers or another cluster than the
/// launcher expects, a spec.json of another task. `jobHash` tells runs apart that have no
/// spec.json.
std::optional<Identity> identify(const Launch& launch, const std::string& jobHash,
                                 Problems& problems);

} // namespace lockstep::train
