// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/keras_file/detail/config.h"

#include "core/base/snake_case.h"

namespace lockstep::keras_file::detail {

namespace {

using json::Value;

/// [null, 3, 4]
Value batchShape(const std::vector<std::int64_t>& input) {
    Value shape = Value::array({nullptr});
    for (const std::int64_t dim : input)
        shape.append(dim);
    return shape;
}

/// Without what is null, and without options of initializers that came after Keras 3.3.
Value withoutDefaults(const Value& value) {
    if (!value.isObject())
        return value;
    Value kept = Value::object();
    for (const json::Member& member : value.members())
        if (!member.value.isNull() && member.key != "input_axes" && member.key != "output_axes")
            kept.set(member.key, withoutDefaults(member.value));
    return kept;
}

Value layerEntry(const std::string& className, Value config) {
    return Value::object({{"module", "keras.layers"},
                          {"class_name", className},
                          {"config", std::move(config)},
                          {"registered_name", nullptr}});
}

Value inputLayer(const std::string& name, const std::vector<std::int64_t>& input) {
    return layerEntry(
        "InputLayer",
        Value::object({{"batch_shape", batchShape(input)}, {"dtype", "float32"}, {"name", name}}));
}

/// The layers of a Sequential model; Keras before 2.2.3 wrote the list itself.
const json::Array& layersOf(const Value& model) {
    static const json::Array none;
    const Value* config = model.find("config");
    const Value* layers = config && config->isArray() ? config
                          : config                    ? config->find("layers")
                                                      : nullptr;
    return layers && layers->isArray() ? layers->items() : none;
}

std::string textAt(const Value& object, const char* key) {
    const Value* text = object.find(key);
    return text && text->isString() ? text->toString() : std::string();
}

/// A name alone is an object without options.
Value optimizerObject(const Value& given) {
    return given.isString() ? Value::object({{"class_name", given}, {"config", Value::object()}})
                            : given;
}

/// Keras 2 reads "accuracy" in a file as equality, whatever the loss: the exact kind for it.
Value exactMetrics(const Value& metrics, const Value& loss) {
    const std::string name =
        snakeCase(loss.isString() ? loss.toString() : textAt(loss, "class_name"));
    const char* const kind = name == "sparse_categorical_crossentropy"
                                 ? "sparse_categorical_accuracy"
                             : name == "categorical_crossentropy" ? "categorical_accuracy"
                             : name == "binary_crossentropy"      ? "binary_accuracy"
                                                                  : nullptr;
    if (!kind || !metrics.isArray())
        return metrics;
    Value exact = Value::array();
    for (const Value& metric : metrics.items())
        exact.append(metric == Value("accuracy") || metric == Value("acc") ? Value(kind) : metric);
    return exact;
}

} // namespace

Value sequentialConfig(const Value& model, const std::vector<std::string>& names,
                       const std::vector<std::int64_t>& input) {
    Value layers = Value::array();
    const json::Array& given = layersOf(model);
    for (std::size_t i = 0; i < given.size() && i < names.size(); ++i) {
        const std::string className = textAt(given[i], "class_name");
        if (className == "InputLayer") {
            layers.append(inputLayer(names[i], input));
            continue;
        }
        if (i == 0)
            layers.append(inputLayer("input_layer", input));
        const Value* options = given[i].find("config");
        Value config = withoutDefaults(options && options->isObject() ? *options : Value::object());
        for (const char* key : {"batch_shape", "batch_input_shape", "input_shape"})
            config.remove(key);
        config.set("name", names[i]);
        config.set("dtype", "float32");
        layers.append(layerEntry(className, std::move(config)));
    }
    const Value* config = model.find("config");
    const std::string name = config ? textAt(*config, "name") : std::string();
    return Value::object({{"name", name.empty() ? "sequential" : name},
                          {"trainable", true},
                          {"dtype", "float32"},
                          {"layers", std::move(layers)},
                          {"build_input_shape", batchShape(input)}});
}

Value archiveConfig(const KerasModel& model) {
    return Value::object(
        {{"module", "keras"},
         {"class_name", "Sequential"},
         {"config", model.config},
         {"registered_name", nullptr},
         {"build_config", Value::object({{"input_shape", batchShape(model.input)}})},
         {"compile_config", model.compile.isNull() ? Value::object() : model.compile}});
}

Value legacyConfig(const KerasModel& model) {
    Value layers = Value::array();
    for (const Value& entry : model.config.find("layers")->items()) {
        Value config = *entry.find("config");
        if (const Value* shape = config.find("batch_shape")) {
            config.set("batch_input_shape", *shape);
            config.remove("batch_shape");
        }
        layers.append(Value::object(
            {{"class_name", *entry.find("class_name")}, {"config", std::move(config)}}));
    }
    return Value::object({{"class_name", "Sequential"},
                          {"config", Value::object({{"name", *model.config.find("name")},
                                                    {"layers", std::move(layers)}})}});
}

Value legacyTraining(const KerasModel& model) {
    if (model.compile.isNull() || !model.compile.find("optimizer"))
        return {};
    const auto part = [&](const char* key) {
        const Value* value = model.compile.find(key);
        return value ? *value : Value();
    };
    return Value::object({{"loss", part("loss")},
                          {"metrics", exactMetrics(part("metrics"), part("loss"))},
                          {"weighted_metrics", nullptr},
                          {"loss_weights", nullptr},
                          {"optimizer_config", optimizerObject(part("optimizer"))}});
}

} // namespace lockstep::keras_file::detail
