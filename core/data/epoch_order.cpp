// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/data/epoch_order.h"

#include "core/base/failure.h"

#include <algorithm>

namespace lockstep::data {

namespace {

/// Reader 0 has the seed itself; each other one a seed of its own, drawn under a stream number that
/// no epoch has.
std::uint64_t seedOf(std::uint64_t seed, int reader) {
    if (reader == 0)
        return seed;
    const PhiloxBlock block = philox(seed, {static_cast<std::uint32_t>(reader), 0, 0xFFFFFFFFu,
                                            static_cast<std::uint32_t>(RandomUse::Shuffle)});
    return block[0] | (std::uint64_t{block[1]} << 32);
}

} // namespace

EpochOrder::EpochOrder(std::int64_t rows, std::int64_t buffer, std::uint64_t seed)
    : m_rows(rows)
    , m_buffer(std::min(rows, buffer > 1 ? buffer : 0))
    , m_seed(seed)
    , m_random(seed, RandomUse::Shuffle) {
    m_held.reserve(static_cast<std::size_t>(m_buffer));
}

void EpochOrder::start(int epoch, int reader) {
    m_random =
        PhiloxStream(seedOf(m_seed, reader), RandomUse::Shuffle, static_cast<std::uint32_t>(epoch));
    m_held.clear();
    for (m_input = 0; m_input < m_buffer; ++m_input)
        m_held.push_back(m_input);
}

std::int64_t EpochOrder::next() {
    if (m_buffer == 0) {
        LOCKSTEP_CHECK(m_input < m_rows, "[epoch order] more than " << m_rows << " rows asked for");
        return m_input++;
    }
    LOCKSTEP_CHECK(!m_held.empty(), "[epoch order] more than " << m_rows << " rows asked for");
    std::int64_t& slot = m_held[m_random.nextBelow(m_held.size())];
    const std::int64_t row = slot;
    if (m_input < m_rows) {
        slot = m_input++;
    } else {
        slot = m_held.back();
        m_held.pop_back();
    }
    return row;
}

void EpochOrder::skip(std::int64_t count) {
    if (m_buffer == 0) {
        m_input += count;
        return;
    }
    for (std::int64_t i = 0; i < count; ++i)
        next();
}

} // namespace lockstep::data
