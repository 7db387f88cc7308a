// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/nn/detail/loss.h"

#include "core/base/failure.h"

#include <algorithm>
#include <cmath>

namespace lockstep::nn::detail {

namespace {

using Row = std::span<const float>;

// Keras' epsilon, rounded to float as it is there.
constexpr float lowest = 1e-7f;
constexpr float highest = 1.0f - 1e-7f;

float clip(float p) {
    return std::min(std::max(p, lowest), highest);
}

/// TensorFlow's slope of clip_by_value: bounds let the gradient through.
bool isClipped(float p) {
    return p < lowest || p > highest;
}

bool usesLogits(const LossSpec& loss) {
    return loss.fromLogits || loss.beforeActivation;
}

std::size_t classOf(float label, std::size_t classes) {
    if (!(label >= 0 && label < static_cast<float>(classes)) || label != std::floor(label))
        throw Failure(Code::InvalidArgument,
                      LabelRule{1, static_cast<std::int64_t>(classes)}.fault(label));
    return static_cast<std::size_t>(label);
}

/// log(sum(exp(row))).
float logSumExp(Row row) {
    const float top = *std::max_element(row.begin(), row.end());
    float sum = 0;
    for (const float value : row)
        sum += std::exp(value - top);
    return top + std::log(sum);
}

// Label smoothing, as in Keras.
float smoothBinary(const LossSpec& loss, float label) {
    const auto s = static_cast<float>(loss.labelSmoothing);
    return label * (1 - s) + 0.5f * s;
}

float smoothCategorical(const LossSpec& loss, float label, std::size_t classes) {
    const auto s = static_cast<float>(loss.labelSmoothing);
    return label * (1 - s) + s / static_cast<float>(classes);
}

float squaredError(Row p, Row y) {
    float sum = 0;
    for (std::size_t j = 0; j < p.size(); ++j)
        sum += (p[j] - y[j]) * (p[j] - y[j]);
    return sum / static_cast<float>(p.size());
}

float absoluteError(Row p, Row y) {
    float sum = 0;
    for (std::size_t j = 0; j < p.size(); ++j)
        sum += std::abs(p[j] - y[j]);
    return sum / static_cast<float>(p.size());
}

float binary(const LossSpec& loss, Row p, Row labels) {
    float sum = 0;
    for (std::size_t j = 0; j < p.size(); ++j) {
        const float y = smoothBinary(loss, labels[j]);
        const float z = p[j];
        const float q = clip(z);
        sum += usesLogits(loss) ? std::max(z, 0.0f) - z * y + std::log1p(std::exp(-std::abs(z)))
                                : -(y * std::log(q) + (1 - y) * std::log(1 - q));
    }
    return sum / static_cast<float>(p.size());
}

float total(Row p) {
    float sum = 0;
    for (const float value : p)
        sum += value;
    return sum;
}

float categorical(const LossSpec& loss, Row p, Row labels) {
    const bool logits = usesLogits(loss);
    const float shift = logits ? logSumExp(p) : 0;
    const float all = logits ? 1 : total(p);
    float sum = 0;
    for (std::size_t j = 0; j < p.size(); ++j) {
        const float y = smoothCategorical(loss, labels[j], p.size());
        sum -= y * (logits ? p[j] - shift : std::log(clip(p[j] / all)));
    }
    return sum;
}

float sparse(const LossSpec& loss, Row p, float label) {
    const std::size_t c = classOf(label, p.size());
    if (usesLogits(loss))
        return logSumExp(p) - p[c];
    float sum = 0;
    for (const float value : p)
        sum += clip(value);
    return std::log(sum) - std::log(clip(p[c]));
}

void binaryGradient(const LossSpec& loss, Row p, Row labels, float scale, std::span<float> g) {
    const float perElement = scale / static_cast<float>(p.size());
    for (std::size_t j = 0; j < p.size(); ++j) {
        const float y = smoothBinary(loss, labels[j]);
        if (usesLogits(loss)) {
            const float e = std::exp(-std::abs(p[j]));
            const float sigmoid = (p[j] >= 0 ? 1.0f : e) / (1 + e);
            g[j] = perElement * (sigmoid - y);
        } else {
            const float q = clip(p[j]);
            g[j] = isClipped(p[j]) ? 0.0f : perElement * ((1 - y) / (1 - q) - y / q);
        }
    }
}

void categoricalGradient(const LossSpec& loss, Row p, Row labels, float scale, std::span<float> g) {
    if (usesLogits(loss)) {
        const float shift = logSumExp(p);
        float weight = 0;
        for (const float label : labels)
            weight += smoothCategorical(loss, label, p.size());
        for (std::size_t j = 0; j < p.size(); ++j)
            g[j] = scale *
                   (std::exp(p[j] - shift) * weight - smoothCategorical(loss, labels[j], p.size()));
        return;
    }
    // q = p / sum(p): dL/dp_i = (dL/dq_i - sum_j q_j dL/dq_j) / sum(p).
    const float all = total(p);
    float dot = 0;
    for (std::size_t j = 0; j < p.size(); ++j) {
        const float q = p[j] / all;
        g[j] = isClipped(q) ? 0.0f : -smoothCategorical(loss, labels[j], p.size()) / q;
        dot += q * g[j];
    }
    for (float& value : g)
        value = scale * (value - dot) / all;
}

void sparseGradient(const LossSpec& loss, Row p, float label, float scale, std::span<float> g) {
    const std::size_t c = classOf(label, p.size());
    if (usesLogits(loss)) {
        const float shift = logSumExp(p);
        for (std::size_t j = 0; j < p.size(); ++j)
            g[j] = scale * (std::exp(p[j] - shift) - (j == c ? 1.0f : 0.0f));
        return;
    }
    float sum = 0;
    for (const float value : p)
        sum += clip(value);
    for (std::size_t j = 0; j < p.size(); ++j)
        g[j] = isClipped(p[j]) ? 0.0f : scale * (1 / sum - (j == c ? 1 / p[j] : 0.0f));
}

bool isSparse(LossKind kind) {
    return kind == LossKind::SparseCategoricalCrossentropy;
}

std::size_t largest(Row row) {
    return static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin());
}

} // namespace

