// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The rule by which Keras names layers and the places of their arrays in files. Pure.

#include <string>

namespace lockstep {

/// Keras' snake case of a class name: "InputLayer" -> "input_layer", "ReLU" -> "re_lu",
/// "MaxPooling2D" -> "max_pooling2d". Source: keras/src/utils/naming.py, to_snake_case.
std::string snakeCase(const std::string& className);

} // namespace lockstep
