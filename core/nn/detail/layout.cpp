// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/nn/detail/layout.h"

#include "core/tensor/buffer.h"

#include <algorithm>

namespace lockstep::nn::detail {

namespace {

class Arena {
public:
    Block take(std::size_t size) {
        constexpr std::size_t unit = tensor::Buffer::alignment / sizeof(float);
        const Block block{m_end, size};
        m_end += (size + unit - 1) / unit * unit;
        return block;
    }
    std::size_t end() const { return m_end; }

private:
    std::size_t m_end = 0;
};

/// The computations of the layers in order, without places.
std::vector<Step> listSteps(const Graph& graph, std::int64_t rows, Mode mode) {
    std::vector<Step> steps;
    for (std::size_t i = 0; i < graph.layers().size(); ++i) {
        const Layer& layer = graph.layers()[i];
        Step step;
        step.layer = i;
        step.width = layer.output.last();
        step.x.size = static_cast<std::size_t>(rows * layer.input.elements());
        step.y.size = static_cast<std::size_t>(rows * layer.output.elements());
        const auto addActivation = [&](const Activation& activation) {
            if (activation == Activation{})
                return;
            step.kind = StepKind::Activation;
            step.activation = activation;
            step.x.size = step.y.size;
            steps.push_back(step);
        };
        if (const auto* dense = std::get_if<DenseConfig>(&layer.config)) {
            step.positions = rows * layer.output.elements() / dense->units;
            steps.push_back(step);
            addActivation(dense->activation);
        } else if (const auto* activation = std::get_if<ActivationConfig>(&layer.config)) {
            addActivation(activation->activation);
        } else if (const auto* dropout = std::get_if<DropoutConfig>(&layer.config);
                   dropout && dropout->rate > 0 && mode == Mode::Training) {
            step.kind = StepKind::Dropout;
            steps.push_back(step);
        }
    }
    return steps;
}

std::size_t largestOutput(const std::vector<Step>& steps) {
    std::size_t size = 0;
    for (const Step& step : steps)
        size = std::max(size, step.y.size);
    return size;
}

/// In training every output is kept for backward; in evaluation two blocks take turns.
void placeOutputs(Layout& layout, Mode mode, Arena& arena) {
    const std::size_t largest = mode == Mode::Training ? 0 : largestOutput(layout.steps);
    const Block turns[2] = {arena.take(largest), arena.take(largest)};
    Block current = layout.features;
    for (std::size_t i = 0; i < layout.steps.size(); ++i) {
        Step& step = layout.steps[i];
        step.x = current;
        step.y = mode == Mode::Training ? arena.take(step.y.size)
                                        : Block{turns[i % 2].offset, step.y.size};
        if (step.kind == StepKind::Dropout)
            step.mask = arena.take(step.y.size);
        current = step.y;
    }
    layout.output = current;
}

/// Two blocks take turns: a product's dx lies in the other one, all others work in place. Backward
/// stops at the first layer with something to train.
void placeGradients(Layout& layout, const Graph& graph, bool skipLast, Arena& arena) {
    std::size_t first = 0;
    while (first < layout.steps.size()) {
        const Step& step = layout.steps[first];
        if (step.kind == StepKind::Product && graph.layers()[step.layer].trainable)
            break;
        ++first;
    }
    const std::size_t largest = largestOutput(layout.steps);
    const Block turns[2] = {arena.take(largest), arena.take(largest)};
    std::size_t turn = 0;
    layout.lossGradient = {turns[0].offset, layout.prediction.size};
    for (std::size_t i = layout.steps.size() - (skipLast ? 1 : 0); i > first;) {
        Step& step = layout.steps[--i];
        step.hasGradient = true;
        step.hasInputGradient = i > first;
        step.dy = {turns[turn].offset, step.y.size};
        if (step.kind == StepKind::Product)
            turn = 1 - turn;
        step.dx = {turns[turn].offset, step.x.size};
    }
}

} // namespace

Layout layOut(const Graph& graph, const CompileSpec& compile, std::int64_t rows, Mode mode) {
    Layout layout;
    Arena arena;
    layout.features = arena.take(static_cast<std::size_t>(rows * graph.features()));
    layout.labels = arena.take(static_cast<std::size_t>(rows * compile.labels.columns));
    layout.steps = listSteps(graph, rows, mode);
    placeOutputs(layout, mode, arena);
    const bool before = compile.loss.beforeActivation;
    layout.prediction = before ? layout.steps.back().x : layout.output;
    if (mode == Mode::Training)
        placeGradients(layout, graph, before, arena);
    layout.size = arena.end();
    return layout;
}

} // namespace lockstep::nn::detail
