// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/nn/initializer.h"

#include "core/base/failure.h"
#include "core/base/philox.h"
#include "core/base/snake_case.h"
#include "core/nn/detail/keras_object.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <vector>

namespace lockstep::nn {

namespace {

/// The standard deviation of a normal distribution cut at two of its own: what Keras divides by.
constexpr double truncatedDeviation = 0.87962566103423978;

Initializer scaling(double scale, FanMode mode, InitializerKind distribution) {
    Initializer initializer;
    initializer.kind = InitializerKind::VarianceScaling;
    initializer.scale = scale;
    initializer.mode = mode;
    initializer.distribution = distribution;
    return initializer;
}

Initializer ofKind(InitializerKind kind, double value = 0) {
    Initializer initializer;
    initializer.kind = kind;
    initializer.value = value;
    return initializer;
}

/// Keras' classes by snake-case name, each with Keras' defaults.
const std::map<std::string, Initializer>& classes() {
    using enum InitializerKind;
    static const std::map<std::string, Initializer> table{
        {"zeros", ofKind(Constant, 0)},
        {"ones", ofKind(Constant, 1)},
        {"constant", ofKind(Constant, 0)},
        {"identity", ofKind(Identity, 1)},
        {"orthogonal", ofKind(Orthogonal, 1)},
        {"random_uniform", ofKind(Uniform)},
        {"random_normal", ofKind(Normal)},
        {"truncated_normal", ofKind(TruncatedNormal)},
        {"variance_scaling", scaling(1, FanMode::In, TruncatedNormal)},
        {"glorot_uniform", scaling(1, FanMode::Average, Uniform)},
        {"glorot_normal", scaling(1, FanMode::Average, TruncatedNormal)},
        {"he_uniform", scaling(2, FanMode::In, Uniform)},
        {"he_normal", scaling(2, FanMode::In, TruncatedNormal)},
        {"lecun_uniform", scaling(1, FanMode::In, Uniform)},
        {"lecun_normal", scaling(1, FanMode::In, TruncatedNormal)},
    };
    return table;
}

std::string canonicalName(const std::string& name) {
    static const std::map<std::string, std::string> aliases{
        {"zero", "zeros"},
        {"one", "ones"},
        {"uniform", "random_uniform"},
        {"normal", "random_normal"},
        {"OrthogonalInitializer", "orthogonal"},
        {"IdentityInitializer", "identity"},
    };
    const auto alias = aliases.find(name);
    return alias != aliases.end() ? alias->second : snakeCase(name);
}

void readNumber(const json::Reader& config, const std::string& key, double& value,
                double min = -std::numeric_limits<double>::max()) {
    value = config.at(key).number(min).value_or(value);
}

void readOptions(const std::string& name, const json::Reader& config, Initializer& initializer) {
    std::vector<std::string> known{"seed", "input_axes", "output_axes", "dtype"};
    const auto option = [&](const std::string& key, double& value,
                            double min = -std::numeric_limits<double>::max()) {
        known.push_back(key);
        readNumber(config, key, value, min);
    };
    if (name == "constant") {
        option("value", initializer.value);
    } else if (name == "identity" || name == "orthogonal") {
        option("gain", initializer.value);
    } else if (name == "random_uniform") {
        option("minval", initializer.low);
        option("maxval", initializer.high);
    } else if (name == "random_normal" || name == "truncated_normal") {
        option("mean", initializer.mean);
        option("stddev", initializer.stddev, 0);
    } else if (name == "variance_scaling") {
        option("scale", initializer.scale, std::numeric_limits<double>::denorm_min());
        known.insert(known.end(), {"mode", "distribution"});
        if (const auto mode = config.at("mode").oneOf({"fan_in", "fan_out", "fan_avg"}))
            initializer.mode = *mode == "fan_in"    ? FanMode::In
                               : *mode == "fan_out" ? FanMode::Out
                                                    : FanMode::Average;
        if (const auto distribution =
                config.at("distribution")
                    .oneOf({"uniform", "normal", "truncated_normal", "untruncated_normal"}))
            initializer.distribution = *distribution == "uniform" ? InitializerKind::Uniform
                                       : *distribution == "untruncated_normal"
                                           ? InitializerKind::Normal
                                           : InitializerKind::TruncatedNormal;
    }
    detail::refuseUsed(config, {"input_axes", "output_axes"});
    detail::refuseUnknown(config, known);
}

class Random {
public:
    Random(std::uint64_t seed, std::uint32_t variable)
        : m_stream(seed, RandomUse::Initializer, variable) {}

    double uniform(double low, double high) { return low + (high - low) * m_stream.nextUnit(); }

    /// Box and Muller's method, both numbers of a pair.
    double normal() {
        if (m_hasSecond) {
            m_hasSecond = false;
            return m_second;
        }
        const double radius = std::sqrt(-2 * std::log(1 - m_stream.nextUnit()));
        const double angle = 2 * std::numbers::pi * m_stream.nextUnit();
        m_second = radius * std::sin(angle);
        m_hasSecond = true;
        return radius * std::cos(angle);
    }

