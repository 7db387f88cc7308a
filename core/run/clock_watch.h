// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// How far a host's clock is ahead of ours, from the moments that it tells while it is followed.
// What arrives is late, never early, so the largest difference seen is the best one; a clock that
// was set in mid-run is told from a connection that stalled by lasting.
// Thread: none of its own.

#include <chrono>
#include <optional>

namespace lockstep::run {

/// The host's clock is `ahead` seconds ahead from that moment of its own on.
struct ClockOffset {
    std::optional<double> since; ///< nothing: always
    double ahead = 0;
    bool operator==(const ClockOffset&) const = default;
};

class ClockWatch {
public:
    ClockWatch() = default;
    /// Goes on where an earlier one ended.
    explicit ClockWatch(double ahead)
        : m_ahead(ahead)
        , m_samples(kFirstSamples) {}

    /// The host said `hostTime` when our clock showed `ourTime`. A value where what is known
    /// changes.
    std::optional<ClockOffset> seen(double hostTime, double ourTime,
                                    std::chrono::steady_clock::time_point now);
    double ahead() const { return m_ahead; }

private:
    static constexpr int kFirstSamples = 5;

    double m_ahead = 0;
    int m_samples = 0;
    int m_lower = 0; ///< samples in a row that were far below
    double m_lowerBest = 0;
    double m_lowerSince = 0; ///< on the host's clock
    std::chrono::steady_clock::time_point m_lowerBegan;
};

} // namespace lockstep::run
