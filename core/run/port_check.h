// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Whether a worker could listen on this machine, asked before any is started.

#include "core/cluster/address.h"

#include <optional>
#include <string>

namespace lockstep::run {

/// Who listens on a port of this machine.
struct PortOwner {
    int pid = 0;         ///< 0 where another user's process hides it
    std::string command; ///< "python3"
    std::string runId;   ///< where it is a process of a run of ours
};
std::optional<PortOwner> portOwner(int port);

/// Nothing where a socket could be bound to the address and listen. Else why not, a full sentence
/// with the owner. Names that are not numbers are not looked up: any address of the machine is
/// tried for them.
std::optional<std::string> whyNotListen(const cluster::Address& address);

/// `count` ports in a row at which 127.0.0.1 can listen now, the first of them; from `from` up.
/// Nothing where there are none.
std::optional<int> findFreePorts(int count, int from = 20'000);

} // namespace lockstep::run
