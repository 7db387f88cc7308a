// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/train/step_meter.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace lockstep::train {

namespace {

constexpr std::chrono::milliseconds kEventSpacing{50};

/// Sums into `mean` until flush() divides. A NaN stays in the mean and never hides a minimum.
void include(wire::Stat& stat, double value, bool isFirst) {
    if (isFirst) {
        stat = {value, value, value};
        return;
    }
    stat.mean += value;
    stat.min = std::fmin(stat.min, value);
    stat.max = std::fmax(stat.max, value);
}

} // namespace

std::optional<wire::Steps> StepMeter::add(const StepRecord& record) {
    const bool isFirst = !m_open;
    if (isFirst) {
        m_open.emplace();
        m_open->epoch = record.epoch;
        m_open->first = record.step;
        m_openSteps = 0;
    }
    wire::Steps& open = *m_open;
    ++m_openSteps;
    open.last = record.step;
    open.rows += record.rows;
    open.ownRows += record.ownRows;
    open.seconds += record.times.total / 1000.0;
    open.learningRate = record.learningRate;
    include(open.loss, record.loss, isFirst);
    include(open.inputMs, record.times.input, isFirst);
    include(open.computeMs, record.times.compute, isFirst);
    include(open.allReduceMs, record.times.allReduce, isFirst);
    include(open.allReduceWaitMs, record.times.allReduceWait, isFirst);
    include(open.updateMs, record.times.update, isFirst);
    include(open.totalMs, record.times.total, isFirst);

    if (++m_steps > 1) {
        m_laterRows += record.rows;
        m_laterSums.input += record.times.input;
        m_laterSums.compute += record.times.compute;
        m_laterSums.allReduceWait += record.times.allReduceWait;
        m_laterSums.update += record.times.update;
        m_laterSums.total += record.times.total;
    }

    if (m_clock.now() - m_lastEvent < kEventSpacing)
        return std::nullopt;
    return flush();
}

std::optional<wire::Steps> StepMeter::flush() {
    if (!m_open)
        return std::nullopt;
    wire::Steps event = *m_open;
    const auto count = static_cast<double>(m_openSteps);
    for (wire::Stat* stat : {&event.loss, &event.inputMs, &event.computeMs, &event.allReduceMs,
                             &event.allReduceWaitMs, &event.updateMs, &event.totalMs})
        stat->mean /= count;
    m_open.reset();
    m_lastEvent = m_clock.now();
    return event;
}

wire::Finished StepMeter::summary() const {
    wire::Finished finished;
    finished.steps = m_steps;
    finished.rows = m_laterRows;
    finished.seconds = m_laterSums.total / 1000.0;
    const double later = std::max<double>(1.0, static_cast<double>(m_steps - 1));
    finished.inputMs = m_laterSums.input / later;
    finished.computeMs = m_laterSums.compute / later;
    finished.allReduceWaitMs = m_laterSums.allReduceWait / later;
    finished.updateMs = m_laterSums.update / later;
    finished.totalMs = m_laterSums.total / later;
    return finished;
}

} // namespace lockstep::train
