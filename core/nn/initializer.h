// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Keras' initializers: its exact distributions, from our own counter-based random numbers (Keras'
// streams cannot be reproduced outside TensorFlow).
// Source: keras/src/initializers/random_initializers.py.

#include "core/base/json_reader.h"
#include "core/tensor/shape.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace lockstep::nn {

enum class InitializerKind {
    Constant,
    Identity,
    Orthogonal,
    Uniform,
    Normal,
    TruncatedNormal,
    VarianceScaling,
};

enum class FanMode { In, Out, Average };

struct Initializer {
    InitializerKind kind = InitializerKind::Constant;
    double value = 0.0;   ///< Constant; gain of Identity and Orthogonal
    double low = -0.05;   ///< Uniform
    double high = 0.05;   ///< Uniform
    double mean = 0.0;    ///< Normal, TruncatedNormal
    double stddev = 0.05; ///< Normal, TruncatedNormal (cut at two)
    double scale = 1.0;   ///< VarianceScaling, with mode and distribution
    FanMode mode = FanMode::In;
    InitializerKind distribution = InitializerKind::TruncatedNormal; ///< Uniform, Normal or this

    static Initializer zeros() { return {}; }
    static Initializer glorotUniform();
};

/// Keras' name ("glorot_uniform", "GlorotUniform", "zeros", ...) or {class_name, config}.
/// `fallback` where the value is missing or null. Reports what it does not know.
std::optional<Initializer> readInitializer(const json::Reader& reader, const Initializer& fallback);

/// Fills `values` (row-major, of `shape`) with the numbers that (seed, variable) decide. `variable`
/// is its index in model order. The seeds in Keras' configs are not used.
void initialize(const Initializer& initializer, const tensor::Shape& shape, std::uint64_t seed,
                std::uint32_t variable, std::span<float> values);

} // namespace lockstep::nn
