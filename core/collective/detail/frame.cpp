// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/collective/detail/frame.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>

namespace lockstep::collective::detail {

namespace {
constexpr std::size_t kHead = 5; // length of the payload (4), type (1)
}

void ByteWriter::number(std::uint64_t value, int width) {
    for (int i = 0; i < width; ++i)
        m_bytes += static_cast<char>((value >> (8 * i)) & 0xff);
}

void ByteWriter::f64(double value) {
    u64(std::bit_cast<std::uint64_t>(value));
}

void ByteWriter::text(std::string_view value) {
    value = value.substr(0, 0xffff);
    u16(static_cast<std::uint16_t>(value.size()));
    m_bytes += value;
}

void ByteWriter::raw(std::span<const std::uint8_t> bytes) {
    m_bytes.append(bytes.begin(), bytes.end());
}

std::uint64_t ByteReader::number(int width) {
    const auto size = static_cast<std::size_t>(width);
    if (!m_ok || m_rest.size() < size) {
        m_ok = false;
        return 0;
    }
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i)
        value |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(m_rest[i])) << (8 * i);
    m_rest.remove_prefix(size);
    return value;
}

double ByteReader::f64() {
    return std::bit_cast<double>(u64());
}

std::string ByteReader::text() {
    const std::size_t size = u16();
    if (!m_ok || m_rest.size() < size) {
        m_ok = false;
        return {};
    }
    std::string value(m_rest.substr(0, size));
    m_rest.remove_prefix(size);
    return value;
}

void ByteReader::raw(std::span<std::uint8_t> bytes) {
    if (!m_ok || m_rest.size() < bytes.size()) {
        m_ok = false;
        return;
    }
    std::copy_n(m_rest.begin(), bytes.size(), bytes.begin());
    m_rest.remove_prefix(bytes.size());
}

std::string encode(const Verdict& verdict) {
    ByteWriter out;
    out.u8(static_cast<std::uint8_t>(verdict.kind));
    out.u32(static_cast<std::uint32_t>(verdict.rank));
    out.text(verdict.task);
    out.text(verdict.address);
    out.text(verdict.sentence);
    out.f64(verdict.foundUtc);
    out.u32(static_cast<std::uint32_t>(verdict.foundBy));
    return out.bytes();
}

std::optional<Verdict> decodeVerdict(std::string_view payload) {
    ByteReader in(payload);
    Verdict verdict;
    const std::uint8_t kind = in.u8();
    if (kind > static_cast<std::uint8_t>(VerdictKind::Stalled))
        return std::nullopt;
    verdict.kind = static_cast<VerdictKind>(kind);
    verdict.rank = static_cast<int>(in.u32());
    verdict.task = in.text();
    verdict.address = in.text();
    verdict.sentence = in.text();
    verdict.foundUtc = in.f64();
    verdict.foundBy = static_cast<int>(in.u32());
    if (!in.ok())
        return std::nullopt;
    return verdict;
}

FrameSocket::FrameSocket(Fd fd)
    : m_fd(std::move(fd))
    , m_out(kMagic) {}

void FrameSocket::fail(State state, int error) {
    if (m_state != State::Open)
        return;
    m_state = state;
    m_error = error;
    m_out.clear();
}

void FrameSocket::flush() {
    while (m_state == State::Open && !m_out.empty()) {
        const auto sent =
            ::send(m_fd.get(), m_out.data(), m_out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent > 0)
            m_out.erase(0, static_cast<std::size_t>(sent));
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            return;
        else if (errno != EINTR)
            // What the peer said before it went away may still be read: that decides, not this.
            m_out.clear();
    }
    if (m_isFinishing && m_out.empty()) {
        m_isFinishing = false;
        ::shutdown(m_fd.get(), SHUT_WR);
    }
}

FrameSocket::State FrameSocket::pump() {
    flush();
    std::array<char, 4096> buffer;
    while (m_state == State::Open && m_in.size() <= m_limit + kHead) {
        const auto got = ::recv(m_fd.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (got > 0)
            m_in.append(buffer.data(), static_cast<std::size_t>(got));
        else if (got == 0)
            fail(State::Closed, 0);
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            break;
        else if (errno != EINTR)
            fail(State::Closed, errno);
    }
    return m_state;
}

bool FrameSocket::checkMagic() {
    if (m_sawMagic)
        return true;
    const std::size_t size = std::min(m_in.size(), kMagic.size());
    if (std::string_view(m_in).substr(0, size) != kMagic.substr(0, size)) {
        m_state = State::Garbage;
        return false;
    }
    if (size < kMagic.size())
        return false;
    m_in.erase(0, kMagic.size());
    m_sawMagic = true;
    return true;
}

std::optional<Frame> FrameSocket::next() {
    if (m_state == State::Garbage || !checkMagic() || m_in.size() < kHead)
        return std::nullopt;
    ByteReader head(m_in);
    const std::size_t length = head.u32();
    const auto type = static_cast<FrameType>(head.u8());
    if (length > m_limit) {
        m_state = State::Garbage;
        return std::nullopt;
    }
    if (m_in.size() < kHead + length)
        return std::nullopt;
    Frame frame{type, m_in.substr(kHead, length)};
    m_in.erase(0, kHead + length);
    return frame;
}

void FrameSocket::send(FrameType type, std::string_view payload) {
    if (m_state != State::Open)
        return;
    ByteWriter head;
    head.u32(static_cast<std::uint32_t>(payload.size()));
    head.u8(static_cast<std::uint8_t>(type));
    m_out += head.bytes();
    m_out += payload;
    flush();
}

void FrameSocket::finishSending() {
    m_isFinishing = true;
    flush();
}

pollfd FrameSocket::interest() const {
    const int events = POLLIN | (m_out.empty() ? 0 : POLLOUT);
    // A negative descriptor is skipped by poll.
    return pollfd{m_state == State::Open ? m_fd.get() : -1, static_cast<short>(events), 0};
}

std::string FrameSocket::garbageText() const {
    std::string text;
    for (const char c : std::string_view(m_in).substr(0, 60)) {
        if (c == '\r' || c == '\n')
            break;
        text += c >= ' ' && c < '\x7f' ? c : '.';
    }
    return text;
}

std::optional<Frame> FrameSocket::peekFor(FrameType type) {
    flush();
    std::array<char, 4096> buffer;
    const auto got = ::recv(m_fd.get(), buffer.data(), buffer.size(), MSG_DONTWAIT | MSG_PEEK);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
        fail(State::Closed, got == 0 ? 0 : errno);
        return std::nullopt;
    }
    const auto size = got > 0 ? static_cast<std::size_t>(got) : 0;
    ByteReader head(std::string_view(buffer.data(), size));
    const std::size_t length = head.u32();
    const bool isWanted = head.u8() == static_cast<std::uint8_t>(type);
    m_sawOther = head.ok() && !isWanted;
    if (!head.ok() || !isWanted || size < kHead + length)
        return std::nullopt;
    Frame frame{type, std::string(buffer.data() + kHead, length)};
    [[maybe_unused]] const auto taken =
        ::recv(m_fd.get(), buffer.data(), kHead + length, MSG_DONTWAIT);
    return frame;
}

} // namespace lockstep::collective::detail
