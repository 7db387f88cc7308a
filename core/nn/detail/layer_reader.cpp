// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/nn/detail/layer_reader.h"

#include "core/nn/detail/keras_object.h"

#include <algorithm>
#include <map>

namespace lockstep::nn::detail {

namespace {

using tensor::ActivationKind;

/// Options that every layer has. The first layer's may state the model's input.
const std::vector<std::string> commonOptions{"name",         "trainable",         "dtype",
                                             "dtype_policy", "batch_input_shape", "batch_shape",
                                             "input_shape",  "batch_size"};

void refuseOtherOptions(const json::Reader& config, std::vector<std::string> known) {
    known.insert(known.end(), commonOptions.begin(), commonOptions.end());
    refuseUnknown(config, known);
}

Activation withSlope(ActivationKind kind, double slope) {
    Activation f{kind};
    f.slope = static_cast<float>(slope);
    return f;
}

Activation withMaximum(double maxValue) {
    Activation f{ActivationKind::Relu};
    f.maxValue = static_cast<float>(maxValue);
    return f;
}

/// By Keras' function names. What differs between Keras 2 and 3 (hard_sigmoid) is left out.
const std::map<std::string, Activation>& activations() {
    using enum ActivationKind;
    static const std::map<std::string, Activation> table{
        {"linear", {Linear}},
        {"relu", {Relu}},
        {"relu6", withMaximum(6)},
        {"leaky_relu", withSlope(Relu, 0.2)},
        {"elu", {Elu}},
        {"selu", {Selu}},
        {"softplus", {Softplus}},
        {"softsign", {Softsign}},
        {"sigmoid", {Sigmoid}},
        {"tanh", {Tanh}},
        {"exponential", {Exponential}},
        {"silu", {Silu}},
        {"swish", {Silu}},
        {"gelu", {Gelu}},
        {"softmax", {Softmax}},
        {"log_softmax", {LogSoftmax}},
    };
    return table;
}

void needsAxis(const json::Reader& reader, const Activation& f, const Shape& shape) {
    const bool works = f.kind != ActivationKind::Softmax && f.kind != ActivationKind::LogSoftmax;
    if (!works && shape.rank() == 0)
        reader.error("A softmax needs an axis besides the batch, the input is " +
                         shape.batchText() + ".",
                     "an input of at least two dimensions");
}

Activation readReluOptions(const json::Reader& config) {
    Activation f{ActivationKind::Relu};
    if (const auto value = config.at("max_value").number(0))
        f.maxValue = static_cast<float>(*value);
    f.slope = static_cast<float>(config.at("negative_slope").number(0).value_or(0));
    f.threshold = static_cast<float>(config.at("threshold").number(0).value_or(0));
    refuseOtherOptions(config, {"max_value", "negative_slope", "threshold"});
    return f;
}

Activation readLeakyReluOptions(const json::Reader& config) {
    refuseOtherOptions(config, {"negative_slope", "alpha"});
    const json::Reader slope =
        config.at(config.at("alpha").isAbsent() ? "negative_slope" : "alpha");
    return withSlope(ActivationKind::Relu, slope.number(0).value_or(0.3));
}

Activation readEluOptions(const json::Reader& config) {
    refuseOtherOptions(config, {"alpha"});
    Activation f{ActivationKind::Elu};
    f.alpha = static_cast<float>(config.at("alpha").number().value_or(1));
    return f;
}

Activation readSoftmaxOptions(const json::Reader& config, const Shape& shape) {
    refuseOtherOptions(config, {"axis"});
    json::Reader axis = config.at("axis");
    if (axis.value() && axis.value()->isArray() && axis.value()->size() == 1)
        axis = axis.items().front();
    const auto rank = static_cast<std::int64_t>(shape.rank());
    const auto value = axis.integer();
    if (value && *value != -1 && *value != rank)
        axis.error("A softmax over axis " + std::to_string(*value) + " of " + shape.batchText() +
                       " is not supported.",
                   "-1, the last axis");
    return {ActivationKind::Softmax};
}

/// The activation of a layer that is nothing else; nothing where the class is another.
std::optional<Activation> readActivationClass(const std::string& className,
                                              const json::Reader& config, const Shape& shape) {
    if (className == "ReLU")
        return readReluOptions(config);
    if (className == "LeakyReLU")
        return readLeakyReluOptions(config);
    if (className == "ELU")
        return readEluOptions(config);
    if (className == "Softmax")
        return readSoftmaxOptions(config, shape);
    return std::nullopt;
}

void readDense(const json::Reader& config, Layer& layer) {
    DenseConfig dense;
    dense.units = config.require("units", "the number of outputs")
                      .integer(1, std::int64_t{1} << 31)
                      .value_or(0);
    dense.useBias = config.at("use_bias").boolean().value_or(true);
    const auto kernel =
        readInitializer(config.at("kernel_initializer"), Initializer::glorotUniform());
    const json::Reader biasReader = config.at("bias_initializer");
    const auto bias = readInitializer(biasReader, Initializer::zeros());
    if (bias && dense.useBias &&
        (bias->kind == InitializerKind::Identity || bias->kind == InitializerKind::Orthogonal))
        biasReader.error("A bias is a vector; this initializer makes matrices.",
                         "an initializer like \"zeros\"");
    refuseUsed(config, {"kernel_regularizer", "bias_regularizer", "activity_regularizer",
                        "kernel_constraint", "bias_constraint", "lora_rank", "lora_alpha",
                        "quantization_config"});
    refuseOtherOptions(config, {"units", "use_bias", "activation", "kernel_initializer",
                                "bias_initializer", "kernel_regularizer", "bias_regularizer",
                                "activity_regularizer", "kernel_constraint", "bias_constraint",
                                "lora_rank", "lora_alpha", "quantization_config"});
    if (layer.input.rank() == 0) {
        config.error("The layer \"" + layer.name + "\" (Dense) gets " + layer.input.batchText() +
                         ", which has no features.",
                     "an input of at least two dimensions");
        return;
    }
    const double size = static_cast<double>(dense.units) *
                        static_cast<double>(std::max(layer.input.last(), layer.input.elements()));
    if (size > static_cast<double>(mostElements)) {
        config.at("units").error("The layer \"" + layer.name + "\" (Dense) of " +
                                     std::to_string(dense.units) + " units on " +
                                     layer.input.batchText() + " is too large.",
                                 "at most 2^38 parameters and outputs");
        return;
    }
    std::vector<std::int64_t> dims = layer.input.dims();
    dims.back() = dense.units;
    layer.output = Shape(std::move(dims));
    const auto activation = readActivation(config.at("activation"), layer.output);
    if (kernel && bias && activation) {
        dense.kernel = *kernel;
        dense.bias = *bias;
        dense.activation = *activation;
        layer.config = dense;
    }
}

void readDropout(const json::Reader& config, Layer& layer) {
    const double rate = config.require("rate", "the fraction to drop").number(0, 1).value_or(0);
    refuseUsed(config, {"noise_shape"});
    refuseOtherOptions(config, {"rate", "seed", "noise_shape"});
    layer.config = DropoutConfig{rate};
}

void readFlatten(const json::Reader& config, Layer& layer) {
    const json::Reader format = config.at("data_format");
    const auto value = format.oneOf({"channels_last", "channels_first"});
    if (value == "channels_first" && layer.input.rank() > 2)
        format.error("\"channels_first\" is not supported for " + layer.input.batchText() + ".",
                     "\"channels_last\"");
    refuseOtherOptions(config, {"data_format"});
    layer.output = Shape{layer.input.elements()};
}

void readReshape(const json::Reader& config, Layer& layer) {
    const json::Reader target = config.require("target_shape", "the new shape, a list of numbers");
    std::vector<std::int64_t> dims;
    const std::int64_t elements = layer.input.elements();
    std::int64_t known = 1;
    std::size_t open = 0;
    const ErrorWatch watch(config);
    for (const json::Reader& item : target.items()) {
        const std::int64_t dim = item.integer(-1, std::int64_t{1} << 40).value_or(1);
        open += dim == -1 ? 1 : 0;
        if (dim > 0) // more than elements do not fit, however many
            known = known > elements / dim ? elements + 1 : known * dim;
        else if (dim == 0)
            item.error("A dimension cannot be 0.", "a positive number, or -1 once");
        dims.push_back(dim);
    }
    refuseOtherOptions(config, {"target_shape"});
    if (watch.failed())
        return;
    const bool fits = open == 0 ? known == elements : open == 1 ? elements % known == 0 : false;
    if (!fits) {
        target.error("The layer \"" + layer.name + "\" (Reshape) cannot make " +
                         Shape(dims).text() + " of its input " + layer.input.batchText() + ".",
                     "dimensions whose product is " + std::to_string(elements) +
                         ", one of them may be -1");
        return;
    }
    for (std::int64_t& dim : dims)
        dim = dim == -1 ? elements / known : dim;
    layer.output = Shape(std::move(dims));
}

} // namespace

std::vector<std::string> layerClasses() {
    return {"InputLayer", "Dense", "Activation", "ReLU",    "Softmax",
            "LeakyReLU",  "ELU",   "Dropout",    "Flatten", "Reshape"};
}

bool needsOptions(const std::string& className) {
    return className == "Dense" || className == "Dropout" || className == "Reshape" ||
           className == "Activation";
}

std::optional<Activation> readActivation(const json::Reader& reader, const Shape& shape) {
    const ErrorWatch watch(reader);
    const auto object = readObject(reader, "An activation");
    if (!object)
        return watch.failed() ? std::nullopt : std::optional(Activation{});
    std::optional<Activation> f = readActivationClass(object->name, object->config, shape);
    if (!f) {
        const auto found = activations().find(object->name);
        if (found == activations().end()) {
            std::vector<std::string> names;
            for (const auto& [name, activation] : activations())
                names.push_back(name);
            const std::string near = json::nearest(object->name, names);
            reader.error("The activation \"" + object->name + "\" is not known here.",
                         "one of " + json::listOr(names),
                         near.empty() ? "" : "Did you mean \"" + near + "\"?");
            return std::nullopt;
        }
        f = found->second;
    }
    needsAxis(reader, *f, shape);
    return watch.failed() ? std::nullopt : f;
}

void readLayer(const json::Reader& entry, const json::Reader& config, Layer& layer) {
    layer.trainable = config.at("trainable").boolean().value_or(true);
    layer.output = layer.input;
    readDType(config.at("dtype"));
    if (layer.className == "InputLayer") {
        refuseUsed(config, {"sparse", "ragged", "optional"});
        refuseOtherOptions(config, {"sparse", "ragged", "optional"});
    } else if (layer.className == "Dense") {
        readDense(config, layer);
    } else if (layer.className == "Dropout") {
        readDropout(config, layer);
    } else if (layer.className == "Flatten") {
        readFlatten(config, layer);
    } else if (layer.className == "Reshape") {
        readReshape(config, layer);
    } else if (layer.className == "Activation") {
        refuseOtherOptions(config, {"activation"});
        const json::Reader name = config.require("activation", "the activation's name");
        if (const auto f = readActivation(name, layer.input))
            layer.config = ActivationConfig{*f};
    } else if (const auto f = readActivationClass(layer.className, config, layer.input)) {
        needsAxis(entry, *f, layer.input);
        layer.config = ActivationConfig{*f};
    }
}

} // namespace lockstep::nn::detail
