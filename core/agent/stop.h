// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Ends all processes of a run on this machine and makes sure that none is left, also none that left
// its process group or ignores SIGTERM.

#include "core/agent/protocol.h"

namespace lockstep::agent {

/// Blocks for at most the grace time and about ten seconds. Nothing is signalled by its number
/// alone: start time and boot id of a state.json must match, or the environment must name the run.
StopReply stop(const StopRequest& request);

} // namespace lockstep::agent
