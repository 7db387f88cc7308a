// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// What Keras' compile() takes: optimizer, loss and metrics, read against a model. Plain data.
// Source of names and defaults: keras/src/trainers/compile_utils.py and keras/src/losses.

#include "core/base/json_reader.h"
#include "core/nn/graph.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::nn {

enum class OptimizerKind { Sgd, Adam };

struct OptimizerSpec {
    OptimizerKind kind = OptimizerKind::Sgd;
    std::string name = "SGD"; ///< Keras' class: "SGD", "Adam", "AdamW"
    double learningRate = 0.01;
    double momentum = 0.0;
    bool nesterov = false;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-7;
    bool amsgrad = false;
    double weightDecay = 0.0; ///< decoupled: w -= w * weightDecay * rate
    double clipValue = 0.0;   ///< gradients are cut to [-clipValue, clipValue]; 0: not
};

enum class LossKind {
    MeanSquaredError,
    MeanAbsoluteError,
    BinaryCrossentropy,
    CategoricalCrossentropy,
    SparseCategoricalCrossentropy,
};

enum class Reduction { SumOverBatchSize, Sum };

struct LossSpec {
    LossKind kind = LossKind::MeanSquaredError;
    Reduction reduction = Reduction::SumOverBatchSize;
    bool fromLogits = false;
    double labelSmoothing = 0.0;
    /// Computed from what enters the model's last activation, as Keras does after a softmax or
    /// sigmoid whatever from_logits says: exact where the activation saturates.
    bool beforeActivation = false;
};

enum class MetricKind {
    BinaryAccuracy,
    CategoricalAccuracy,
    SparseCategoricalAccuracy,
    MeanAbsoluteError,
    MeanSquaredError,
};

struct MetricSpec {
    MetricKind kind = MetricKind::MeanSquaredError;
    std::string name;       ///< the key in Keras' history: as the user wrote it
    float threshold = 0.5f; ///< BinaryAccuracy
};

/// What the labels of a row must be.
struct LabelRule {
    std::int64_t columns = 1;
    /// Labels are whole numbers from 0 to classes - 1; 0: any finite numbers.
    std::int64_t classes = 0;

    /// Why `value` cannot be a label, a full sentence; empty where it can.
    std::string fault(double value) const;
};

struct CompileSpec {
    OptimizerSpec optimizer;
    LossSpec loss;
    std::vector<MetricSpec> metrics;
    LabelRule labels;
    /// Elements of the loss per row of the batch: the output's elements without the last axis.
    std::int64_t lossElementsPerRow = 1;

    /// What the loss sum (and so every gradient) of a global batch is divided by: its elements, or
    /// 1 for reduction "sum". 1 for no rows.
    double divisor(std::int64_t globalRows) const;
};

/// Reads `compile` ({optimizer, loss, metrics}; "rmsprop" is Keras' default optimizer but not known
/// here, so the optimizer must be given). `labelColumns`: columns of labels in the data, nothing
/// where not known yet. Gives nothing exactly when it reported an error.
std::optional<CompileSpec> readCompile(const json::Reader& compile, const Graph& graph,
                                       std::optional<std::int64_t> labelColumns = std::nullopt);

} // namespace lockstep::nn
