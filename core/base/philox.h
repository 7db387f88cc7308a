// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Philox4x32-10, the counter-based random generator: the same (key, counter) gives the same bits on
// every machine, thread and rank, so a random decision can be a function of what it is about.
// Source: Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3. SC 2011.

#include <array>
#include <cstdint>

namespace lockstep {

using PhiloxBlock = std::array<std::uint32_t, 4>;

/// Four random words for one counter under one key.
constexpr PhiloxBlock philox(std::uint64_t key, PhiloxBlock counter) {
    std::uint32_t k0 = static_cast<std::uint32_t>(key);
    std::uint32_t k1 = static_cast<std::uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * counter[0];
        const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * counter[2];
        counter = {
            static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ k0, static_cast<std::uint32_t>(p1),
            static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ k1, static_cast<std::uint32_t>(p0)};
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return counter;
}

/// What a random number is for: keeps streams of one seed apart. Values are part of every saved
/// run's meaning and never change.
enum class RandomUse : std::uint32_t {
    Initializer = 1,
    Dropout = 2,
    Shuffle = 3,
    ValidationSplit = 4,
    RandomSource = 5,
};

/// A stream of random numbers for one use: seed, use and two numbers that tell streams of one use
/// apart (a layer, an epoch). Sequential reading; for random access by index use philox() itself.
class PhiloxStream {
public:
    PhiloxStream(std::uint64_t seed, RandomUse use, std::uint32_t stream = 0)
        : m_key(seed)
        , m_use(static_cast<std::uint32_t>(use))
        , m_stream(stream) {}

    std::uint32_t next32() {
        if (m_used == 4) {
            m_block = philox(m_key, {static_cast<std::uint32_t>(m_index),
                                     static_cast<std::uint32_t>(m_index >> 32), m_stream, m_use});
            ++m_index;
            m_used = 0;
        }
        return m_block[m_used++];
    }

    std::uint64_t next64() {
        const std::uint64_t low = next32();
        return low | (std::uint64_t{next32()} << 32);
    }

    /// Uniform in [0, 1) with 53 bits.
    double nextUnit() { return static_cast<double>(next64() >> 11) * 0x1.0p-53; }

    /// Uniform in [0, bound), without bias (Lemire's method). bound > 0.
    std::uint64_t nextBelow(std::uint64_t bound) {
        for (;;) {
            const Wide product = Wide{next64()} * bound;
            const auto low = static_cast<std::uint64_t>(product);
            if (low >= bound || low >= (0 - bound) % bound)
                return static_cast<std::uint64_t>(product >> 64);
        }
    }

private:
    __extension__ using Wide = unsigned __int128;

    std::uint64_t m_key;
    std::uint32_t m_use;
    std::uint32_t m_stream;
    std::uint64_t m_index = 0;
    PhiloxBlock m_block{};
    unsigned m_used = 4;
};

} // namespace lockstep
