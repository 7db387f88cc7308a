// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/snake_case.h"
#include "core/nn/compile.h"
#include "core/nn/detail/keras_object.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

namespace lockstep::nn {

namespace {

using detail::ErrorWatch;
using tensor::ActivationKind;

std::string lowerCase(std::string text) {
    for (char& c : text)
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
}

void refuseName(const json::Reader& reader, const std::string& what, const std::string& name,
                const std::vector<std::string>& choices) {
    const std::string near = json::nearest(name, choices);
    reader.error("The " + what + " \"" + name + "\" is not known here.",
                 "one of " + json::listOr(choices),
                 near.empty() ? "" : "Did you mean \"" + near + "\"?");
}

// --- optimizer ---------------------------------------------------------------------------------

void readOptimizerOptions(const json::Reader& config, OptimizerSpec& spec) {
    const json::Reader rate = config.at("learning_rate");
    if (rate.value() && rate.value()->isObject())
        rate.error("A learning rate schedule is not supported.", "a number",
                   "Give the job a learning rate, and warm-up steps where needed.");
    else
        spec.learningRate = rate.number(0).value_or(spec.learningRate);
    std::vector<std::string> known{"name",
                                   "learning_rate",
                                   "weight_decay",
                                   "clipvalue",
                                   "clipnorm",
                                   "global_clipnorm",
                                   "use_ema",
                                   "ema_momentum",
                                   "decay",
                                   "ema_overwrite_frequency",
                                   "jit_compile",
                                   "is_legacy_optimizer",
                                   "loss_scale_factor",
                                   "gradient_accumulation_steps"};
    spec.weightDecay = config.at("weight_decay").number(0).value_or(spec.weightDecay);
    spec.clipValue = config.at("clipvalue").number(0).value_or(0);
    detail::refuseUsed(config, {"clipnorm", "global_clipnorm", "use_ema", "loss_scale_factor",
                                "gradient_accumulation_steps"});
    if (const json::Reader decay = config.at("decay"); decay.number().value_or(0) != 0)
        decay.error("The old option \"decay\" is not supported.", "0, or left out");
    if (spec.kind == OptimizerKind::Sgd) {
        known.insert(known.end(), {"momentum", "nesterov"});
        spec.momentum = config.at("momentum").number(0, 1).value_or(0);
        spec.nesterov = config.at("nesterov").boolean().value_or(false);
    } else {
        known.insert(known.end(), {"beta_1", "beta_2", "epsilon", "amsgrad"});
        const double belowOne = std::nextafter(1.0f, 0.0f);
        spec.beta1 = config.at("beta_1").number(0, belowOne).value_or(spec.beta1);
        spec.beta2 = config.at("beta_2").number(0, belowOne).value_or(spec.beta2);
        spec.epsilon = config.at("epsilon").number(0).value_or(spec.epsilon);
        spec.amsgrad = config.at("amsgrad").boolean().value_or(false);
    }
    detail::refuseUnknown(config, known);
}

OptimizerSpec readOptimizer(const json::Reader& reader) {
    OptimizerSpec spec;
    const auto object = detail::readObject(reader, "An optimizer");
    if (!object)
        return spec;
    const std::string name = lowerCase(object->name);
    if (name == "adam" || name == "adamw") {
        spec.kind = OptimizerKind::Adam;
        spec.name = name == "adam" ? "Adam" : "AdamW";
        spec.learningRate = 0.001;
        spec.weightDecay = name == "adam" ? 0.0 : 0.004;
    } else if (name != "sgd") {
        refuseName(reader, "optimizer", object->name, {"sgd", "adam", "adamw"});
        return spec;
    }
    if (object->config.exists())
        readOptimizerOptions(object->config, spec);
    return spec;
}

// --- loss --------------------------------------------------------------------------------------

const std::map<std::string, LossKind>& losses() {
    using enum LossKind;
    static const std::map<std::string, LossKind> table{
        {"mse", MeanSquaredError},
        {"mean_squared_error", MeanSquaredError},
        {"mae", MeanAbsoluteError},
        {"mean_absolute_error", MeanAbsoluteError},
        {"bce", BinaryCrossentropy},
        {"binary_crossentropy", BinaryCrossentropy},
        {"categorical_crossentropy", CategoricalCrossentropy},
        {"sparse_categorical_crossentropy", SparseCategoricalCrossentropy},
    };
    return table;
}

template <class Table>
std::vector<std::string> longNames(const Table& table) {
    std::vector<std::string> names;
    for (const auto& [name, kind] : table)
        names.push_back(name);
    return names;
}

/// "MSE" and "mse" are functions' names, "MeanSquaredError" a class.
std::string canonicalName(const std::string& name) {
    return name == "MSE" || name == "MAE" || name == "BCE" ? lowerCase(name) : snakeCase(name);
}

void readLossOptions(const json::Reader& config, LossSpec& loss) {
    std::vector<std::string> known{"name", "dtype", "reduction", "fn"};
    detail::readDType(config.at("dtype"));
    const auto reduction =
        config.at("reduction")
            .oneOf({"sum_over_batch_size", "mean", "mean_with_sample_weight", "auto", "sum"});
    if (reduction && *reduction == "sum")
        loss.reduction = Reduction::Sum;
    if (loss.kind != LossKind::MeanSquaredError && loss.kind != LossKind::MeanAbsoluteError) {
        known.insert(known.end(), {"from_logits", "axis"});
        loss.fromLogits = config.at("from_logits").boolean().value_or(false);
        config.at("axis").integer(-1, -1);
    }
    if (loss.kind == LossKind::SparseCategoricalCrossentropy) {
        known.push_back("ignore_class");
        detail::refuseUsed(config, {"ignore_class"});
    } else if (loss.kind == LossKind::BinaryCrossentropy ||
               loss.kind == LossKind::CategoricalCrossentropy) {
        known.push_back("label_smoothing");
        loss.labelSmoothing = config.at("label_smoothing").number(0, 1).value_or(0);
    }
    detail::refuseUnknown(config, known);
}

bool endsIn(const Graph& graph, ActivationKind kind) {
    return graph.lastActivation().kind == kind;
}

/// Keras keeps what entered a final softmax or sigmoid and computes every crossentropy from that,
/// whatever from_logits says and whichever of the two it was.
void decideLogits(const json::Reader& reader, const Graph& graph, LossSpec& loss) {
    if (loss.kind == LossKind::MeanSquaredError || loss.kind == LossKind::MeanAbsoluteError)
        return;
    const bool softmax = endsIn(graph, ActivationKind::Softmax);
    const bool sigmoid = endsIn(graph, ActivationKind::Sigmoid);
    loss.beforeActivation = softmax || sigmoid;
    if (loss.beforeActivation && loss.fromLogits)
        reader.warning(std::string("from_logits is true, but the model ends in a ") +
                           (softmax ? "softmax" : "sigmoid") +
                           ". As in Keras, the loss is computed from what enters it.",
                       {}, "Remove the last activation, or from_logits.");
    else if (loss.beforeActivation && sigmoid != (loss.kind == LossKind::BinaryCrossentropy))
        reader.warning(std::string("The model ends in a ") + (softmax ? "softmax" : "sigmoid") +
                           ", which does not belong to this loss. As in Keras, the loss applies "
                           "its own to what enters the last activation.",
                       {},
                       softmax ? "End in a sigmoid, or take categorical_crossentropy."
                               : "End in a softmax, or take binary_crossentropy.");
}

LossKind crossentropyFor(const Graph& graph, std::optional<std::int64_t> labelColumns) {
    const std::int64_t width = graph.outputShape().last();
    if (width == 1)
        return LossKind::BinaryCrossentropy;
    return labelColumns == graph.outputShape().elements() ? LossKind::CategoricalCrossentropy
                                                          : LossKind::SparseCategoricalCrossentropy;
}

std::optional<LossSpec> readLoss(const json::Reader& reader, const Graph& graph,
                                 std::optional<std::int64_t> labelColumns) {
    const ErrorWatch watch(reader);
    const auto object = detail::readObject(reader, "A loss");
    if (!object)
        return std::nullopt;
    LossSpec loss;
    const std::string name = canonicalName(object->name);
    if (name == "crossentropy" || name == "ce") {
        loss.kind = crossentropyFor(graph, labelColumns);
    } else if (const auto found = losses().find(name); found != losses().end()) {
        loss.kind = found->second;
    } else {
        refuseName(reader, "loss", object->name, longNames(losses()));
        return std::nullopt;
    }
    if (object->config.exists())
        readLossOptions(object->config, loss);
    decideLogits(reader, graph, loss);
    return watch.failed() ? std::nullopt : std::optional(loss);
}

bool usesClasses(LossKind kind) {
    return kind == LossKind::SparseCategoricalCrossentropy;
}

/// Labels that the loss needs for this output; reports where the data has others.
LabelRule readLabels(const json::Reader& reader, const Graph& graph, LossKind kind,
                     std::optional<std::int64_t> labelColumns) {
    const Shape& output = graph.outputShape();
    const std::int64_t width = output.last();
    LabelRule rule;
    rule.columns = usesClasses(kind) ? output.elements() / width : output.elements();
    rule.classes = usesClasses(kind) ? width : 0;
    const bool categorical = usesClasses(kind) || kind == LossKind::CategoricalCrossentropy;
    if (categorical && width < 2)
        reader.error("A categorical loss needs an output per class; the last layer \"" +
                         graph.layers().back().name + "\" gives " + output.batchText() + ".",
                     "at least 2 outputs",
                     "Give the last layer one unit per class, or take binary_crossentropy.");
    else if (labelColumns && *labelColumns != rule.columns) {
        const char* hint = "Change the last layer's units, or the label columns of the data.";
        if (kind == LossKind::CategoricalCrossentropy && *labelColumns == output.elements() / width)
            hint = "For labels that are class numbers take sparse_categorical_crossentropy.";
        else if (usesClasses(kind) && *labelColumns == output.elements())
            hint = "For labels with a column per class take categorical_crossentropy.";
        reader.error("The model's output " + output.batchText() + " of layer \"" +
                         graph.layers().back().name + "\" does not fit the data's " +
                         std::to_string(*labelColumns) + " label column" +
                         (*labelColumns == 1 ? "" : "s") + " with this loss.",
                     std::to_string(rule.columns) + " label column" +
                         (rule.columns == 1 ? "" : "s") + " per row",
                     hint);
    }
    return rule;
}

// --- metrics -----------------------------------------------------------------------------------

const std::map<std::string, MetricKind>& metrics() {
    using enum MetricKind;
    static const std::map<std::string, MetricKind> table{
        {"binary_accuracy", BinaryAccuracy},
        {"categorical_accuracy", CategoricalAccuracy},
        {"sparse_categorical_accuracy", SparseCategoricalAccuracy},
        {"mae", MeanAbsoluteError},
        {"mean_absolute_error", MeanAbsoluteError},
        {"mse", MeanSquaredError},
        {"mean_squared_error", MeanSquaredError},
    };
    return table;
}

/// The form of accuracy that Keras takes for these shapes.
MetricKind accuracyFor(const Graph& graph, const LabelRule& labels) {
    const Shape& output = graph.outputShape();
    if (output.last() == 1)
        return MetricKind::BinaryAccuracy;
    return labels.columns == output.elements() ? MetricKind::CategoricalAccuracy
                                               : MetricKind::SparseCategoricalAccuracy;
}

void checkMetricLabels(const json::Reader& reader, const Graph& graph, const LabelRule& labels,
                       const MetricSpec& metric) {
    const bool classes = metric.kind == MetricKind::SparseCategoricalAccuracy;
    const Shape& output = graph.outputShape();
    const std::int64_t columns = classes ? output.elements() / output.last() : output.elements();
    if (columns == labels.columns && !(classes && output.last() == 1))
        return;
    reader.error("The metric \"" + metric.name + "\" does not fit the labels of this loss (" +
                     std::to_string(labels.columns) + " per row) and the output " +
                     output.batchText() + ".",
                 classes ? "class numbers as labels, and an output per class"
                         : "labels of the output's shape",
                 "Take \"accuracy\", which finds its form by itself, or remove the metric.");
}

std::optional<MetricSpec> readMetric(const json::Reader& reader, const Graph& graph,
                                     const LabelRule& labels) {
    const auto object = detail::readObject(reader, "A metric");
    if (!object)
        return std::nullopt;
    const bool byName = reader.value()->isString();
    const std::string lower = lowerCase(object->name);
    const std::string canonical = canonicalName(object->name);
    MetricSpec metric;
    metric.name = byName ? object->name : canonical;
    if (byName && (lower == "accuracy" || lower == "acc")) {
        metric.kind = accuracyFor(graph, labels);
    } else if (const auto found = metrics().find(canonical); found != metrics().end()) {
        metric.kind = found->second;
    } else {
        std::vector<std::string> names = longNames(metrics());
        names.insert(names.begin(), "accuracy");
        refuseName(reader, "metric", object->name, names);
        return std::nullopt;
    }
    std::vector<std::string> known{"name", "dtype", "fn"};
    const json::Reader& config = object->config;
    metric.name = config.at("name").string().value_or(metric.name);
    if (metric.kind == MetricKind::BinaryAccuracy) {
        known.push_back("threshold");
        metric.threshold = static_cast<float>(config.at("threshold").number(0, 1).value_or(0.5));
    }
    if (config.exists())
        detail::refuseUnknown(config, known);
    checkMetricLabels(reader, graph, labels, metric);
    return metric;
}

std::vector<MetricSpec> readMetrics(const json::Reader& reader, const Graph& graph,
                                    const LabelRule& labels) {
    std::vector<MetricSpec> list;
    std::set<std::string> names{"loss"};
    for (const json::Reader& item : reader.items()) {
        if (item.isAbsent()) {
            item.error("A metric cannot be null.", "a name or an object");
            continue;
        }
        const auto metric = readMetric(item, graph, labels);
        if (!metric)
            continue;
        if (!names.insert(metric->name).second) {
            item.warning("The metric \"" + metric->name + "\" is listed twice and counted once.");
            continue;
        }
        list.push_back(*metric);
    }
    return list;
}

} // namespace

std::string LabelRule::fault(double value) const {
    const bool whole = value == std::floor(value);
    if (std::isfinite(value) &&
        (classes == 0 || (whole && value >= 0 && value < static_cast<double>(classes))))
        return {};
    std::ostringstream text;
    text << "The label " << value << " is not ";
    if (classes == 0)
        text << "a finite number.";
    else
        text << "a class: the model has " << classes << " outputs, so classes are whole numbers "
             << "from 0 to " << classes - 1 << ".";
    return text.str();
}

double CompileSpec::divisor(std::int64_t globalRows) const {
    if (loss.reduction == Reduction::Sum || globalRows <= 0)
        return 1;
    return static_cast<double>(globalRows) * static_cast<double>(lossElementsPerRow);
}

std::optional<CompileSpec> readCompile(const json::Reader& compile, const Graph& graph,
                                       std::optional<std::int64_t> labelColumns) {
    const ErrorWatch watch(compile);
    if (compile.isAbsent()) {
        compile.error("\"compile\" is missing.", "an object with optimizer, loss and metrics");
        return std::nullopt;
    }
    if (!compile.isObject())
        return std::nullopt;
    // What changes speed alone is accepted.
    detail::refuseUnknown(compile,
                          {"optimizer", "loss", "metrics", "loss_weights", "weighted_metrics",
                           "run_eagerly", "steps_per_execution", "jit_compile", "auto_scale_loss"});
    detail::refuseUsed(compile, {"loss_weights", "weighted_metrics"});
    for (const char* const key : {"optimizer", "loss"})
        if (const json::Reader value = compile.at(key); value.isAbsent())
            value.error(std::string("\"") + key + "\" is missing.",
                        key == std::string("loss") ? "a loss like \"mse\""
                                                   : "an optimizer like \"adam\"");
    CompileSpec spec;
    spec.optimizer = readOptimizer(compile.at("optimizer"));
    const json::Reader lossReader = compile.at("loss");
    const auto loss = readLoss(lossReader, graph, labelColumns);
    if (!loss)
        return std::nullopt;
    spec.loss = *loss;
    spec.labels = readLabels(lossReader, graph, loss->kind, labelColumns);
    const Shape& output = graph.outputShape();
    spec.lossElementsPerRow = output.elements() / output.last();
    spec.metrics = readMetrics(compile.at("metrics"), graph, spec.labels);
    return watch.failed() ? std::nullopt : std::optional(spec);
}

} // namespace lockstep::nn
