// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/clock.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>

namespace lockstep {

namespace {

class SystemClock final : public Clock {
public:
    Monotonic::time_point now() const override { return Monotonic::now(); }
    double utcSeconds() const override {
        const auto since = std::chrono::system_clock::now().time_since_epoch();
        return std::chrono::duration<double>(since).count();
    }
};

// Times also come from files and other hosts: what no calendar holds becomes its nearest end, and
// NaN its beginning.
double clamped(double utcSeconds) {
    constexpr double kYear1 = -62135596800.0;
    constexpr double kEndOfYear9999 = 253402300799.0;
    return utcSeconds >= kYear1 ? std::min(utcSeconds, kEndOfYear9999) : kYear1;
}

std::tm brokenDown(double utcSeconds) {
    const auto whole = static_cast<std::time_t>(std::floor(utcSeconds));
    std::tm parts{};
    ::gmtime_r(&whole, &parts);
    return parts;
}

} // namespace

const Clock& Clock::system() {
    static const SystemClock clock;
    return clock;
}

std::string isoTime(double utcSeconds) {
    const double rounded = std::floor(clamped(utcSeconds) * 1000.0 + 0.5) / 1000.0;
    const std::tm t = brokenDown(rounded);
    const int milli = static_cast<int>(std::lround((rounded - std::floor(rounded)) * 1000.0));
    char text[64];
    std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", t.tm_year + 1900,
                  t.tm_mon + 1, t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec, milli);
    return text;
}

std::string compactTime(double utcSeconds) {
    const std::tm t = brokenDown(clamped(utcSeconds));
    char text[64];
    std::snprintf(text, sizeof text, "%04d%02d%02dT%02d%02d%02dZ", t.tm_year + 1900, t.tm_mon + 1,
                  t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec);
    return text;
}

} // namespace lockstep
