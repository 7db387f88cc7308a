// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/wire/output_times.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace lockstep::wire {

std::string OutputTimesWriter::grown(std::int64_t size, double utcSeconds) {
    if (size <= m_size)
        return {};
    const auto milliseconds = static_cast<std::int64_t>(std::llround(utcSeconds * 1000));
    std::string line =
        std::to_string(size - m_size) + ' ' + std::to_string(milliseconds - m_milliseconds) + '\n';
    m_size = size;
    m_milliseconds = milliseconds;
    return line;
}

void OutputTimes::add(std::string_view bytes) {
    m_rest += bytes;
    std::size_t from = 0;
    for (std::size_t end = 0; (end = m_rest.find('\n', from)) != m_rest.npos; from = end + 1)
        take(std::string_view(m_rest).substr(from, end - from));
    m_rest.erase(0, from);
}

void OutputTimes::take(std::string_view line) {
    const char* end = line.data() + line.size();
    std::int64_t bytes = 0;
    std::int64_t milliseconds = 0;
    const auto first = std::from_chars(line.data(), end, bytes);
    const bool hasBoth = first.ec == std::errc() && first.ptr != end && *first.ptr == ' ';
    // Each line counts from the one before: what follows a broken one is not known.
    m_isBroken = m_isBroken || !hasBoth ||
                 std::from_chars(first.ptr + 1, end, milliseconds).ptr != end || bytes <= 0;
    if (m_isBroken)
        return;
    m_known += bytes;
    m_growths.push_back(
        {m_known, milliseconds + (m_growths.empty() ? 0 : m_growths.back().milliseconds)});
}

std::optional<double> OutputTimes::at(std::int64_t size) const {
    const auto found = std::lower_bound(
        m_growths.begin(), m_growths.end(), size,
        [](const Growth& growth, std::int64_t wanted) { return growth.size < wanted; });
    if (found == m_growths.end())
        return std::nullopt;
    return static_cast<double>(found->milliseconds) / 1000;
}

} // namespace lockstep::wire
