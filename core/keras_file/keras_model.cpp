// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/keras_file/keras_model.h"

#include "core/base/clock.h"
#include "core/base/failure.h"
#include "core/base/files.h"
#include "core/base/snake_case.h"
#include "core/keras_file/detail/config.h"
#include "core/keras_file/detail/h5_file.h"
#include "core/keras_file/detail/zip_file.h"

#include <algorithm>
#include <map>
#include <span>

namespace lockstep::keras_file {

namespace {

using json::Value;

/// The oldest Keras that opens the files of this form.
constexpr const char* kKerasVersion = "3.3.3";

std::string metadataOf(const archive::Archive& archive, const std::string& key) {
    for (const auto& [name, value] : archive.metadata)
        if (name == key)
            return value;
    return {};
}

/// Null where the entry is missing.
Result<Value> jsonOf(const archive::Archive& archive, const std::string& key) {
    const std::string text = metadataOf(archive, key);
    if (text.empty())
        return Value();
    return json::parse(text, key, json::Dialect::Keras);
}

Error corrupt(const std::string& message) {
    return {Code::Corrupt, message, "model.safetensors"};
}

Result<std::vector<std::int64_t>> integersOf(const Value& list) {
    std::vector<std::int64_t> numbers;
    if (list.isArray())
        for (const Value& item : list.items())
            if (item.isInteger())
                numbers.push_back(item.toInteger());
    if (!list.isArray() || numbers.size() != list.size())
        return corrupt("The archive does not say the shape of the model's input.");
    return numbers;
}

Result<std::vector<std::string>> namesOf(const Value& list) {
    std::vector<std::string> names;
    if (list.isArray())
        for (const Value& item : list.items())
            if (item.isString())
                names.push_back(item.toString());
    if (names.empty() || names.size() != list.size())
        return corrupt("The archive does not say the names of the model's layers.");
    return names;
}

/// Those that are named "optimizer/<slot>/<layer>/<variable>", by their slots.
void takeSlots(std::vector<archive::Array>& arrays, KerasOptimizer& optimizer) {
    const std::string prefix = "optimizer/";
    const auto isSlot = [&](const archive::Array& array) {
        return array.name.starts_with(prefix) &&
               std::count(array.name.begin(), array.name.end(), '/') == 3;
    };
    for (archive::Array& array : arrays) {
        if (!isSlot(array))
            continue;
        const std::string slot =
            array.name.substr(prefix.size(), array.name.find('/', prefix.size()) - prefix.size());
        auto at = std::find_if(optimizer.slots.begin(), optimizer.slots.end(),
                               [&](const auto& each) { return each.first == slot; });
        if (at == optimizer.slots.end())
            at = optimizer.slots.insert(optimizer.slots.end(), {slot, {}});
        at->second.push_back(array);
    }
    std::erase_if(arrays, isSlot);
}

/// Nothing where the archive has none.
std::optional<KerasOptimizer> optimizerOf(const Value& facts, std::vector<archive::Array>& arrays) {
    const Value* name = facts.find("name");
    const Value* iterations = facts.find("iterations");
    const Value* rate = facts.find("learning_rate");
    if (!name || !name->isString() || !iterations || !iterations->isInteger() || !rate ||
        !rate->isNumber())
        return std::nullopt;
    KerasOptimizer optimizer{name->toString(), iterations->toInteger(), rate->toNumber(), {}};
    takeSlots(arrays, optimizer);
    return optimizer;
}

/// Gives each layer the arrays that are named after it.
Status takeVariables(std::vector<archive::Array> arrays, std::vector<KerasLayer>& layers) {
    for (archive::Array& array : arrays) {
        const std::size_t slash = array.name.find('/');
        const std::string owner = array.name.substr(0, slash);
        const auto layer = std::find_if(layers.begin(), layers.end(),
                                        [&](const KerasLayer& l) { return l.name == owner; });
        if (slash == std::string::npos || layer == layers.end())
            return corrupt("The array \"" + array.name + "\" belongs to no layer of the model.");
        if (array.type != archive::ElementType::Float32)
            return corrupt("The array \"" + array.name + "\" is not of float32.");
        array.name.erase(0, slash + 1);
        layer->variables.push_back(std::move(array));
    }
    return {};
}

/// "dense", "dense_1", ...: where each layer's arrays lie in a weights file.
std::vector<std::string> pathsOf(const KerasModel& model) {
    std::map<std::string, int> used;
    std::vector<std::string> paths;
    for (const KerasLayer& layer : model.layers) {
        const std::string stem = snakeCase(layer.className);
        const int number = used[stem]++;
        paths.push_back("/layers/" + stem + (number > 0 ? "_" + std::to_string(number) : ""));
    }
    return paths;
}

/// The order in which Keras 3 numbers an optimizer's arrays: Adam's first two kinds take turns over
/// the variables, every other kind stands in a block.
std::vector<const archive::Array*> numbered(const KerasOptimizer& optimizer) {
    std::vector<const archive::Array*> arrays;
    std::size_t first = 0;
    if (optimizer.name.starts_with("Adam") && optimizer.slots.size() >= 2) {
        for (std::size_t i = 0; i < optimizer.slots[0].second.size(); ++i)
            for (first = 0; first < 2; ++first)
                arrays.push_back(&optimizer.slots[first].second[i]);
        first = 2;
    }
    for (; first < optimizer.slots.size(); ++first)
        for (const archive::Array& array : optimizer.slots[first].second)
            arrays.push_back(&array);
    return arrays;
}

void writeOptimizer(detail::H5File& file, const KerasOptimizer& optimizer) {
    const std::string vars = "/optimizer/vars/";
    file.writeInteger(vars + '0', optimizer.iterations);
    const auto rate = static_cast<float>(optimizer.learningRate);
    file.writeFloats(vars + '1', {}, std::as_bytes(std::span(&rate, 1)));
    int number = 2;
    for (const archive::Array* array : numbered(optimizer))
        file.writeFloats(vars + std::to_string(number++), array->shape, array->bytes);
}

/// Keras up to 3.5 wants the group "vars" of every layer, also of one without arrays.
std::string weightsImage(const KerasModel& model) {
    detail::H5File file;
    file.makeGroup("/vars");
    const std::vector<std::string> paths = pathsOf(model);
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
        const KerasLayer& layer = model.layers[i];
        if (layer.className == "InputLayer")
            continue; // a Sequential model does not keep it
        const std::string vars = paths[i] + "/vars";
        file.makeGroup(vars);
        file.setText(vars, "name", layer.name);
        for (std::size_t place = 0; place < layer.variables.size(); ++place)
            file.writeFloats(vars + '/' + std::to_string(place), layer.variables[place].shape,
                             layer.variables[place].bytes);
    }
    if (model.optimizer && !model.compile.isNull())
        writeOptimizer(file, *model.optimizer);
    return file.image();
}

std::string archiveImage(const KerasModel& model) {
    const std::string now = isoTime(Clock::system().utcSeconds()); // "2026-01-31T14:02:03.123Z"
    const Value metadata =
        Value::object({{"keras_version", kKerasVersion},
                       {"date_saved", now.substr(0, 10) + '@' + now.substr(11, 8)}});
    return detail::zipOf({{"metadata.json", json::dump(metadata)},
                          {"config.json", json::dump(detail::archiveConfig(model))},
                          {"model.weights.h5", weightsImage(model)}});
}

/// Names as Keras 2 writes them; both match arrays by their order.
std::string legacyImage(const KerasModel& model) {
    detail::H5File file;
    const std::string root = "/model_weights";
    file.makeGroup(root);
    file.setText("/", "keras_version", kKerasVersion);
    file.setText("/", "backend", "tensorflow");
    file.setText("/", "model_config", json::dump(detail::legacyConfig(model)));
    if (const Value training = detail::legacyTraining(model); !training.isNull())
        file.setText("/", "training_config", json::dump(training));
    file.setText(root, "keras_version", kKerasVersion);
    file.setText(root, "backend", "tensorflow");
    std::vector<std::string> layers;
    for (const KerasLayer& layer : model.layers) {
        if (layer.className == "InputLayer")
            continue;
        layers.push_back(layer.name);
        const std::string group = root + '/' + layer.name;
        file.makeGroup(group);
        std::vector<std::string> names;
        for (const archive::Array& array : layer.variables) {
            names.push_back(layer.name + '/' + array.name + ":0");
            file.writeFloats(group + '/' + names.back(), array.shape, array.bytes);
        }
        file.setTexts(group, "weight_names", names);
    }
    file.setTexts(root, "layer_names", layers);
    file.makeGroup(root + "/top_level_model_weights");
    file.setTexts(root + "/top_level_model_weights", "weight_names", {});
    return file.image();
}

} // namespace

