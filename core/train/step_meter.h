// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Turns single steps into at most 20 Steps events a second, in which no spike is lost, and keeps
// the sums that the Finished event reports.

#include "core/base/clock.h"
#include "core/wire/event.h"

#include <cstdint>
#include <optional>

namespace lockstep::train {

/// What one step took on this worker, in milliseconds.
struct StepTimes {
    double input = 0;
    double compute = 0;
    double allReduce = 0;
    double allReduceWait = 0;
    double update = 0;
    double total = 0;
};

struct StepRecord {
    int epoch = 1;
    std::int64_t step = 1; ///< over all epochs, from 1
    std::int64_t rows = 0;
    std::int64_t ownRows = 0;
    double loss = 0; ///< mean over the global batch
    double learningRate = 0;
    StepTimes times;
};

class StepMeter {
public:
    explicit StepMeter(const Clock& clock = Clock::system())
        : m_clock(clock) {}

    /// Adds a step; gives the event that is now due, if any.
    std::optional<wire::Steps> add(const StepRecord& record);
    /// The event for the steps not yet reported. Call at every epoch end: an event never spans two.
    std::optional<wire::Steps> flush();

    /// Sums over steps 2 to now, as Finished reports them; its digest is left empty.
    wire::Finished summary() const;

private:
    const Clock& m_clock;
    std::optional<wire::Steps> m_open;
    std::int64_t m_openSteps = 0;
    Monotonic::time_point m_lastEvent{};
    std::int64_t m_steps = 0;
    std::int64_t m_laterRows = 0;
    StepTimes m_laterSums; ///< over steps 2 to now
};

} // namespace lockstep::train
