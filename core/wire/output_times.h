// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// When a program printed what: a small file beside each log, written by the host while the log
// grows, so that the log itself stays what the program wrote. Text, one line a growth: "<bytes>
// <milliseconds>", how much longer the log was and how much later than the line before; the first
// line's time counts from 1970 (UTC, the host's clock). A line without its LF is not yet one.
// Plain data: no thread rules.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::wire {

/// Gives the lines of the file.
class OutputTimesWriter {
public:
    /// The log has `size` bytes at `utcSeconds`; "" where it did not grow.
    std::string grown(std::int64_t size, double utcSeconds);

private:
    std::int64_t m_size = 0;
    std::int64_t m_milliseconds = 0;
};

/// Reads them, in pieces of any size.
class OutputTimes {
public:
    void add(std::string_view bytes);
    /// Bytes of the log whose time is known.
    std::int64_t known() const { return m_known; }
    /// When the log first had `size` bytes, in UTC seconds; nothing where that is not known (yet).
    std::optional<double> at(std::int64_t size) const;

private:
    struct Growth {
        std::int64_t size;
        std::int64_t milliseconds;
    };

    void take(std::string_view line);

    std::string m_rest;
    std::vector<Growth> m_growths;
    std::int64_t m_known = 0;
    bool m_isBroken = false;
};

} // namespace lockstep::wire
