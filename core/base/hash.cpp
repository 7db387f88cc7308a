// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/hash.h"

#include "core/base/failure.h"

#include <sodium.h>

#include <vector>

namespace lockstep {

namespace {

void startLibrary() {
    static const int status = sodium_init();
    LOCKSTEP_CHECK(status >= 0, "[hash] libsodium did not start");
}

} // namespace

struct Sha256Stream::State {
    crypto_hash_sha256_state sodium;
};

Sha256Stream::Sha256Stream()
    : m_state(std::make_unique<State>()) {
    startLibrary();
    crypto_hash_sha256_init(&m_state->sodium);
}

Sha256Stream::~Sha256Stream() = default;

void Sha256Stream::add(std::span<const std::byte> bytes) {
    crypto_hash_sha256_update(&m_state->sodium,
                              reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

void Sha256Stream::add(std::string_view bytes) {
    add(std::as_bytes(std::span(bytes)));
}

Sha256 Sha256Stream::finish() {
    Sha256 digest{};
    crypto_hash_sha256_final(&m_state->sodium, digest.data());
    return digest;
}

Sha256 sha256(std::string_view bytes) {
    Sha256Stream stream;
    stream.add(bytes);
    return stream.finish();
}

std::string toHex(std::span<const std::uint8_t> bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    text.reserve(2 * bytes.size());
    for (const std::uint8_t byte : bytes) {
        text += kDigits[byte >> 4];
        text += kDigits[byte & 15];
    }
    return text;
}

std::string randomHex(std::size_t count) {
    startLibrary();
    std::vector<std::uint8_t> bytes(count);
    randombytes_buf(bytes.data(), bytes.size());
    return toHex(bytes);
}

} // namespace lockstep
