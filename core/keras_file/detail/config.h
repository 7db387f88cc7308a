// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Configurations as a job has them, rewritten so that every Keras opens them.

#include "core/keras_file/keras_model.h"

#include <string>
#include <vector>

namespace lockstep::keras_file::detail {

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

} // namespace lockstep::keras_file::detail
