// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The workers of one attempt of a run, joined, and what they do together.
// Threads: collectives are submitted by one thread at a time, in the same order on every rank; one
// communication thread executes them in that order, a monitor thread keeps the heartbeats.
// abort() and verdict() are safe from any thread.
// Failure: a lost, silent or stalled peer ends the group: every Work and every later call throws
// Failure{PeerLost|TimedOut|Cancelled}, and verdict() says who and how. The group must then be
// dropped; its destructor returns within about a second.
// Bit-equal: chunk bounds and the order of additions depend on (elements, size) only, so all ranks
// hold the same bits and two runs give the same bits.

#include "core/collective/verdict.h"
#include "core/collective/work.h"

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lockstep::collective {

enum class Farewell { Failed, Stopped };

class Group {
public:
    virtual ~Group() = default;
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;

    virtual int rank() const = 0;
    virtual int size() const = 0;

    /// Sums `values` over all ranks, in place, without blocking. values: [n], the same n on every
    /// rank, n = 0 allowed; it must stay alive and untouched until the Work is done.
    /// Cost: 2·(size-1)/size · bytes sent and received per rank.
    virtual Work allReduceSum(std::span<float> values) = 0;
    virtual Work allReduceSum(std::span<double> values) = 0;

    /// Blocks until `bytes` holds what the root holds. The same length on every rank.
    virtual void broadcast(std::span<std::byte> bytes, int root) = 0;
    /// One block per rank, in rank order; `mine` has the same length on every rank. Meant for small
    /// things: digests, decisions, counts.
    virtual std::vector<std::vector<std::byte>> allGather(std::span<const std::byte> mine) = 0;
    /// Returns after every rank has entered it.
    virtual void barrier() = 0;

    /// The exit barrier: waits (while heartbeats go on) until every rank is done; after it, closing
    /// is no failure. Throws like a collective, TimedOut after `timeout`.
    virtual void leave(std::chrono::milliseconds timeout = std::chrono::minutes(10)) = 0;

    /// Says farewell, so that the peers name this task with `reason` ("cannot read rows.csv: …")
    /// instead of calling it killed. The group has ended. Returns within about a second; no-op
    /// where the group has already ended.
    virtual void abort(Farewell kind, const std::string& reason) = 0;

    /// Empty while all is well and after leave().
    virtual std::optional<Verdict> verdict() const = 0;

protected:
    Group() = default;
};

} // namespace lockstep::collective
