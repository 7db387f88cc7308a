// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Time. Durations come from the monotonic clock, moments are UTC seconds since 1970.

#include <chrono>
#include <cstdint>
#include <string>

namespace lockstep {

using Monotonic = std::chrono::steady_clock;

/// Where "now" comes from; tests put their own hands on it. Thread-safe.
class Clock {
public:
    virtual ~Clock() = default;
    virtual Monotonic::time_point now() const = 0;
    virtual double utcSeconds() const = 0;
    static const Clock& system();
};

/// "2026-01-31T08:14:03.123Z" (ISO 8601, UTC, milliseconds).
std::string isoTime(double utcSeconds);
/// "20260131T081403Z": for names of files and runs.
std::string compactTime(double utcSeconds);

} // namespace lockstep
