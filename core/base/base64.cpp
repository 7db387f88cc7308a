// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/base64.h"

#include <array>
#include <cstdint>

namespace lockstep {

namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNone = 0xff;

constexpr std::array<std::uint8_t, 256> makeReverse() {
    std::array<std::uint8_t, 256> reverse{};
    for (auto& entry : reverse)
        entry = kNone;
    for (std::size_t i = 0; i < kAlphabet.size(); ++i)
        reverse[static_cast<std::uint8_t>(kAlphabet[i])] = static_cast<std::uint8_t>(i);
    return reverse;
}

constexpr auto kReverse = makeReverse();

Error notBase64() {
    return {Code::Corrupt, "This text is not base64.", {}};
}

} // namespace

std::string toBase64(std::string_view bytes) {
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    const auto byte = [&](std::size_t i) -> std::uint32_t {
        return i < bytes.size() ? static_cast<std::uint8_t>(bytes[i]) : 0;
    };
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::uint32_t group = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
        text += kAlphabet[group >> 18 & 63];
        text += kAlphabet[group >> 12 & 63];
        text += i + 1 < bytes.size() ? kAlphabet[group >> 6 & 63] : '=';
        text += i + 2 < bytes.size() ? kAlphabet[group & 63] : '=';
    }
    return text;
}

Result<std::string> fromBase64(std::string_view text) {
    if (text.size() % 4 != 0)
        return notBase64();
    std::size_t padding = 0;
    while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=')
        ++padding;
    std::string bytes;
    bytes.reserve(text.size() / 4 * 3);
    for (std::size_t i = 0; i < text.size(); i += 4) {
        std::uint32_t group = 0;
        for (std::size_t k = i; k < i + 4; ++k) {
            const bool isPadding = k >= text.size() - padding;
            const std::uint8_t value = isPadding ? 0 : kReverse[static_cast<std::uint8_t>(text[k])];
            if (value == kNone)
                return notBase64();
            group = group << 6 | value;
        }
        bytes += static_cast<char>(group >> 16 & 255);
        bytes += static_cast<char>(group >> 8 & 255);
        bytes += static_cast<char>(group & 255);
    }
    // The bits under the padding must be zero: one text for one sequence of bytes.
    for (std::size_t i = 0; i < padding; ++i) {
        if (bytes.back() != 0)
            return notBase64();
        bytes.pop_back();
    }
    return bytes;
}

} // namespace lockstep
