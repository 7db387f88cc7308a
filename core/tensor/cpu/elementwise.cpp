// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/tensor/cpu/elementwise.h"

#include "core/tensor/clones.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace lockstep::tensor::detail {

namespace {

constexpr float seluScale = 1.05070098f;
constexpr float seluAlpha = 1.67326324f;

// Comparisons are written so that a NaN stays one.
LOCKSTEP_CLONES void relu(const float* x, float* y, std::size_t n, float threshold,
                          float maxValue) {
    for (std::size_t i = 0; i < n; ++i)
        y[i] = x[i] <= threshold ? 0.0f : (maxValue < x[i] ? maxValue : x[i]);
}

LOCKSTEP_CLONES void leakyRelu(const float* x, float* y, std::size_t n, float threshold,
                               float maxValue, float slope) {
    for (std::size_t i = 0; i < n; ++i)
        y[i] = x[i] <= threshold ? slope * (x[i] - threshold) : (maxValue < x[i] ? maxValue : x[i]);
}

LOCKSTEP_CLONES void reluBackward(const float* x, const float* dy, float* dx, std::size_t n,
                                  float threshold, float maxValue, float slope) {
    for (std::size_t i = 0; i < n; ++i) {
        const float factor = x[i] <= threshold ? slope : (maxValue < x[i] ? 0.0f : 1.0f);
        dx[i] = dy[i] * factor;
    }
}

LOCKSTEP_CLONES void product(const float* x, const float* y, float* z, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i)
        z[i] = x[i] * y[i];
}

LOCKSTEP_CLONES void addRow(const float* row, float* sums, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i)
        sums[i] += row[i];
}

float sigmoid(float x) {
    const float e = std::exp(-std::abs(x));
    return (x >= 0 ? 1.0f : e) / (1.0f + e);
}

float gauss(float x) {
    return 0.5f * (1.0f + std::erf(x / std::numbers::sqrt2_v<float>));
}

template <class F>
void map(std::span<const float> x, std::span<float> y, F f) {
    for (std::size_t i = 0; i < x.size(); ++i)
        y[i] = f(x[i]);
}

template <class F>
void chain(std::span<const float> x, std::span<const float> y, std::span<const float> dy,
           std::span<float> dx, F slope) {
    for (std::size_t i = 0; i < x.size(); ++i)
        dx[i] = dy[i] * slope(x[i], y[i]);
}

void softmax(std::span<const float> x, std::span<float> y, bool logarithm) {
    const float top = *std::max_element(x.begin(), x.end());
    float sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        y[i] = std::exp(x[i] - top);
        sum += y[i];
    }
    if (logarithm) {
        const float shift = top + std::log(sum);
        for (std::size_t i = 0; i < x.size(); ++i)
            y[i] = x[i] - shift;
        return;
    }
    for (float& value : y)
        value /= sum;
}

void softmaxBackward(std::span<const float> y, std::span<const float> dy, std::span<float> dx,
                     bool logarithm) {
    float sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i)
        sum += logarithm ? dy[i] : dy[i] * y[i];
    for (std::size_t i = 0; i < y.size(); ++i)
        dx[i] = logarithm ? dy[i] - std::exp(y[i]) * sum : y[i] * (dy[i] - sum);
}

} // namespace

