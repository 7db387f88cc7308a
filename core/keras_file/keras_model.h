// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// A trained model as Keras keeps it: its configuration and its arrays. Made from the archive that
// the chief wrote, written in the forms that Keras opens. Free functions; one at a time, since HDF5
// has state. Source of the forms: keras/src/saving/saving_lib.py and
// keras/src/legacy/saving/legacy_h5_format.py.

#include "core/archive/safetensors.h"
#include "core/base/json.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::keras_file {

struct KerasLayer {
    std::string name;
    std::string className;
    std::vector<archive::Array> variables; ///< in Keras' order; names without the layer's
};

/// What an optimizer remembers; the slots are those of one kind, "momentum", for each trainable
/// variable in the order of the layers.
struct KerasOptimizer {
    std::string name; ///< Keras' class
    std::int64_t iterations = 0;
    double learningRate = 0;
    std::vector<std::pair<std::string, std::vector<archive::Array>>> slots;
};

struct KerasModel {
    json::Value config;  ///< of the Sequential model, as Keras 3 reads it: name, layers, ...
    json::Value compile; ///< optimizer, loss, metrics; null: not compiled
    std::vector<std::int64_t> input; ///< shape of a row, without the batch
    std::vector<KerasLayer> layers;  ///< in the order of the configuration, an InputLayer first
    std::optional<KerasOptimizer> optimizer;
};

/// Reads the archive of a finished run. Corrupt where its metadata or arrays do not fit together,
/// Unsupported for models that cannot be written yet.
Result<KerasModel> modelOf(archive::Archive archive);

enum class Format {
    Keras,     ///< .keras: configuration, weights and the optimizer's state, of Keras 3
    WeightsH5, ///< .weights.h5: the same without the configuration
    LegacyH5,  ///< .h5: configuration and weights in one file, of Keras 2 and 3
};

/// Writes the file atomically. The errors of the file system, or Internal with what a library said.
Status write(const KerasModel& model, Format format, const std::string& path);

} // namespace lockstep::keras_file
