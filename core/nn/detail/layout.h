// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Where everything of a plan lies in its arena. Offsets and sizes are in floats, every block starts
// at a multiple of 64 bytes.

#include "core/nn/compile.h"
#include "core/nn/graph.h"
#include "core/nn/plan.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep::nn::detail {

struct Block {
    std::size_t offset = 0;
    std::size_t size = 0;
};

enum class StepKind { Product, Activation, Dropout };

/// One computation: y = f(x) forward; dy to dx backward.
struct Step {
    StepKind kind = StepKind::Product;
    std::size_t layer = 0;
    Activation activation;      ///< Activation
    std::int64_t width = 1;     ///< of y's last axis
    std::int64_t positions = 0; ///< Product: rows of the matrix
    Block x;
    Block y;
    Block mask; ///< Dropout
    Block dy;   ///< the gradient of y, where backward comes here
    Block dx;
    bool hasGradient = false;      ///< backward comes here
    bool hasInputGradient = false; ///< and goes on below
};

struct Layout {
    std::vector<Step> steps;
    Block features;
    Block labels;
    Block output;       ///< after the last activation
    Block prediction;   ///< what the loss looks at: output, or what enters the last activation
    Block lossGradient; ///< gradient of prediction
    std::size_t size = 0;
};

/// rows >= 0.
Layout layOut(const Graph& graph, const CompileSpec& compile, std::int64_t rows, Mode mode);

} // namespace lockstep::nn::detail
