// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/nn/graph.h"

namespace lockstep::nn {

std::int64_t Layer::parameters() const {
    const auto* dense = std::get_if<DenseConfig>(&config);
    return dense ? (input.last() + (dense->useBias ? 1 : 0)) * dense->units : 0;
}

std::int64_t Graph::parameters() const {
    std::int64_t sum = 0;
    for (const Layer& layer : m_layers)
        sum += layer.parameters();
    return sum;
}

std::int64_t Graph::trainableParameters() const {
    std::int64_t sum = 0;
    for (const Layer& layer : m_layers)
        sum += layer.trainable ? layer.parameters() : 0;
    return sum;
}

Activation Graph::lastActivation() const {
    const Layer& last = m_layers.back();
    if (const auto* dense = std::get_if<DenseConfig>(&last.config))
        return dense->activation;
    if (const auto* activation = std::get_if<ActivationConfig>(&last.config))
        return activation->activation;
    return {};
}

} // namespace lockstep::nn
