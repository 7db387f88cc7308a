// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The states of a launch and the one table of what may follow what.

#include <optional>
#include <string>
#include <string_view>

namespace lockstep::run {

enum class State {
    Idle,
    Validating,     ///< cluster, job, model, data, ports, folders; nothing was started yet
    PreparingHosts, ///< the worker program and a folder on each host
    Checking,       ///< hosts that are not this machine, and the ways between workers
    Deploying,      ///< job, data and model files, TF_CONFIG
    Launching,      ///< starting the workers
    Joining,        ///< they run and look for each other
    Training,
    Finishing, ///< first worker is through; export, exit barrier, model on its way home
    Stopping,  ///< on request or after a failure: ending what still runs
    Finished,
    Failed,
    Stopped,
    Refused,  ///< found before a worker started: see problems()
    Detached, ///< we looked away; the workers go on
};

/// "preparing_hosts": the name in run.json and logs.
const char* stateName(State state);
std::optional<State> stateFromName(std::string_view name);

/// Whether the table has this step.
bool mayFollow(State from, State to);
/// Finished, Failed, Stopped, Refused, Detached: nothing more comes.
bool isFinal(State state);
/// Launching to Finishing and Stopping: processes may be alive.
bool hasWorkers(State state);

} // namespace lockstep::run
