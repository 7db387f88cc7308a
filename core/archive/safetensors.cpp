// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/archive/safetensors.h"

#include "core/base/files.h"
#include "core/base/hash.h"
#include "core/base/json.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>
#include <string_view>

namespace lockstep::archive {

namespace {

static_assert(std::endian::native == std::endian::little,
              "arrays are written as they lie in memory");

struct TypeInfo {
    ElementType type;
    const char* name;
    std::size_t size;
};

constexpr TypeInfo kTypes[] = {
    {ElementType::Float32, "F32", 4}, {ElementType::Float64, "F64", 8},
    {ElementType::Int32, "I32", 4},   {ElementType::Int64, "I64", 8},
    {ElementType::UInt8, "U8", 1},
};

const TypeInfo& infoOf(ElementType type) {
    return *std::find_if(std::begin(kTypes), std::end(kTypes),
                         [&](const TypeInfo& t) { return t.type == type; });
}

std::string_view textOf(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Bytes of an array of this shape; nothing where that overflows or a dimension is negative.
std::optional<std::uint64_t> bytesOf(const std::vector<std::int64_t>& shape,
                                     std::size_t elementSize) {
    std::uint64_t bytes = elementSize;
    for (const std::int64_t dimension : shape)
        if (dimension < 0 ||
            __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(dimension), &bytes))
            return std::nullopt;
    return bytes;
}

Result<std::string> headerOf(std::span<const ArrayView> arrays, const Metadata& metadata,
                             const std::string& path) {
    json::Value header = json::Value::object();
    if (!metadata.empty()) {
        json::Value entries = json::Value::object();
        for (const auto& [key, value] : metadata)
            entries.set(key, value);
        header.set("__metadata__", entries);
    }
    std::uint64_t offset = 0;
    std::set<std::string> names;
    for (const ArrayView& array : arrays) {
        const TypeInfo& info = infoOf(array.type);
        const auto bytes = bytesOf(array.shape, info.size);
        if (!names.insert(array.name).second)
            return Error{Code::InvalidArgument, "Two arrays are named \"" + array.name + "\".",
                         path};
        if (!bytes || *bytes != array.bytes.size())
            return Error{Code::InvalidArgument,
                         "The array \"" + array.name + "\" has " +
                             std::to_string(array.bytes.size()) +
                             " bytes, which do not fit its shape.",
                         path};
        header.set(array.name,
                   json::Value::object(
                       {{"dtype", info.name},
                        {"shape", json::Value(json::Array(array.shape.begin(), array.shape.end()))},
                        {"data_offsets", json::Value::array({offset, offset + *bytes})}}));
        offset += *bytes;
    }
    std::string text = json::dump(header);
    text.append((8 - text.size() % 8) % 8, ' '); // so that the arrays start aligned
    return text;
}

/// Checks one header entry against the file's data and appends its array.
Status readArray(const json::Member& entry, std::string_view data, const std::string& path,
                 Archive& archive) {
    const auto corrupt = [&](const std::string& what) {
        return Error{Code::Corrupt, "The header entry \"" + entry.key + "\" " + what + ".", path};
    };
    const json::Value* dtype = entry.value.find("dtype");
    const json::Value* shape = entry.value.find("shape");
    const json::Value* offsets = entry.value.find("data_offsets");
    if (!dtype || !dtype->isString() || !shape || !shape->isArray() || !offsets ||
        !offsets->isArray() || offsets->size() != 2)
        return corrupt("lacks dtype, shape or data_offsets");
    const auto type = std::find_if(std::begin(kTypes), std::end(kTypes),
                                   [&](const TypeInfo& t) { return dtype->toString() == t.name; });
    if (type == std::end(kTypes))
        return Error{Code::Unsupported,
                     "The element type " + dtype->toString() + " is not supported.", path};
    Array array{entry.key, type->type, {}, {}};
    for (const json::Value& dimension : shape->items()) {
        if (!dimension.isInteger())
            return corrupt("has a shape that is not made of whole numbers");
        array.shape.push_back(dimension.toInteger());
    }
    const json::Value& from = offsets->items()[0];
    const json::Value& to = offsets->items()[1];
    const auto bytes = bytesOf(array.shape, type->size);
    if (!from.isInteger() || !to.isInteger() || from.toInteger() < 0 ||
        to.toInteger() < from.toInteger() ||
        static_cast<std::uint64_t>(to.toInteger()) > data.size() || !bytes ||
        static_cast<std::uint64_t>(to.toInteger() - from.toInteger()) != *bytes)
        return corrupt("has data_offsets that do not fit its shape or the file");
    const auto slice =
        std::as_bytes(std::span(data))
            .subspan(static_cast<std::size_t>(from.toInteger()), static_cast<std::size_t>(*bytes));
    array.bytes.assign(slice.begin(), slice.end());
    archive.arrays.push_back(std::move(array));
    return {};
}

/// Arrays must tile the data without overlap or gap: anything else hides or repeats bytes.
Status checkTiling(const json::Value& header, std::size_t dataSize, const std::string& path) {
    std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
    for (const json::Member& entry : header.members())
        if (entry.key != "__metadata__") {
            const json::Array& offsets = entry.value.find("data_offsets")->items();
            ranges.emplace_back(offsets[0].toInteger(), offsets[1].toInteger());
        }
    std::sort(ranges.begin(), ranges.end());
    std::int64_t end = 0;
    for (const auto& [from, to] : ranges) {
        if (from != end)
            return Error{Code::Corrupt,
                         "The arrays overlap or leave a gap at byte " + std::to_string(end) + ".",
                         path};
        end = to;
    }
    if (static_cast<std::size_t>(end) != dataSize)
        return Error{Code::Corrupt, "The file holds bytes that belong to no array.", path};
    return {};
}

} // namespace

std::size_t sizeOf(ElementType type) {
    return infoOf(type).size;
}

Result<Written> write(const std::string& path, std::span<const ArrayView> arrays,
                      const Metadata& metadata) {
    const auto header = headerOf(arrays, metadata, path);
    if (!header)
        return header.error();
    auto file = files::AtomicFile::create(path);
    if (!file)
        return file.error();
    Written written;
    Sha256Stream hash;
    const auto put = [&](std::string_view bytes) -> Status {
        hash.add(bytes);
        written.bytes += static_cast<std::int64_t>(bytes.size());
        return file->write(bytes);
    };
    const std::uint64_t length = header->size();
    LOCKSTEP_TRY(put({reinterpret_cast<const char*>(&length), sizeof length}));
    LOCKSTEP_TRY(put(*header));
    for (const ArrayView& array : arrays)
        LOCKSTEP_TRY(put(textOf(array.bytes)));
    LOCKSTEP_TRY(file->commit());
    written.sha256 = toHex(hash.finish());
    return written;
}

Result<Archive> parse(std::string_view bytes, const std::string& where) {
    std::string_view rest = bytes;
    std::uint64_t length = 0;
    if (rest.size() < sizeof length)
        return Error{Code::Corrupt, "This is too short for a safetensors file.", where};
    std::memcpy(&length, rest.data(), sizeof length);
    rest.remove_prefix(sizeof length);
    if (length > rest.size())
        return Error{Code::Corrupt,
                     "The header is longer than the file; it may have been cut short.", where};
    const auto header = json::parse(rest.substr(0, length), where);
    if (!header || !header->isObject())
        return Error{Code::Corrupt, "The header is not a JSON object.", where};
    rest.remove_prefix(length);

    Archive archive;
    for (const json::Member& entry : header->members()) {
        if (entry.key != "__metadata__") {
            LOCKSTEP_TRY(readArray(entry, rest, where, archive));
            continue;
        }
        if (!entry.value.isObject())
            return Error{Code::Corrupt, "The metadata is not a JSON object.", where};
        for (const json::Member& item : entry.value.members())
            if (item.value.isString())
                archive.metadata.emplace_back(item.key, item.value.toString());
    }
    LOCKSTEP_TRY(checkTiling(*header, rest.size(), where));
    return archive;
}

Result<Archive> read(const std::string& path) {
    const auto bytes = files::read(path);
    if (!bytes)
        return bytes.error();
    return parse(*bytes, path);
}

} // namespace lockstep::archive
