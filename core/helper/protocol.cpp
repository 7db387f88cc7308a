// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/helper/protocol.h"

#include "core/base/json.h"

namespace lockstep::helper {

namespace {

constexpr std::size_t kHeader = 9;

void appendNumber(std::string& out, std::uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8)
        out += static_cast<char>(value >> shift & 0xff);
}

std::uint32_t numberAt(std::string_view bytes, std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i)
        value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
    return value;
}

} // namespace

void append(std::string& out, Kind kind, std::uint32_t request, std::string_view payload) {
    appendNumber(out, static_cast<std::uint32_t>(payload.size()));
    out += static_cast<char>(kind);
    appendNumber(out, request);
    out += payload;
}

Result<std::optional<Frame>> FrameReader::next() {
    const std::string_view rest = std::string_view(m_bytes).substr(m_at);
    if (rest.size() < kHeader)
        return std::optional<Frame>();
    const std::size_t size = numberAt(rest, 0);
    if (size > kLargestPayload)
        return Error{Code::Corrupt, "The helper's line carries bytes that are not its own.", {}};
    if (rest.size() < kHeader + size)
        return std::optional<Frame>();
    Frame frame{static_cast<Kind>(rest[4]), numberAt(rest, 5),
                std::string(rest.substr(kHeader, size))};
    m_at += kHeader + size;
    if (m_at == m_bytes.size() || m_at > (1u << 20)) {
        m_bytes.erase(0, m_at);
        m_at = 0;
    }
    return std::optional<Frame>(std::move(frame));
}

std::string encodeError(const Error& error) {
    return json::dump(json::Value::object(
        {{"code", codeName(error.code)}, {"message", error.message}, {"where", error.where}}));
}

Error decodeError(std::string_view payload) {
    const auto value = json::parse(payload, "helper");
    if (!value)
        return {Code::Corrupt, "The helper gave an error that cannot be read.", {}};
    const auto text = [&](const char* key) {
        const json::Value* member = value->find(key);
        return member && member->isString() ? member->toString() : std::string();
    };
    return {codeFromName(text("code")), text("message"), text("where")};
}

} // namespace lockstep::helper
