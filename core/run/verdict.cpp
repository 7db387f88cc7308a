// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/run/verdict.h"

#include <algorithm>
#include <csignal>

namespace lockstep::run {

std::optional<Evidence> evidenceOf(const std::string& task, double time,
                                   const wire::Failed& event) {
    if (event.verdict == "stopped")
        return std::nullopt;
    const std::string blamed = event.task.empty() ? task : event.task;
    return Evidence{time, task, blamed, event.reason, blamed == task};
}

std::optional<Evidence> evidenceOf(const agent::ProcessState& state,
                                   const std::optional<wire::Failed>& said) {
    const bool isOver = state.phase != agent::Phase::Running;
    const bool killed = state.signal.has_value();
    if (!isOver || (state.exitCode == 0 && !killed && !state.problem))
        return std::nullopt;
    if (said && !killed && !state.problem)
        return std::nullopt;
    std::string reason =
        state.task + " ended before its work was done: " + agent::describe(state) + ".";
    if (state.signal == SIGKILL)
        reason += " Somebody killed it, or the kernel did because memory ran out on its host; the "
                  "kernel's log there says so.";
    return Evidence{state.endedAt.value_or(0), state.task, state.task, reason, true};
}

std::optional<Evidence> earliestCause(const std::vector<Evidence>& all) {
    const auto before = [](const Evidence& a, const Evidence& b) {
        return a.isOwn != b.isOwn ? a.isOwn : a.time < b.time;
    };
    const auto first = std::min_element(all.begin(), all.end(), before);
    if (first == all.end())
        return std::nullopt;
    return *first;
}

} // namespace lockstep::run
