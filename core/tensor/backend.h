// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// What a device computes for the layers. Everything is prepared first and then run on memory that
// the caller laid out; running allocates nothing of ours.
// Threads: a backend and what it prepared belong to one thread at a time.
// Failure: a library that refuses becomes Failure{OutOfMemory|Unsupported|Internal}.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>

namespace lockstep::tensor {

/// C[m, n] = op(A)[m, k] * op(B)[k, n] (+ bias[n] for each row). All row-major and dense; a
/// transposed operand lies in memory as A[k, m] or B[n, k]. m, k, n > 0.
struct MatmulSpec {
    std::int64_t m = 0;
    std::int64_t k = 0;
    std::int64_t n = 0;
    bool transposeA = false;
    bool transposeB = false;
    bool bias = false;
};

struct MatmulOperands {
    const float* a = nullptr;
    const float* b = nullptr;
    const float* bias = nullptr;
    float* c = nullptr;
    std::span<float> scratch; ///< scratchElements() floats, aligned to 64 bytes
};

class Matmul {
public:
    virtual ~Matmul() = default;
    virtual std::size_t scratchElements() const = 0;
    /// Fixes the operands' addresses; once, before run().
    virtual void bind(const MatmulOperands& operands) = 0;
    virtual void run() = 0;
};

enum class ActivationKind {
    Linear,
    Relu, ///< with slope, maxValue and threshold, as Keras' ReLU layer
    Elu,  ///< alpha
    Selu,
    Softplus,
    Softsign,
    Sigmoid,
    Tanh,
    Exponential,
    Silu,
    Gelu, ///< exact, with erf
    Softmax,
    LogSoftmax,
};

struct Activation {
    ActivationKind kind = ActivationKind::Linear;
    float alpha = 1.0f;
    float slope = 0.0f;
    float threshold = 0.0f;
    float maxValue = std::numeric_limits<float>::infinity();

    bool operator==(const Activation&) const = default;
};

class Backend {
public:
    virtual ~Backend() = default;

    virtual std::unique_ptr<Matmul> prepareMatmul(const MatmulSpec& spec) = 0;

    /// y = f(x). Softmax kinds work on rows of `width` elements, which divides the size.
    virtual void activate(const Activation& f, std::span<const float> x, std::span<float> y,
                          std::int64_t width) = 0;
    /// dx = dy * f'(x) given x and y = f(x). dx may be dy.
    virtual void activateBackward(const Activation& f, std::span<const float> x,
                                  std::span<const float> y, std::span<const float> dy,
                                  std::span<float> dx, std::int64_t width) = 0;
    /// z = x * y by element; z may be x.
    virtual void multiply(std::span<const float> x, std::span<const float> y,
                          std::span<float> z) = 0;
    /// sums[n] = the sum over rows of x[rows, n], row after row; rows may be 0.
    virtual void columnSums(std::span<const float> x, std::span<float> sums) = 0;
};

} // namespace lockstep::tensor
