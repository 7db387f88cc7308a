// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// A small program's output, with a deadline.

#include <string>
#include <vector>

namespace lockstep::agent::detail {

struct Captured {
    bool started = false;
    int exitCode = -1; ///< -1: killed, by us at the deadline too
    std::string out;   ///< both outputs, at most 1 MiB
};

/// `argv[0]` is a path. The environment is ours with LC_ALL=C.
Captured capture(const std::vector<std::string>& argv, int deadlineMs);

} // namespace lockstep::agent::detail
