// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/snake_case.h"
#include "core/nn/detail/keras_object.h"
#include "core/nn/detail/layer_reader.h"
#include "core/nn/graph.h"

#include <algorithm>
#include <set>

namespace lockstep::nn {

namespace {

using detail::ErrorWatch;

struct LayerEntry {
    json::Reader entry;
    json::Reader config;
    std::string className;
};

/// The classes and configs of the layers; reports those that are not known.
std::vector<LayerEntry> readEntries(const json::Reader& layers) {
    std::vector<LayerEntry> entries;
    const std::vector<std::string> known = detail::layerClasses();
    for (const json::Reader& entry : layers.items()) {
        if (!entry.isObject())
            continue;
        const auto object = detail::readObject(entry, "A layer");
        if (!object)
            continue;
        detail::refuseUnknown(entry, {"module", "class_name", "config", "registered_name",
                                      "build_config", "compile_config", "name", "inbound_nodes"});
        if (std::find(known.begin(), known.end(), object->name) == known.end()) {
            const std::string near = json::nearest(object->name, known);
            entry.at("class_name")
                .error("The layer \"" + object->name + "\" is not known here.",
                       "one of " + json::listOr(known),
                       near.empty() ? "Build the model from these layers, or run your own script "
                                      "with a command job."
                                    : "Did you mean \"" + near + "\"?");
            continue;
        }
        const json::Reader config = entry.at("config");
        if (config.isAbsent() && detail::needsOptions(object->name)) {
            entry.error("The layer at place " + std::to_string(entries.size()) + " (" +
                            object->name + ") has no config.",
                        "an object with the layer's options");
            continue;
        }
        entries.push_back({entry, config, object->name});
    }
    return entries;
}

/// The shape of these dimensions, unless it is too large.
std::optional<Shape> checkedShape(const json::Reader& reader, std::vector<std::int64_t> dims) {
    double elements = 1;
    for (const std::int64_t dim : dims)
        elements *= static_cast<double>(dim);
    if (elements <= static_cast<double>(detail::mostElements))
        return Shape(std::move(dims));
    reader.error("The input " + Shape(dims).batchText() + " is too large.",
                 "at most 2^38 elements per row");
    return std::nullopt;
}

/// [null, 3, 4] -> (3, 4). The batch may be any number.
std::optional<Shape> readBatchShape(const json::Reader& reader) {
    const ErrorWatch watch(reader);
    const std::vector<json::Reader> items = reader.items();
    if (!watch.failed() && items.empty())
        reader.error("The input's shape is empty.", "null for the batch, then the dimensions");
    std::vector<std::int64_t> dims;
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (i == 0) {
            items[i].integer(1);
        } else if (items[i].isAbsent()) {
            items[i].error("The input's dimension " + std::to_string(i) + " is open.", "a number",
                           "Only the batch, the first dimension, may be null.");
        } else {
            dims.push_back(items[i].integer(1, std::int64_t{1} << 40).value_or(1));
        }
    }
    return watch.failed() ? std::nullopt : checkedShape(reader, std::move(dims));
}

/// The input's shape by the first of the places where Keras 2 and 3 write it, or where only the
/// data knows it.
std::optional<Shape> readInput(const json::Reader& model, const std::vector<LayerEntry>& entries,
                               std::optional<std::int64_t> features) {
    const json::Reader& first = entries.front().config;
    for (const char* const key : {"batch_shape", "batch_input_shape"})
        if (!first.at(key).isAbsent())
            return readBatchShape(first.at(key));
    if (const json::Reader shape = first.at("input_shape"); !shape.isAbsent()) {
        const ErrorWatch watch(shape);
        std::vector<std::int64_t> dims;
        for (const json::Reader& item : shape.items())
            dims.push_back(item.integer(1, std::int64_t{1} << 40).value_or(1));
        return watch.failed() ? std::nullopt : checkedShape(shape, std::move(dims));
    }
    for (const json::Reader& shape :
         {model.at("config").at("build_input_shape"), model.at("build_config").at("input_shape"),
          entries.front().entry.at("build_config").at("input_shape")})
        if (!shape.isAbsent() && shape.value()->isArray())
            return readBatchShape(shape);
    if (features)
        return Shape{*features};
    const json::Reader layers = model.at("config").at("layers");
    layers.error("The model does not say the shape of its input.",
                 "an InputLayer with batch_shape, for example [null, 10]",
                 "Put an InputLayer first, or build the model before model.to_json().");
    return std::nullopt;
}

/// Keras' names: as given, else the class in snake case with the first number that is free.
void nameLayers(const std::vector<LayerEntry>& entries, std::vector<Layer>& layers) {
    std::set<std::string> used;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const json::Reader reader = entries[i].config.at("name");
        const auto name = reader.string();
        if (!name)
            continue;
        if (name->empty() || name->find('/') != std::string::npos)
            reader.error("A layer cannot be named \"" + *name + "\".",
                         "a name without \"/\", not empty");
        else if (!used.insert(*name).second)
            reader.error("Two layers are named \"" + *name + "\".", "names that differ");
        layers[i].name = *name;
    }
    for (Layer& layer : layers) {
        if (!layer.name.empty())
            continue;
        const std::string stem = snakeCase(layer.className);
        layer.name = stem;
        for (int number = 1; !used.insert(layer.name).second; ++number)
            layer.name = stem + "_" + std::to_string(number);
    }
}

