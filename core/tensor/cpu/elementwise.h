// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Loops over elements on the processor. Sizes are checked by the caller.

#include "core/tensor/backend.h"

#include <span>

namespace lockstep::tensor::detail {

void activate(const Activation& f, std::span<const float> x, std::span<float> y,
              std::int64_t width);
void activateBackward(const Activation& f, std::span<const float> x, std::span<const float> y,
                      std::span<const float> dy, std::span<float> dx, std::int64_t width);
void multiply(std::span<const float> x, std::span<const float> y, std::span<float> z);
void columnSums(std::span<const float> x, std::span<float> sums);

} // namespace lockstep::tensor::detail
