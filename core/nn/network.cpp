// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/nn/network.h"

namespace lockstep::nn {

namespace {

/// In model order, without offsets.
std::vector<Variable> listVariables(const Graph& graph) {
    std::vector<Variable> variables;
    for (std::size_t i = 0; i < graph.layers().size(); ++i) {
        const Layer& layer = graph.layers()[i];
        const auto* dense = std::get_if<DenseConfig>(&layer.config);
        if (!dense)
            continue;
        const auto add = [&](const char* name, Shape shape) {
            Variable variable;
            variable.name = layer.name + "/" + name;
            variable.size = static_cast<std::size_t>(shape.elements());
            variable.shape = std::move(shape);
            variable.layer = i;
            variable.trainable = layer.trainable;
            variables.push_back(std::move(variable));
        };
        add("kernel", Shape{layer.input.last(), dense->units});
        if (dense->useBias)
            add("bias", Shape{dense->units});
    }
    return variables;
}

/// Gives every variable its place, see Note [Flat order]; returns the trainable elements.
std::size_t placeVariables(std::vector<Variable>& variables) {
    std::size_t end = 0;
    std::size_t trainable = 0;
    for (const bool pass : {true, false}) {
        for (std::size_t last = variables.size(); last > 0;) {
            std::size_t first = last - 1;
            while (first > 0 && variables[first - 1].layer == variables[last - 1].layer)
                --first;
            for (std::size_t i = first; i < last; ++i)
                if (variables[i].trainable == pass) {
                    variables[i].offset = end;
                    end += variables[i].size;
                }
            last = first;
        }
        if (pass)
            trainable = end;
    }
    return trainable;
}

} // namespace

Network::Network(Graph graph, CompileSpec compile, std::uint64_t seed)
    : m_graph(std::move(graph))
    , m_compile(std::move(compile))
    , m_seed(seed)
    , m_variables(listVariables(m_graph)) {
    m_gradients = tensor::Buffer(placeVariables(m_variables));
    m_values = tensor::Buffer(static_cast<std::size_t>(m_graph.parameters()));
    for (std::size_t i = 0; i < m_variables.size(); ++i) {
        const Variable& variable = m_variables[i];
        const auto& dense = std::get<DenseConfig>(m_graph.layers()[variable.layer].config);
        initialize(variable.shape.rank() == 1 ? dense.bias : dense.kernel, variable.shape, seed,
                   static_cast<std::uint32_t>(i), valuesOf(variable));
    }
}

const Variable* Network::find(const std::string& name) const {
    for (const Variable& variable : m_variables)
        if (variable.name == name)
            return &variable;
    return nullptr;
}

} // namespace lockstep::nn