double lossSum(const LossSpec& loss, std::span<const float> predictions,
               std::span<const float> labels, std::int64_t width) {
    const auto columns = static_cast<std::size_t>(width);
    const std::size_t labelColumns = isSparse(loss.kind) ? 1 : columns;
    double sum = 0;
    for (std::size_t i = 0; i * columns < predictions.size(); ++i) {
        const Row p = predictions.subspan(i * columns, columns);
        const Row y = labels.subspan(i * labelColumns, labelColumns);
        switch (loss.kind) {
        case LossKind::MeanSquaredError:
            sum += double(squaredError(p, y));
            break;
        case LossKind::MeanAbsoluteError:
            sum += double(absoluteError(p, y));
            break;
        case LossKind::BinaryCrossentropy:
            sum += double(binary(loss, p, y));
            break;
        case LossKind::CategoricalCrossentropy:
            sum += double(categorical(loss, p, y));
            break;
        case LossKind::SparseCategoricalCrossentropy:
            sum += double(sparse(loss, p, y[0]));
            break;
        }
    }
    return sum;
}

void lossGradient(const LossSpec& loss, std::span<const float> predictions,
                  std::span<const float> labels, std::int64_t width, float scale,
                  std::span<float> gradient) {
    const auto columns = static_cast<std::size_t>(width);
    const std::size_t labelColumns = isSparse(loss.kind) ? 1 : columns;
    const float perElement = scale / static_cast<float>(columns);
    for (std::size_t i = 0; i * columns < predictions.size(); ++i) {
        const Row p = predictions.subspan(i * columns, columns);
        const Row y = labels.subspan(i * labelColumns, labelColumns);
        const std::span<float> g = gradient.subspan(i * columns, columns);
        switch (loss.kind) {
        case LossKind::MeanSquaredError:
            for (std::size_t j = 0; j < columns; ++j)
                g[j] = perElement * 2 * (p[j] - y[j]);
            break;
        case LossKind::MeanAbsoluteError:
            for (std::size_t j = 0; j < columns; ++j)
                g[j] = p[j] == y[j] ? 0.0f : std::copysign(perElement, p[j] - y[j]);
            break;
        case LossKind::BinaryCrossentropy:
            binaryGradient(loss, p, y, scale, g);
            break;
        case LossKind::CategoricalCrossentropy:
            categoricalGradient(loss, p, y, scale, g);
            break;
        case LossKind::SparseCategoricalCrossentropy:
            sparseGradient(loss, p, y[0], scale, g);
            break;
        }
    }
}

MetricSum metricSum(const MetricSpec& metric, std::span<const float> predictions,
                    std::span<const float> labels, std::int64_t width) {
    const auto columns = static_cast<std::size_t>(width);
    const std::size_t labelColumns =
        metric.kind == MetricKind::SparseCategoricalAccuracy ? 1 : columns;
    MetricSum result;
    for (std::size_t i = 0; i * columns < predictions.size(); ++i) {
        const Row p = predictions.subspan(i * columns, columns);
        const Row y = labels.subspan(i * labelColumns, labelColumns);
        result.count += 1;
        switch (metric.kind) {
        case MetricKind::BinaryAccuracy: {
            std::size_t right = 0;
            for (std::size_t j = 0; j < columns; ++j)
                right += (p[j] > metric.threshold ? 1.0f : 0.0f) == y[j] ? 1 : 0;
            result.sum += static_cast<double>(right);
            result.count += static_cast<double>(columns - 1);
            break;
        }
        case MetricKind::CategoricalAccuracy:
            result.sum += largest(p) == largest(y) ? 1 : 0;
            break;
        case MetricKind::SparseCategoricalAccuracy:
            result.sum += static_cast<float>(largest(p)) == y[0] ? 1 : 0;
            break;
        case MetricKind::MeanAbsoluteError:
            result.sum += double(absoluteError(p, y));
            break;
        case MetricKind::MeanSquaredError:
            result.sum += double(squaredError(p, y));
            break;
        }
    }
    return result;
}

} // namespace lockstep::nn::detail