/// Where the list of layers stands, if this is a Sequential model; reports otherwise.
std::optional<json::Reader> findLayers(const json::Reader& model) {
    if (model.isAbsent()) {
        model.error("The model is missing.", "a Sequential model as model.to_json() writes it");
        return std::nullopt;
    }
    if (!model.isObject())
        return std::nullopt;
    const json::Reader className = model.require("class_name", "\"Sequential\"");
    const auto name = className.string();
    if (!name)
        return std::nullopt;
    if (*name != "Sequential") {
        className.error("A model of class \"" + *name + "\" is not supported.", "\"Sequential\"",
                        "Build it with keras.Sequential([...]), or run your own script with a "
                        "command job.");
        return std::nullopt;
    }
    detail::refuseUnknown(model,
                          {"module", "class_name", "config", "registered_name", "build_config",
                           "compile_config", "keras_version", "backend", "name"});
    const json::Reader config = model.require("config", "an object with layers");
    // Keras before 2.2.3 wrote the list itself.
    if (config.value() && config.value()->isArray())
        return config;
    if (!config.exists() || !config.isObject())
        return std::nullopt;
    detail::refuseUnknown(config, {"name", "trainable", "dtype", "layers", "build_input_shape"});
    detail::readDType(config.at("dtype"));
    const json::Reader layers = config.require("layers", "the list of layers");
    if (!layers.exists())
        return std::nullopt;
    return layers;
}

/// Reads each layer in turn; the shapes go from one to the next.
std::vector<Layer> readChain(const std::vector<LayerEntry>& entries, const Shape& input) {
    std::vector<Layer> layers(entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
        layers[i].className = entries[i].className;
        layers[i].path = entries[i].entry.path();
    }
    nameLayers(entries, layers);
    for (std::size_t i = 0; i < entries.size(); ++i) {
        if (i > 0 && entries[i].className == "InputLayer")
            entries[i].entry.error("An InputLayer stands at place " + std::to_string(i) + ".",
                                   "an InputLayer at the start alone");
        layers[i].input = i == 0 ? input : layers[i - 1].output;
        detail::readLayer(entries[i].entry, entries[i].config, layers[i]);
    }
    return layers;
}

void checkFeatures(const json::Reader& layers, const Graph& graph,
                   std::optional<std::int64_t> features) {
    if (features && *features != graph.features())
        layers.items().front().error("The model takes " + graph.inputShape().batchText() + ", so " +
                                         std::to_string(graph.features()) +
                                         " features per row; the data has " +
                                         std::to_string(*features) + ".",
                                     "an input of " + std::to_string(*features) + " features",
                                     "Change the input's shape, or the columns of the data.");
    if (graph.outputShape().elements() == 0)
        layers.error("The model's output " + graph.outputShape().batchText() + " is empty.",
                     "an output with elements");
    else if (graph.trainableParameters() == 0)
        layers.error("The model has nothing to train.", "a Dense layer that is trainable");
}

} // namespace

std::optional<Graph> readModel(const json::Reader& model, std::optional<std::int64_t> features) {
    const ErrorWatch watch(model);
    const auto layersReader = findLayers(model);
    if (!layersReader)
        return std::nullopt;
    const std::vector<LayerEntry> entries = readEntries(*layersReader);
    if (watch.failed())
        return std::nullopt;
    if (entries.empty()) {
        layersReader->error("The model has no layers.", "a list of at least one layer");
        return std::nullopt;
    }
    const auto input = readInput(model, entries, features);
    if (!input)
        return std::nullopt;
    std::vector<Layer> layers = readChain(entries, *input);
    const json::Reader config = model.at("config");
    const bool whole = config.at("trainable").boolean().value_or(true);
    for (Layer& layer : layers)
        layer.trainable = layer.trainable && whole;
    if (watch.failed())
        return std::nullopt;
    Graph graph(config.at("name").string().value_or("sequential"), std::move(layers));
    checkFeatures(*layersReader, graph, features);
    if (watch.failed())
        return std::nullopt;
    return graph;
}

} // namespace lockstep::nn
