// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The variables of one replica in one flat buffer, and their gradients in another.
// Note [Flat order]: trainable variables lie in the order in which backward finishes their
// gradients: the last layer first; within a layer kernel, then bias. So a prefix of the gradients
// is complete at any time of backward. Frozen variables lie behind them. The model's order is that
// of variables(), for names, export and digest.

#include "core/nn/compile.h"
#include "core/nn/graph.h"
#include "core/tensor/buffer.h"
#include "core/tensor/dtype.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lockstep::nn {

struct Variable {
    std::string name; ///< "<layer>/kernel", "<layer>/bias"
    Shape shape;
    std::size_t offset = 0; ///< first element in Network::values()
    std::size_t size = 0;   ///< elements
    std::size_t layer = 0;  ///< index in Graph::layers()
    bool trainable = true;
    tensor::DType dtype = tensor::DType::Float32;
};

/// Not movable: plans hold addresses into it.
class Network {
public:
    /// Lays out and initializes every variable from `seed` (the job's). Throws
    /// Failure{OutOfMemory}.
    Network(Graph graph, CompileSpec compile, std::uint64_t seed);
    Network(const Network&) = delete;
    Network& operator=(const Network&) = delete;

    const Graph& graph() const { return m_graph; }
    const CompileSpec& compile() const { return m_compile; }
    std::uint64_t seed() const { return m_seed; }

    /// All variables: trainable ones in flat order, then frozen ones. Broadcast this at the start.
    std::span<float> values() { return m_values.span(); }
    std::span<const float> values() const { return m_values.span(); }
    /// The part of values() that the optimizer updates.
    std::span<float> trainables() { return m_values.span().first(m_gradients.size()); }
    /// As trainables(). Written by Plan::backward.
    std::span<float> gradients() { return m_gradients.span(); }

    /// In model order.
    const std::vector<Variable>& variables() const { return m_variables; }
    std::span<float> valuesOf(const Variable& v) { return values().subspan(v.offset, v.size); }
    std::span<const float> valuesOf(const Variable& v) const {
        return values().subspan(v.offset, v.size);
    }
    /// The variable of that name, or nullptr.
    const Variable* find(const std::string& name) const;

private:
    Graph m_graph;
    CompileSpec m_compile;
    std::uint64_t m_seed;
    std::vector<Variable> m_variables;
    tensor::Buffer m_values;
    tensor::Buffer m_gradients;
};

} // namespace lockstep::nn
