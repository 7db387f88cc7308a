// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/nn/detail/dropout.h"

#include "core/base/philox.h"

#include <algorithm>

namespace lockstep::nn::detail {

void fillDropoutMask(const DropoutPlace& place, double rate, std::size_t width,
                     std::span<float> mask) {
    const float kept = rate < 1 ? static_cast<float>(1 / (1 - rate)) : 0.0f;
    const auto dropped = static_cast<std::uint64_t>(rate * 0x1.0p32);
    // The counter has four words: block of four elements, row, step, and use with layer.
    const std::uint64_t key = place.seed ^ (place.step >> 32 << 32);
    const std::uint32_t use = static_cast<std::uint32_t>(RandomUse::Dropout) | place.layer << 8;
    std::uint64_t row = place.row;
    for (std::size_t from = 0; from < mask.size(); from += width, ++row)
        for (std::size_t i = 0; i < width; i += 4) {
            const PhiloxBlock block =
                philox(key, {static_cast<std::uint32_t>(i / 4), static_cast<std::uint32_t>(row),
                             static_cast<std::uint32_t>(place.step), use});
            for (std::size_t j = 0; j < std::min<std::size_t>(4, width - i); ++j)
                mask[from + i + j] = block[j] < dropped ? 0.0f : kept;
        }
}

} // namespace lockstep::nn::detail
