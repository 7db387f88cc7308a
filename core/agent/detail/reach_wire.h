// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The bytes between dial() and listen(). Both greet with 72 bytes: a word of 8, the dialler's nonce
// of 32, and a text of 32 filled up with NULs (the check's token; the listener's task). Then the
// dialler sends frames: a letter, eight bytes of length (little-endian), so many bytes. Echo comes
// back as it is; Sink is answered with kAck once it was read.

#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep::agent::detail {

inline constexpr std::string_view kDialWord = "LSCHECK1";
inline constexpr std::string_view kHereWord = "LSHERE01";
inline constexpr std::string_view kOtherWord = "LSOTHER1"; ///< the listener of another check
inline constexpr std::size_t kNonceBytes = 32;
inline constexpr std::size_t kTextBytes = 32;
inline constexpr std::size_t kGreetingBytes = 8 + kNonceBytes + kTextBytes;
inline constexpr std::size_t kFrameHead = 9;
inline constexpr char kEcho = 'E';
inline constexpr char kSink = 'S';
inline constexpr std::string_view kAck = "LSSUNK01";

inline std::string greeting(std::string_view word, std::string_view nonce, std::string_view text) {
    std::string bytes(word);
    bytes += nonce;
    bytes += text.substr(0, kTextBytes);
    bytes.resize(kGreetingBytes, '\0');
    return bytes;
}

inline std::string frameHead(char kind, std::uint64_t length) {
    std::string head(1, kind);
    for (int i = 0; i < 8; ++i)
        head += static_cast<char>(length >> (8 * i));
    return head;
}

inline std::uint64_t frameLength(std::string_view head) {
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < 8; ++i)
        length |= static_cast<std::uint64_t>(static_cast<unsigned char>(head[1 + i])) << (8 * i);
    return length;
}

} // namespace lockstep::agent::detail
