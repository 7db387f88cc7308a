// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Collectives over a ring of TCP connections: every rank sends to the next and receives from the
// one before, both at once, in and out of the caller's memory.
// Threads: the communication thread only.
// Note [Cut-through]: what a rank sends in step k+1 is what it received in step k. So the bytes to
// send are one stream, its front open to be sent is the first segment plus what was received, and
// no step waits for the end of another.
// Source: reduce-scatter and all-gather of Patarasuk & Yuan 2009.

#include "core/collective/detail/fate.h"
#include "core/collective/detail/work_state.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

namespace lockstep::collective::detail {

enum class RingFault : std::uint8_t {
    Lost = 1,  ///< the connection to or from that rank broke
    Stalled,   ///< no byte for the collective timeout
    Unmatched, ///< that rank is in another collective
    Unheard,   ///< that rank's host acknowledges no data (seen by the monitor)
};

/// Why a collective did not finish. rank: the neighbour where it showed, not yet a verdict.
struct RingError {
    RingFault fault;
    int rank;
    std::string text;
};

class Ring {
public:
    Ring(int rank, int size, Fd out, Fd in, std::chrono::milliseconds timeout, const Fate& fate);

    /// Runs one collective. Throws RingError, or Ended where the fate was decided meanwhile.
    struct Ended {};
    void run(const WorkState& work, std::uint64_t sequence);

    int outFd() const { return m_out.get(); }

private:
    enum class Add : std::uint8_t { None, Floats, Doubles };
    /// One collective as two streams of chunks of `base`; chunk c of n holds the elements by the
    /// rule "the first (elements mod n) chunks take one more".
    struct Route {
        std::byte* base = nullptr;
        std::size_t elements = 0;
        std::size_t elementSize = 1;
        int chunks = 1;
        int first = 0; ///< the chunk that is sent first; then first-1, first-2, …
        int sendSteps = 0;
        int receiveSteps = 0;
        int addSteps = 0; ///< of the receive steps, the first ones add
        Add add = Add::None;
        std::size_t lead = 0;           ///< bytes that may be sent before any came
        std::uint64_t sendBytes = 0;    ///< over all steps
        std::uint64_t receiveBytes = 0; ///< over all steps
        std::span<std::byte> chunk(int index) const;
    };
    struct Stream {
        int step = 0;
        std::size_t offset = 0;  ///< within the step's chunk
        std::uint64_t total = 0; ///< bytes over all steps
        std::size_t headerDone = 0;
    };

    Route route(const WorkState& work) const;
    void exchange(const Route& route, std::span<const std::byte> header);
    bool sendSome(const Route& route, std::span<const std::byte> header);
    bool receiveSome(const Route& route, std::span<const std::byte> header);
    bool receiveHeader(std::span<const std::byte> expected);
    std::size_t receiveBytes(std::byte* to, std::size_t size);
    void addFromScratch(const Route& route, std::byte* target, std::size_t elements) const;
    bool isSent(const Route& route) const;
    bool isReceived(const Route& route) const;
    bool mayBeSent(const Route& route) const;
    int next() const { return (m_rank + 1) % m_size; }
    int previous() const { return (m_rank + m_size - 1) % m_size; }

    int m_rank;
    int m_size;
    Fd m_out;
    Fd m_in;
    std::chrono::milliseconds m_timeout;
    const Fate& m_fate;
    Stream m_sending;
    Stream m_receiving;
    std::unique_ptr<std::byte[]> m_scratch; ///< received, not yet added
    std::size_t m_scratchUsed = 0;          ///< a part of an element at its beginning
    std::array<std::byte, 24> m_header{};
};

} // namespace lockstep::collective::detail
