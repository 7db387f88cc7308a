// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Files of named arrays with metadata, in the safetensors format: eight bytes of header length,
// a JSON header, then the arrays' little-endian bytes one after another.
// Source: https://github.com/huggingface/safetensors, README "Format".

#include "core/base/result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep::archive {

enum class ElementType { Float32, Float64, Int32, Int64, UInt8 };

/// Bytes of one element.
std::size_t sizeOf(ElementType type);

using Metadata = std::vector<std::pair<std::string, std::string>>;

/// An array that somebody else owns. shape may be empty (a scalar); bytes are C order.
struct ArrayView {
    std::string name;
    ElementType type = ElementType::Float32;
    std::vector<std::int64_t> shape;
    std::span<const std::byte> bytes;
};

struct Array {
    std::string name;
    ElementType type = ElementType::Float32;
    std::vector<std::int64_t> shape;
    std::vector<std::byte> bytes;
};

struct Archive {
    Metadata metadata;
    std::vector<Array> arrays; ///< in the order of their bytes
};

struct Written {
    std::int64_t bytes = 0;
    std::string sha256; ///< hex, of the whole file
};

/// Writes `path` atomically and durably, arrays in the order given. InvalidArgument where an
/// array's bytes do not match its shape or a name is twice; else what the file system says.
Result<Written> write(const std::string& path, std::span<const ArrayView> arrays,
                      const Metadata& metadata);

/// Reads the bytes of a whole file; `where` names them in errors. Corrupt (what and where) where it
/// is not such a file, is cut short, or its arrays overlap or leave gaps; Unsupported for an
/// element type not listed above.
Result<Archive> parse(std::string_view bytes, const std::string& where);
/// The same of a file.
Result<Archive> read(const std::string& path);

} // namespace lockstep::archive
