// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// What a Work handle and the communication thread share about one submitted collective.

#include "core/base/result.h"
#include "core/collective/work.h"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>

namespace lockstep::collective::detail {

enum class Op : std::uint8_t { SumFloats = 1, SumDoubles, Broadcast, AllGather };

struct WorkState {
    // Set before submission, read by the communication thread.
    Op op = Op::SumFloats;
    std::span<std::byte> bytes; ///< AllGather: all blocks, the own one already in its place
    int root = 0;

    std::mutex mutex;
    std::condition_variable changed;
    WorkTimes times;
    bool done = false;
    std::optional<Error> error;
};

/// Marks it done and wakes who waits.
void finish(WorkState& state, std::optional<Error> error);

} // namespace lockstep::collective::detail