    /// Drawn again until within two standard deviations, as TensorFlow does.
    double truncatedNormal() {
        for (;;)
            if (const double value = normal(); std::abs(value) < 2)
                return value;
    }

private:
    PhiloxStream m_stream;
    double m_second = 0;
    bool m_hasSecond = false;
};

/// Rows in, columns out of a product; n and n for a vector, as Keras' compute_fans.
std::pair<double, double> fans(const tensor::Shape& shape) {
    if (shape.rank() < 2)
        return {static_cast<double>(shape.last()), static_cast<double>(shape.last())};
    const auto out = static_cast<double>(shape.last());
    return {static_cast<double>(shape.elements()) / out, out};
}

/// A random matrix with orthonormal rows or columns, whichever are fewer: Gram and Schmidt's
/// method, twice over for accuracy. It leaves R's diagonal positive, which Keras makes so by signs.
void fillOrthogonal(double gain, const tensor::Shape& shape, Random& random,
                    std::span<float> values) {
    const auto columns = static_cast<std::size_t>(shape.last());
    const std::size_t rows = values.size() / columns;
    const std::size_t count = std::min(rows, columns);
    const std::size_t length = std::max(rows, columns);
    std::vector<std::vector<double>> basis(count, std::vector<double>(length));
    for (std::size_t i = 0; i < length; ++i)
        for (std::size_t j = 0; j < count; ++j)
            basis[j][i] = random.normal();
    for (std::size_t j = 0; j < count; ++j) {
        for (int pass = 0; pass < 2; ++pass)
            for (std::size_t before = 0; before < j; ++before) {
                double dot = 0;
                for (std::size_t i = 0; i < length; ++i)
                    dot += basis[before][i] * basis[j][i];
                for (std::size_t i = 0; i < length; ++i)
                    basis[j][i] -= dot * basis[before][i];
            }
        double square = 0;
        for (const double v : basis[j])
            square += v * v;
        for (double& v : basis[j])
            v /= std::sqrt(square);
    }
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < columns; ++c)
            values[r * columns + c] =
                static_cast<float>(gain * (rows < columns ? basis[r][c] : basis[c][r]));
}

void fillScaled(const Initializer& initializer, const tensor::Shape& shape, Random& random,
                std::span<float> values) {
    const auto [in, out] = fans(shape);
    const double fan = initializer.mode == FanMode::In    ? in
                       : initializer.mode == FanMode::Out ? out
                                                          : (in + out) / 2;
    const double variance = initializer.scale / std::max(1.0, fan);
    const double limit = std::sqrt(3 * variance);
    const double deviation = std::sqrt(variance);
    for (float& value : values)
        value = static_cast<float>(initializer.distribution == InitializerKind::Uniform
                                       ? random.uniform(-limit, limit)
                                   : initializer.distribution == InitializerKind::Normal
                                       ? deviation * random.normal()
                                       : deviation / truncatedDeviation * random.truncatedNormal());
}

} // namespace

Initializer Initializer::glorotUniform() {
    return classes().at("glorot_uniform");
}

std::optional<Initializer> readInitializer(const json::Reader& reader,
                                           const Initializer& fallback) {
    if (reader.isAbsent())
        return fallback;
    const detail::ErrorWatch watch(reader);
    const auto object = detail::readObject(reader, "An initializer");
    if (!object)
        return std::nullopt;
    const std::string name = canonicalName(object->name);
    const auto found = classes().find(name);
    if (found == classes().end()) {
        std::vector<std::string> names;
        for (const auto& [known, initializer] : classes())
            names.push_back(known);
        const std::string near = json::nearest(name, names);
        reader.error("The initializer \"" + object->name + "\" is not known here.",
                     "one of " + json::listOr(names),
                     near.empty() ? "" : "Did you mean \"" + near + "\"?");
        return std::nullopt;
    }
    Initializer initializer = found->second;
    if (object->config.exists())
        readOptions(name, object->config, initializer);
    if (watch.failed())
        return std::nullopt;
    return initializer;
}

void initialize(const Initializer& initializer, const tensor::Shape& shape, std::uint64_t seed,
                std::uint32_t variable, std::span<float> values) {
    LOCKSTEP_CHECK(values.size() == static_cast<std::size_t>(shape.elements()),
                   "[initialize] " << values.size() << " values for " << shape.text());
    Random random(seed, variable);
    const auto fill = [&](auto next) {
        for (float& value : values)
            value = static_cast<float>(next());
    };
    switch (initializer.kind) {
    case InitializerKind::Constant:
        return fill([&] { return initializer.value; });
    case InitializerKind::Identity: {
        fill([] { return 0.0; });
        const auto columns = static_cast<std::size_t>(shape.last());
        for (std::size_t i = 0; i * columns + i < values.size() && i < columns; ++i)
            values[i * columns + i] = static_cast<float>(initializer.value);
        return;
    }
    case InitializerKind::Orthogonal:
        return fillOrthogonal(initializer.value, shape, random, values);
    case InitializerKind::Uniform:
        return fill([&] { return random.uniform(initializer.low, initializer.high); });
    case InitializerKind::Normal:
        return fill([&] { return initializer.mean + initializer.stddev * random.normal(); });
    case InitializerKind::TruncatedNormal:
        return fill(
            [&] { return initializer.mean + initializer.stddev * random.truncatedNormal(); });
    case InitializerKind::VarianceScaling:
        return fillScaled(initializer, shape, random, values);
    }
}

} // namespace lockstep::nn