void activate(const Activation& f, std::span<const float> x, std::span<float> y,
              std::int64_t width) {
    switch (f.kind) {
    case ActivationKind::Linear:
        return map(x, y, [](float v) { return v; });
    case ActivationKind::Relu:
        return f.slope == 0.0f
                   ? relu(x.data(), y.data(), x.size(), f.threshold, f.maxValue)
                   : leakyRelu(x.data(), y.data(), x.size(), f.threshold, f.maxValue, f.slope);
    case ActivationKind::Elu:
        return map(x, y, [&](float v) { return v > 0 ? v : f.alpha * std::expm1(v); });
    case ActivationKind::Selu:
        return map(x, y,
                   [](float v) { return seluScale * (v > 0 ? v : seluAlpha * std::expm1(v)); });
    case ActivationKind::Softplus:
        return map(x, y,
                   [](float v) { return std::max(v, 0.0f) + std::log1p(std::exp(-std::abs(v))); });
    case ActivationKind::Softsign:
        return map(x, y, [](float v) { return v / (1.0f + std::abs(v)); });
    case ActivationKind::Sigmoid:
        return map(x, y, sigmoid);
    case ActivationKind::Tanh:
        return map(x, y, [](float v) { return std::tanh(v); });
    case ActivationKind::Exponential:
        return map(x, y, [](float v) { return std::exp(v); });
    case ActivationKind::Silu:
        return map(x, y, [](float v) { return v * sigmoid(v); });
    case ActivationKind::Gelu:
        return map(x, y, [](float v) { return v * gauss(v); });
    case ActivationKind::Softmax:
    case ActivationKind::LogSoftmax:
        const auto columns = static_cast<std::size_t>(width);
        for (std::size_t row = 0; row < x.size(); row += columns)
            softmax(x.subspan(row, columns), y.subspan(row, columns),
                    f.kind == ActivationKind::LogSoftmax);
        return;
    }
}

void activateBackward(const Activation& f, std::span<const float> x, std::span<const float> y,
                      std::span<const float> dy, std::span<float> dx, std::int64_t width) {
    switch (f.kind) {
    case ActivationKind::Linear:
        return chain(x, y, dy, dx, [](float, float) { return 1.0f; });
    case ActivationKind::Relu:
        return reluBackward(x.data(), dy.data(), dx.data(), x.size(), f.threshold, f.maxValue,
                            f.slope);
    case ActivationKind::Elu:
        return chain(x, y, dy, dx, [&](float v, float w) { return v > 0 ? 1.0f : w + f.alpha; });
    case ActivationKind::Selu:
        return chain(x, y, dy, dx, [](float v, float w) {
            return v > 0 ? seluScale : w + seluScale * seluAlpha;
        });
    case ActivationKind::Softplus:
        return chain(x, y, dy, dx, [](float v, float) { return sigmoid(v); });
    case ActivationKind::Softsign:
        return chain(x, y, dy, dx, [](float v, float) {
            const float d = 1.0f + std::abs(v);
            return 1.0f / (d * d);
        });
    case ActivationKind::Sigmoid:
        return chain(x, y, dy, dx, [](float, float w) { return w * (1.0f - w); });
    case ActivationKind::Tanh:
        return chain(x, y, dy, dx, [](float, float w) { return 1.0f - w * w; });
    case ActivationKind::Exponential:
        return chain(x, y, dy, dx, [](float, float w) { return w; });
    case ActivationKind::Silu:
        return chain(x, y, dy, dx, [](float v, float) {
            const float s = sigmoid(v);
            return s * (1.0f + v * (1.0f - s));
        });
    case ActivationKind::Gelu:
        return chain(x, y, dy, dx, [](float v, float) {
            constexpr float density = 0.398942280f; // 1 / sqrt(2 pi)
            return gauss(v) + v * density * std::exp(-0.5f * v * v);
        });
    case ActivationKind::Softmax:
    case ActivationKind::LogSoftmax:
        const auto columns = static_cast<std::size_t>(width);
        for (std::size_t row = 0; row < y.size(); row += columns)
            softmaxBackward(y.subspan(row, columns), dy.subspan(row, columns),
                            dx.subspan(row, columns), f.kind == ActivationKind::LogSoftmax);
        return;
    }
}

void multiply(std::span<const float> x, std::span<const float> y, std::span<float> z) {
    product(x.data(), y.data(), z.data(), x.size());
}

void columnSums(std::span<const float> x, std::span<float> sums) {
    std::fill(sums.begin(), sums.end(), 0.0f);
    for (std::size_t row = 0; row < x.size(); row += sums.size())
        addRow(x.data() + row, sums.data(), sums.size());
}

} // namespace lockstep::tensor::detail
