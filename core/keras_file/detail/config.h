// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Configurations as a job has them, rewritten so that every Keras opens them.

#include "core/keras_file/keras_model.h"

#include <string>
#include <vector>

namespace lockstep::keras_file::detail {

/// Where an InputLayer keeps the shape, and whether objects name their module.
enum class Dialect { Keras3, Keras2 };

/// A Sequential model's layers with names, an InputLayer first and the options that older Keras
/// does not know left out: those that are null are the defaults. `model` is what the user gave,
/// `names` one per layer of it.
json::Value sequentialConfig(const json::Value& model, const std::vector<std::string>& names,
                             const std::vector<std::int64_t>& input);

/// config.json of a .keras archive.
json::Value archiveConfig(const KerasModel& model);
/// The attributes model_config and training_config (null: not compiled) of a legacy file.
json::Value legacyConfig(const KerasModel& model);
json::Value legacyTraining(const KerasModel& model);

/// Keras' name of a class in paths: "MaxPooling2D" -> "max_pooling2d".
/// Source: keras/src/utils/naming.py, to_snake_case.
std::string snakeCase(const std::string& className);

} // namespace lockstep::keras_file::detail
