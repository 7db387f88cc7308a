// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Keras 3's update rules on slices of the flat buffers. Every rank that applies the same gradients
// with the same scalars gets the same bits on any processor: only + - * / sqrt, no contraction.
// Source: keras/src/optimizers/{sgd,adam,base_optimizer}.py.

#include "core/nn/compile.h"
#include "core/tensor/buffer.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace lockstep::nn {

/// The numbers of one step that need more than arithmetic. The chief computes them and every rank
/// uses the chief's bits.
struct StepScalars {
    float rate = 0.0f;  ///< learning rate of this step
    float alpha = 0.0f; ///< Adam: rate * sqrt(1 - beta2^t) / (1 - beta1^t); else rate
};
static_assert(std::is_trivially_copyable_v<StepScalars> && sizeof(StepScalars) == 8);

/// `iterations`: updates made before this one (0 for the first). `rate` after warm-up and scaling.
/// In float32 as Keras computes it.
StepScalars stepScalars(const OptimizerSpec& spec, double rate, std::uint64_t iterations);

class Optimizer {
public:
    /// Slots for `size` trainable elements.
    Optimizer(OptimizerSpec spec, std::size_t size);

    const OptimizerSpec& spec() const { return m_spec; }
    /// Updates values[begin, end) from gradients[begin, end); both spans are the whole flat
    /// buffers. Slices may come in any order and on any one thread at a time. May change the
    /// gradients.
    void apply(const StepScalars& scalars, std::span<float> values, std::span<float> gradients,
               std::size_t begin, std::size_t end);

    struct Slot {
        std::string name; ///< Keras': "momentum", "velocity", "velocity_hat"
        tensor::Buffer values;
    };
    /// In Keras' order, each flat like the gradients: for checkpoints.
    std::vector<Slot>& slotBuffers() { return m_slots; }
    const std::vector<Slot>& slotBuffers() const { return m_slots; }

private:
    OptimizerSpec m_spec;
    std::size_t m_size;
    std::vector<Slot> m_slots;
};

/// Bytes of slots per trainable element.
std::size_t slotBytesPerElement(const OptimizerSpec& spec);

} // namespace lockstep::nn
