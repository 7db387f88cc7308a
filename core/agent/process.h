// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Processes of this machine as /proc shows them. A pid alone names nobody: it is used again. An
// Identity with the machine's boot id does. No threads of its own; thread-safe.

#include "core/agent/protocol.h"

#include <optional>
#include <string>
#include <vector>

namespace lockstep::agent {

/// One line of /proc/<pid>/stat, as far as we need it.
struct ProcessFacts {
    Identity identity;
    std::string name; ///< comm
    char state = '?'; ///< 'R', 'S', 'Z', …
    std::int64_t parent = 0;
    std::int64_t group = 0;
};

/// What /proc/sys/kernel/random/boot_id says; "" where it cannot be read.
std::string bootId();

/// Nothing where there is no such process.
std::optional<ProcessFacts> processFacts(std::int64_t pid);
/// All processes, in the order of /proc.
std::vector<ProcessFacts> allProcesses();

/// Whether exactly this process is there and is no zombie.
bool isAlive(const Identity& identity);
/// The same for what a state.json names: an Identity of this boot.
bool isAlive(const Identity& identity, const std::string& boot);

/// Sends `signal` to exactly this process (through a pidfd where the kernel has them); false where
/// it is gone or not ours.
bool sendSignal(const Identity& identity, int signal);
/// Sends `signal` to the group that exactly this process leads; false where the leader is gone.
bool sendSignalToGroup(const Identity& leader, int signal);

/// Processes of this user, but not the caller, that have LOCKSTEP_RUN_ID=`run` in the environment
/// they were started with. Zombies are left out.
std::vector<ProcessFacts> processesOfRun(const std::string& run);

} // namespace lockstep::agent
