// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Losses and metrics over the rows of an output. Predictions are [positions, width], labels the
// same or, for the sparse kinds, [positions]. Source of the formulas: keras/src/losses/losses.py
// and keras/src/backend/tensorflow/nn.py.

#include "core/nn/compile.h"
#include "core/nn/plan.h"

#include <cstdint>
#include <span>

namespace lockstep::nn::detail {

/// Sum over positions of the loss's elements. Throws Failure{InvalidArgument} for a label that is
/// no class.
double lossSum(const LossSpec& loss, std::span<const float> predictions,
               std::span<const float> labels, std::int64_t width);

/// gradient = scale * d(lossSum) / d(predictions).
void lossGradient(const LossSpec& loss, std::span<const float> predictions,
                  std::span<const float> labels, std::int64_t width, float scale,
                  std::span<float> gradient);

MetricSum metricSum(const MetricSpec& metric, std::span<const float> predictions,
                    std::span<const float> labels, std::int64_t width);

} // namespace lockstep::nn::detail
