// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Reads host lists as people type or paste them: commas, blanks or lines between entries, blanks
// anywhere, a trailing comma, "host:port", "host:slots", "host slots=2", user@host, brackets.

#include "core/base/problem.h"
#include "core/cluster/cluster_spec.h"

#include <string_view>
#include <vector>

namespace lockstep::cluster {

/// What the number after a host means.
enum class HostNumber {
    Guess, ///< slots where every number is at most 64, else ports
    Port,
    Slots, ///< so many workers on that host, with ports from `firstPort` up
};

struct HostListProblem {
    Problem problem; ///< `line` is set
    int column = 1;  ///< 1-based, in characters
};

struct HostList {
    HostNumber number = HostNumber::Guess; ///< what the numbers were taken for
    std::vector<Worker> workers;           ///< of the entries without an error, in order
    std::vector<HostListProblem> problems;
};

/// An entry without a number is one worker at `firstPort`. This machine's own names (localhost,
/// loopback addresses) become workers without SSH.
HostList readHostList(std::string_view text, HostNumber number = HostNumber::Guess,
                      int firstPort = 2222);

} // namespace lockstep::cluster
