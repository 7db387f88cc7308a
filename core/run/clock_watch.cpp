// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/run/clock_watch.h"

#include <algorithm>

namespace lockstep::run {

namespace {

/// Below this it may be the way of the message, and moves no line that matters.
constexpr double kNoise = 0.05;
/// Beyond this a clock was set.
constexpr double kJump = 1.0;
constexpr int kLastingSamples = 5;
constexpr auto kLastingFor = std::chrono::seconds(4);

} // namespace

std::optional<ClockOffset> ClockWatch::seen(double hostTime, double ourTime,
                                            std::chrono::steady_clock::time_point now) {
    const double ahead = hostTime - ourTime;
    const bool isNew = m_samples < kFirstSamples;
    const bool isFirst = m_samples == 0;
    m_samples += isNew ? 1 : 0;
    if (isFirst || ahead > m_ahead + kNoise) {
        m_lower = 0;
        const bool wasSet = !isNew && ahead > m_ahead + kJump;
        const bool matters = ahead > m_ahead + kNoise || ahead < m_ahead - kNoise;
        if (!matters)
            return std::nullopt;
        m_ahead = ahead;
        return ClockOffset{wasSet ? std::optional(hostTime) : std::nullopt, ahead};
    }
    if (ahead > m_ahead - kJump) {
        m_lower = 0;
        return std::nullopt;
    }
    // Late, or set back: late ones come close upon each other once the connection is back.
    if (m_lower++ == 0) {
        m_lowerBest = ahead;
        m_lowerSince = hostTime;
        m_lowerBegan = now;
    }
    m_lowerBest = std::max(m_lowerBest, ahead);
    if (m_lower < kLastingSamples || now - m_lowerBegan < kLastingFor)
        return std::nullopt;
    m_lower = 0;
    m_ahead = m_lowerBest;
    return ClockOffset{m_lowerSince, m_ahead};
}

} // namespace lockstep::run
