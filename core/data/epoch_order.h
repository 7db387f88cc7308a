// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The order of rows in an epoch: a shuffle buffer over the rows' own order, a function of seed,
// epoch and reader alone. It knows places and no rows, so a restore replays it without decoding.

#include "core/base/philox.h"

#include <cstdint>
#include <vector>

namespace lockstep::data {

/// One thread at a time. Allocates in the first start() only, for the same sizes.
class EpochOrder {
public:
    /// buffer: rows that the shuffle buffer holds; 0 or 1 keeps the order, buffer >= rows is a full
    /// permutation (Fisher and Yates).
    EpochOrder(std::int64_t rows, std::int64_t buffer, std::uint64_t seed);

    /// Begins epoch `epoch` (from 1). `reader` 0 is the order that all ranks share; under OFF each
    /// rank has its own (reader = rank), since equal rows on all replicas would add nothing.
    void start(int epoch, int reader = 0);
    /// The next row's place, 0 <= place < rows; exactly `rows` calls an epoch.
    std::int64_t next();
    void skip(std::int64_t count);

private:
    std::int64_t m_rows;
    std::int64_t m_buffer;
    std::uint64_t m_seed;
    std::int64_t m_input = 0; ///< next row to enter the buffer
    std::vector<std::int64_t> m_held;
    PhiloxStream m_random;
};

} // namespace lockstep::data
