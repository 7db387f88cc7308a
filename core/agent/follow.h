// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Streams what a supervised process writes: bytes of its files from given offsets as they grow, and
// changes of its state. Holds at most one chunk in memory; looks every 40 ms.

#include "core/agent/protocol.h"

namespace lockstep::agent {

/// Writes FollowItem lines to `output` until End, and returns success also where `input` reached
/// its end or `output` was closed: then nobody listens. Corrupt where a file is shorter than its
/// offset. Files that do not exist yet are waited for. The caller ignores SIGPIPE.
Status follow(const FollowRequest& request, int input, int output);

} // namespace lockstep::agent