Result<KerasModel> modelOf(archive::Archive archive) {
    KerasModel model;
    const Result<Value> given = jsonOf(archive, "keras_model");
    const Result<Value> compile = jsonOf(archive, "keras_compile");
    const Result<Value> layers = jsonOf(archive, "layers");
    const Result<Value> input = jsonOf(archive, "input_shape");
    for (const Result<Value>* each : {&given, &compile, &layers, &input})
        if (!*each)
            return each->error();
    const Value* className = given->find("class_name");
    if (!className)
        return Error{Code::Unsupported,
                     "This archive does not hold the model's configuration; it was written by an "
                     "older Lockstep. Export it as safetensors.",
                     "model.safetensors"};
    if (!(*className == Value("Sequential")))
        return Error{Code::Unsupported,
                     "Models of class " + json::nameOf(*className) +
                         " cannot be written for Keras yet. Export it as safetensors.",
                     "model.safetensors"};
    const auto names = namesOf(*layers);
    if (!names)
        return names.error();
    const auto shape = integersOf(*input);
    if (!shape)
        return shape.error();
    model.input = *shape;
    model.compile = *compile;
    model.config = detail::sequentialConfig(*given, *names, *shape);
    for (const Value& entry : model.config.find("layers")->items())
        model.layers.push_back({entry.find("config")->find("name")->toString(),
                                entry.find("class_name")->toString(),
                                {}});
    if (const auto facts = jsonOf(archive, "optimizer"))
        model.optimizer = optimizerOf(*facts, archive.arrays);
    LOCKSTEP_TRY(takeVariables(std::move(archive.arrays), model.layers));
    return model;
}

Status write(const KerasModel& model, Format format, const std::string& path) {
    try {
        switch (format) {
        case Format::Keras:
            return files::writeAtomic(path, archiveImage(model));
        case Format::WeightsH5:
            return files::writeAtomic(path, weightsImage(model));
        case Format::LegacyH5:
            return files::writeAtomic(path, legacyImage(model));
        }
    } catch (const Failure& failure) {
        return failure.error();
    }
    return {};
}

} // namespace lockstep::keras_file
