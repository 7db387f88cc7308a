// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// What travels on control connections and during the handshake: frames of length, type, payload,
// little-endian. A connection begins, in both directions, with the magic.

#include "core/collective/detail/socket.h"
#include "core/collective/verdict.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace lockstep::collective::detail {

/// Ends like an HTTP request, so that a text protocol behind the port answers at once and can be
/// named. A new protocol has a new number here and in Hello.
inline constexpr std::string_view kMagic = "LOCKSTEP 1\r\n\r\n\r\n";
inline constexpr std::uint16_t kProtocolVersion = 1;

enum class FrameType : std::uint8_t {
    Hello = 1,
    Refusal,
    Proof,
    Welcome,
    Ready = 16,  ///< worker to chief: my ring connections stand
    NotReady,    ///< worker to chief: one of them is gone again
    Roster,      ///< chief to workers: who is missing
    Start,       ///< chief to workers: all are there
    Heartbeat,   ///< both ways: collectives submitted
    Suspect,     ///< worker to chief: my ring is stuck at this rank
    VerdictSaid, ///< both ways: the group has ended; from a worker also its farewell
    Done,        ///< worker to chief: I am at the exit barrier
    Goodbye,     ///< chief to workers: all are; closing is no failure now
};

class ByteWriter {
public:
    void u8(std::uint8_t value) { number(value, 1); }
    void u16(std::uint16_t value) { number(value, 2); }
    void u32(std::uint32_t value) { number(value, 4); }
    void u64(std::uint64_t value) { number(value, 8); }
    void f64(double value);
    void text(std::string_view value); ///< at most 65535 bytes are kept
    void raw(std::span<const std::uint8_t> bytes);
    const std::string& bytes() const { return m_bytes; }

private:
    void number(std::uint64_t value, int width);
    std::string m_bytes;
};

/// Reads what ByteWriter wrote. After the first short read everything is zero and ok() is false.
class ByteReader {
public:
    explicit ByteReader(std::string_view bytes)
        : m_rest(bytes) {}
    std::uint8_t u8() { return static_cast<std::uint8_t>(number(1)); }
    std::uint16_t u16() { return static_cast<std::uint16_t>(number(2)); }
    std::uint32_t u32() { return static_cast<std::uint32_t>(number(4)); }
    std::uint64_t u64() { return number(8); }
    double f64();
    std::string text();
    void raw(std::span<std::uint8_t> bytes);
    bool ok() const { return m_ok; }

private:
    std::uint64_t number(int width);
    std::string_view m_rest;
    bool m_ok = true;
};

struct Frame {
    FrameType type = FrameType::Hello;
    std::string payload;
};

std::string encode(const Verdict& verdict);
std::optional<Verdict> decodeVerdict(std::string_view payload);

/// Frames over one non-blocking socket. One thread at a time.
class FrameSocket {
public:
    enum class State { Open, Closed, Garbage };

    explicit FrameSocket(Fd fd);

    /// Reads what is there and writes what waits. After Closed or Garbage nothing more is done, but
    /// frames that had arrived can still be taken.
    State pump();
    /// The next whole frame. Garbage where the other end does not speak frames.
    std::optional<Frame> next();
    void send(FrameType type, std::string_view payload);
    /// Says that nothing more will be sent, after what waits.
    void finishSending();

    State state() const { return m_state; }
    int error() const { return m_error; } ///< errno of the end; 0 for an orderly one
    bool hasUnsent() const { return !m_out.empty(); }
    /// POLLIN, and POLLOUT while something waits.
    pollfd interest() const;
    int fd() const { return m_fd.get(); }
    Fd take() { return std::move(m_fd); }
    /// The beginning of what came instead of frames, printable.
    std::string garbageText() const;
    /// Larger frames are garbage; small for peers that have proved nothing.
    void setLimit(std::size_t bytes) { m_limit = bytes; }
    /// Looks for one frame of that type at the head of the stream and takes it; anything else stays
    /// in the kernel (ring connections: the data may have begun).
    std::optional<Frame> peekFor(FrameType type);
    /// Whether peekFor met something else.
    bool sawOther() const { return m_sawOther; }

private:
    void fail(State state, int error);
    void flush();
    bool checkMagic();

    Fd m_fd;
    std::string m_in;
    std::string m_out;
    std::size_t m_limit = 4096;
    State m_state = State::Open;
    int m_error = 0;
    bool m_sawMagic = false;
    bool m_isFinishing = false;
    bool m_sawOther = false;
};

} // namespace lockstep::collective::detail
