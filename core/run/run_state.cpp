// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/run/run_state.h"

#include <algorithm>
#include <iterator>

namespace lockstep::run {

namespace {

constexpr const char* kNames[] = {"idle",      "validating", "preparing_hosts", "checking",
                                  "deploying", "launching",  "joining",         "training",
                                  "finishing", "stopping",   "finished",        "failed",
                                  "stopped",   "refused",    "detached"};

struct Step {
    State from;
    State to;
};

using enum State;
// A launch goes down the first group; attach enters where the record stopped.
constexpr Step kSteps[] = {
    {Idle, Validating},
    {Validating, PreparingHosts},
    {PreparingHosts, Checking},
    {Checking, Deploying},
    {PreparingHosts, Deploying}, // all on this machine
    {Deploying, Launching},
    {Launching, Joining},
    {Joining, Training},
    {Training, Finishing},
    {Finishing, Finished},
    // Found before a worker started.
    {Idle, Refused},
    {Validating, Refused},
    {PreparingHosts, Refused},
    {Checking, Refused},
    {Deploying, Refused},
    // Attaching: as writer, as reader, and to a run that is over.
    {Idle, PreparingHosts},
    {PreparingHosts, Joining},
    {Idle, Joining},
    {Idle, Finished},
    {Idle, Failed},
    {Idle, Stopped},
    {Joining, PreparingHosts}, // a reader that takes over from a writer that died
    {Training, PreparingHosts},
    {Finishing, PreparingHosts},
    {Stopping, PreparingHosts},
    // Without an event of training in between: a command job, or one with nothing to do.
    {Joining, Finishing},
    {Joining, Finished},
    {Training, Finished},
    // The end on request or after a failure.
    {Validating, Stopped},
    {PreparingHosts, Stopped},
    {Checking, Stopped},
    {Deploying, Stopped},
    {Launching, Stopping},
    {Joining, Stopping},
    {Training, Stopping},
    {Finishing, Stopping},
    {PreparingHosts, Failed}, // attaching to hosts that are gone
    {Launching, Failed},
    {Joining, Failed},
    {Training, Failed},
    {Finishing, Failed},
    {Joining, Stopped},
    {Training, Stopped},
    {Finishing, Stopped},
    {Stopping, Failed},
    {Stopping, Stopped},
    {Stopping, Finishing}, // all were through before the stop reached them
    {Stopping, Finished},
};

} // namespace

const char* stateName(State state) {
    return kNames[static_cast<std::size_t>(state)];
}

std::optional<State> stateFromName(std::string_view name) {
    for (std::size_t i = 0; i < std::size(kNames); ++i)
        if (name == kNames[i])
            return static_cast<State>(i);
    return std::nullopt;
}

bool mayFollow(State from, State to) {
    if (to == State::Detached)
        return !isFinal(from);
    return std::any_of(std::begin(kSteps), std::end(kSteps),
                       [&](const Step& step) { return step.from == from && step.to == to; });
}

bool isFinal(State state) {
    return state == State::Finished || state == State::Failed || state == State::Stopped ||
           state == State::Refused || state == State::Detached;
}

bool hasWorkers(State state) {
    return state == State::Launching || state == State::Joining || state == State::Training ||
           state == State::Finishing || state == State::Stopping;
}

} // namespace lockstep::run
