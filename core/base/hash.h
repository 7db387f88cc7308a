// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// SHA-256 and random identifiers, from libsodium.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace lockstep {

using Sha256 = std::array<std::uint8_t, 32>;

/// SHA-256 over bytes given in any number of pieces. One thread at a time.
class Sha256Stream {
public:
    Sha256Stream();
    ~Sha256Stream();
    Sha256Stream(const Sha256Stream&) = delete;
    Sha256Stream& operator=(const Sha256Stream&) = delete;

    void add(std::span<const std::byte> bytes);
    void add(std::string_view bytes);
    /// The digest of all that was added; the stream is then spent.
    Sha256 finish();

private:
    struct State;
    std::unique_ptr<State> m_state;
};

Sha256 sha256(std::string_view bytes);
std::string toHex(std::span<const std::uint8_t> bytes); ///< lower case
/// `count` bytes from the system's random source, as 2·count lower-case hex digits.
std::string randomHex(std::size_t count);

} // namespace lockstep
