// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// A model as a chain of layers with known shapes, read from Keras' JSON. Plain data.

#include "core/base/json_reader.h"
#include "core/nn/initializer.h"
#include "core/tensor/backend.h"
#include "core/tensor/shape.h"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace lockstep::nn {

using tensor::Activation;
using tensor::Shape;

struct DenseConfig {
    std::int64_t units = 0;
    Activation activation;
    bool useBias = true;
    Initializer kernel;
    Initializer bias;
};
struct ActivationConfig {
    Activation activation;
};
struct DropoutConfig {
    double rate = 0.0;
};
/// InputLayer, Flatten, Reshape: the same numbers under another shape.
struct ReshapeConfig {};

struct Layer {
    std::string name;      ///< Keras' own rule where the config has none: dense, dense_1, ...
    std::string className; ///< as in the JSON: "Dense"
    std::string path;      ///< of the layer's JSON value
    Shape input;           ///< without the batch
    Shape output;          ///< without the batch
    bool trainable = true;
    std::variant<ReshapeConfig, DenseConfig, ActivationConfig, DropoutConfig> config;

    /// Elements of kernel and bias.
    std::int64_t parameters() const;
};

class Graph {
public:
    Graph(std::string name, std::vector<Layer> layers)
        : m_name(std::move(name))
        , m_layers(std::move(layers)) {}

    const std::string& name() const { return m_name; }
    /// In order; the first is an InputLayer only where the JSON has one.
    const std::vector<Layer>& layers() const { return m_layers; }
    const Shape& inputShape() const { return m_layers.front().input; }
    const Shape& outputShape() const { return m_layers.back().output; }
    /// Columns of a row of features: the elements of the input.
    std::int64_t features() const { return inputShape().elements(); }
    std::int64_t parameters() const;
    std::int64_t trainableParameters() const;
    /// The activation that ends the model, where its last layer is or has one, else Linear.
    Activation lastActivation() const;

private:
    std::string m_name;
    std::vector<Layer> m_layers;
};

/// Reads a Sequential model as Keras 2's or Keras 3's `to_json()` writes it, or shorter by hand.
/// Every layer and option that is not known is refused with its path; shapes that do not fit are
/// refused naming the layer. `features`: columns of the data's rows, which give the input shape of
/// a model that states none, and must equal the input's elements where it does; nothing where the
/// data is not known yet. Gives nothing exactly when it reported an error.
std::optional<Graph> readModel(const json::Reader& model,
                               std::optional<std::int64_t> features = std::nullopt);

} // namespace lockstep::nn
