// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// One layer of Keras' JSON.

#include "core/base/json_reader.h"
#include "core/nn/graph.h"

#include <optional>
#include <string>
#include <vector>

namespace lockstep::nn::detail {

/// More elements than this in one array are a mistake; products of two sizes stay below int64's
/// end.
inline constexpr std::int64_t mostElements = std::int64_t{1} << 38;

/// The classes that readLayer knows.
std::vector<std::string> layerClasses();
/// Whether a layer of this class has options without a default.
bool needsOptions(const std::string& className);

/// Reads the layer's own options and works out its output from `layer.input`; name, class, path and
/// input are set by the caller. `config` is missing where the layer has none. Reports what is
/// wrong.
void readLayer(const json::Reader& entry, const json::Reader& config, Layer& layer);

/// An activation's name, an object with a class, or null for none.
std::optional<Activation> readActivation(const json::Reader& reader, const Shape& shape);

} // namespace lockstep::nn::detail
