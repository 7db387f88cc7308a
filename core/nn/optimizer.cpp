// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/nn/optimizer.h"

#include "core/base/failure.h"
#include "core/tensor/clones.h"

#include <cmath>

namespace lockstep::nn {

namespace {

// Every expression has the order of Keras' own, so that float32 rounds alike.

LOCKSTEP_CLONES void clipValues(float* g, std::size_t n, float limit) {
    for (std::size_t i = 0; i < n; ++i) {
        const float low = g[i] < -limit ? -limit : g[i];
        g[i] = low > limit ? limit : low;
    }
}

LOCKSTEP_CLONES void decayWeights(float* w, std::size_t n, float decay, float rate) {
    for (std::size_t i = 0; i < n; ++i)
        w[i] -= w[i] * decay * rate;
}

LOCKSTEP_CLONES void sgd(float* w, const float* g, std::size_t n, float rate) {
    for (std::size_t i = 0; i < n; ++i)
        w[i] -= g[i] * rate;
}

LOCKSTEP_CLONES void sgdMomentum(float* w, const float* g, float* m, std::size_t n, float rate,
                                 float momentum) {
    for (std::size_t i = 0; i < n; ++i) {
        m[i] = m[i] * momentum - g[i] * rate;
        w[i] += m[i];
    }
}

LOCKSTEP_CLONES void sgdNesterov(float* w, const float* g, float* m, std::size_t n, float rate,
                                 float momentum) {
    for (std::size_t i = 0; i < n; ++i) {
        m[i] = m[i] * momentum - g[i] * rate;
        w[i] += m[i] * momentum - g[i] * rate;
    }
}

struct AdamFactors {
    float alpha;
    float oneMinusBeta1;
    float oneMinusBeta2;
    float epsilon;
};

/// Epsilon is added outside the root, to the root that is not bias-corrected.
LOCKSTEP_CLONES void adam(float* w, const float* g, float* m, float* v, std::size_t n,
                          AdamFactors f) {
    for (std::size_t i = 0; i < n; ++i) {
        m[i] += (g[i] - m[i]) * f.oneMinusBeta1;
        v[i] += (g[i] * g[i] - v[i]) * f.oneMinusBeta2;
        w[i] -= m[i] * f.alpha / (std::sqrt(v[i]) + f.epsilon);
    }
}

LOCKSTEP_CLONES void adamMaximum(float* w, const float* g, float* m, float* v, float* top,
                                 std::size_t n, AdamFactors f) {
    for (std::size_t i = 0; i < n; ++i) {
        m[i] += (g[i] - m[i]) * f.oneMinusBeta1;
        v[i] += (g[i] * g[i] - v[i]) * f.oneMinusBeta2;
        top[i] = top[i] < v[i] ? v[i] : top[i];
        w[i] -= m[i] * f.alpha / (std::sqrt(top[i]) + f.epsilon);
    }
}

std::vector<std::string> slotNames(const OptimizerSpec& spec) {
    if (spec.kind == OptimizerKind::Sgd)
        return spec.momentum > 0 ? std::vector<std::string>{"momentum"}
                                 : std::vector<std::string>{};
    std::vector<std::string> names{"momentum", "velocity"};
    if (spec.amsgrad)
        names.push_back("velocity_hat");
    return names;
}

} // namespace

StepScalars stepScalars(const OptimizerSpec& spec, double rate, std::uint64_t iterations) {
    StepScalars scalars;
    scalars.rate = static_cast<float>(rate);
    scalars.alpha = scalars.rate;
    if (spec.kind == OptimizerKind::Adam) {
        const auto step = static_cast<float>(iterations + 1);
        const float power1 = std::pow(static_cast<float>(spec.beta1), step);
        const float power2 = std::pow(static_cast<float>(spec.beta2), step);
        scalars.alpha = scalars.rate * std::sqrt(1.0f - power2) / (1.0f - power1);
    }
    return scalars;
}

Optimizer::Optimizer(OptimizerSpec spec, std::size_t size)
    : m_spec(std::move(spec))
    , m_size(size) {
    for (const std::string& name : slotNames(m_spec))
        m_slots.push_back({name, tensor::Buffer(size)});
}

void Optimizer::apply(const StepScalars& scalars, std::span<float> values,
                      std::span<float> gradients, std::size_t begin, std::size_t end) {
    LOCKSTEP_CHECK(
        values.size() == m_size && gradients.size() == m_size && begin <= end && end <= m_size,
        "[optimizer] slice " << begin << " to " << end << " of " << values.size() << " values and "
                             << gradients.size() << " gradients, expected " << m_size);
    const std::size_t n = end - begin;
    if (n == 0)
        return;
    float* const w = values.data() + begin;
    float* const g = gradients.data() + begin;
    const auto slot = [&](std::size_t i) { return m_slots[i].values.span().data() + begin; };
    if (m_spec.clipValue > 0)
        clipValues(g, n, static_cast<float>(m_spec.clipValue));
    if (m_spec.weightDecay > 0)
        decayWeights(w, n, static_cast<float>(m_spec.weightDecay), scalars.rate);
    if (m_spec.kind == OptimizerKind::Sgd) {
        const auto momentum = static_cast<float>(m_spec.momentum);
        if (m_slots.empty())
            sgd(w, g, n, scalars.rate);
        else if (m_spec.nesterov)
            sgdNesterov(w, g, slot(0), n, scalars.rate, momentum);
        else
            sgdMomentum(w, g, slot(0), n, scalars.rate, momentum);
        return;
    }
    const AdamFactors factors{scalars.alpha, static_cast<float>(1 - m_spec.beta1),
                              static_cast<float>(1 - m_spec.beta2),
                              static_cast<float>(m_spec.epsilon)};
    if (m_spec.amsgrad)
        adamMaximum(w, g, slot(0), slot(1), slot(2), n, factors);
    else
        adam(w, g, slot(0), slot(1), n, factors);
}

std::size_t slotBytesPerElement(const OptimizerSpec& spec) {
    return slotNames(spec).size() * sizeof(float);
}

} // namespace lockstep::nn
