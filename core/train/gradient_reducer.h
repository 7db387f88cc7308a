// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Sums the flat gradients over all ranks in buckets, each as soon as backward has completed it,
// while backward goes on. The buckets' bounds depend on sizes alone: part of what makes two runs
// equal to the bit.

#include "core/collective/group.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lockstep::train {

/// Where each bucket of `elements` floats ends. `bytesPerPack` > 0 makes all of that size; 0 makes
/// a first bucket of 256 KiB, so that the wire is busy early, and then ones of 4 MiB.
std::vector<std::size_t> bucketEnds(std::size_t elements, std::int64_t bytesPerPack);

/// One thread at a time. Throws what the group throws.
class GradientReducer {
public:
    /// `gradients` must stay alive and where it is.
    GradientReducer(collective::Group& group, std::span<float> gradients,
                    std::vector<std::size_t> ends);

    /// gradients[0, end) is complete: submits the buckets that lie in it. `end` grows in a step.
    void complete(std::size_t end);

    std::size_t buckets() const { return m_ends.size(); }
    std::size_t beginOf(std::size_t bucket) const { return bucket == 0 ? 0 : m_ends[bucket - 1]; }
    std::size_t endOf(std::size_t bucket) const { return m_ends[bucket]; }
    /// Blocks until the bucket holds the sums.
    void wait(std::size_t bucket) const { m_works[bucket].wait(); }
    /// Buckets of this step so far.
    std::size_t submitted() const { return m_works.size(); }
    const collective::Work& work(std::size_t bucket) const { return m_works[bucket]; }
    /// From the first bucket's start to the last one's end, in milliseconds; after all waits.
    double milliseconds() const;

    /// Forgets this step's buckets; the next complete() starts anew.
    void reset() { m_works.clear(); }

private:
    collective::Group& m_group;
    std::span<float> m_gradients;
    std::vector<std::size_t> m_ends;
    std::vector<collective::Work> m_works;
};

} // namespace lockstep::train
