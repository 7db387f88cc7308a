// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Which elements dropout keeps: a function of job seed, layer, step, the row's index in the global
// batch and element, never of rank, so that any number of replicas drops the same.

#include <cstdint>
#include <span>

namespace lockstep::nn::detail {

/// What tells the elements of one layer in one step apart from all others.
struct DropoutPlace {
    std::uint64_t seed = 0;
    std::uint32_t layer = 0;
    std::uint64_t step = 0;
    std::uint64_t row = 0; ///< of the first row of the mask, in the global batch
};

/// mask is [rows, width]: 0 where dropped, else 1 / (1 - rate).
void fillDropoutMask(const DropoutPlace& place, double rate, std::size_t width,
                     std::span<float> mask);

} // namespace lockstep::nn::detail
