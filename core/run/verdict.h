// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// From everything that was seen of a failure to the one cause. Pure functions.

#include "core/agent/protocol.h"
#include "core/run/run_record.h"
#include "core/wire/event.h"

#include <optional>
#include <string>
#include <vector>

namespace lockstep::run {

/// One thing that was seen.
struct Evidence {
    double time = 0;     ///< UTC seconds on the witness' clock
    std::string witness; ///< the task that shows or says it
    std::string task;    ///< the one to blame
    std::string reason;  ///< a full sentence
    bool isOwn = false;  ///< the task's own end or confession, not a peer's word about it
    bool operator==(const Evidence&) const = default;
};

/// What a worker's last word says; nothing for one that was stopped.
std::optional<Evidence> evidenceOf(const std::string& task, double time, const wire::Failed& event);
/// What the end of a process says; nothing for exit code 0 and while it runs. `said` is the Failed
/// event of the task, if there was one: its exit code then adds nothing.
std::optional<Evidence> evidenceOf(const agent::ProcessState& state,
                                   const std::optional<wire::Failed>& said);

/// The earliest own evidence: the first worker that died shows it, those after it only complain.
/// Where there is none (a frozen worker shows nothing), the earliest word about a peer.
std::optional<Evidence> earliestCause(const std::vector<Evidence>& all);

} // namespace lockstep::run
