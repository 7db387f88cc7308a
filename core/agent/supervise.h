// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Starts a process that outlives whoever asked for it. A supervisor (a second process, in a session
// of its own, ignoring hang-ups) holds it in a process group, writes state.json, kills what it
// leaves behind and writes the exit record. If the supervisor dies, the kernel kills the process.

#include "core/agent/protocol.h"

namespace lockstep::agent {

/// Returns once the program was executed, or why it was not (state.json then says so too):
/// AlreadyExists where a process of this folder lives, PermissionDenied, NotFound, ….
/// Forks: call it from a process with one thread. The supervisor never returns from it.
Result<SuperviseReply> supervise(const SuperviseRequest& request);

} // namespace lockstep::agent
