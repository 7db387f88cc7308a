// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Element types of variables and buffers.

#include <cstddef>

namespace lockstep::tensor {

enum class DType { Float32 };

/// Bytes of one element.
constexpr std::size_t byteSize(DType) {
    return 4;
}
/// Keras' and safetensors' names: "float32" and "F32".
constexpr const char* kerasName(DType) {
    return "float32";
}
constexpr const char* safetensorsName(DType) {
    return "F32";
}

} // namespace lockstep::tensor
