// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/collective/detail/ring.h"

#include "core/base/failure.h"
#include "core/collective/detail/frame.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace lockstep::collective::detail {

namespace {

constexpr std::size_t kScratch = 256 * 1024; // a multiple of every element size
constexpr std::size_t kHeader = 24;
constexpr std::uint32_t kHeaderMagic = 0xC0FFEE01; // not a length that a frame may have

std::array<std::byte, kHeader> makeHeader(const WorkState& work, std::uint64_t sequence) {
    ByteWriter out;
    out.u32(kHeaderMagic);
    out.u8(static_cast<std::uint8_t>(work.op));
    out.u8(0);
    out.u16(static_cast<std::uint16_t>(work.root));
    out.u64(sequence);
    out.u64(work.bytes.size());
    std::array<std::byte, kHeader> header{};
    std::memcpy(header.data(), out.bytes().data(), kHeader);
    return header;
}

std::string describeHeader(std::span<const std::byte> header) {
    ByteReader in({reinterpret_cast<const char*>(header.data()), header.size()});
    if (in.u32() != kHeaderMagic)
        return "bytes that are no collective";
    constexpr std::array<const char*, 5> kNames{"?", "sum of floats", "sum of doubles", "broadcast",
                                                "gather"};
    const std::size_t op = in.u8();
    in.u8();
    const unsigned root = in.u16();
    const auto sequence = in.u64();
    const auto size = in.u64();
    std::string text = std::string(op < kNames.size() ? kNames[op] : "?") + " number " +
                       std::to_string(sequence) + " of " + std::to_string(size) + " bytes";
    if (op == static_cast<std::size_t>(Op::Broadcast))
        text += " from rank " + std::to_string(root);
    return text;
}

std::string errnoText(int error) {
    return error == 0 ? "closed by the other end" : std::generic_category().message(error);
}

// The order of the additions is the order of the ring, chunk by chunk: the same on every rank.
template <class T>
void addTo(std::byte* target, const std::byte* source, std::size_t elements) {
    T* const to = reinterpret_cast<T*>(target);
    const T* const from = reinterpret_cast<const T*>(source);
    for (std::size_t i = 0; i < elements; ++i)
        to[i] += from[i];
}

} // namespace

Ring::Ring(int rank, int size, Fd out, Fd in, std::chrono::milliseconds timeout, const Fate& fate)
    : m_rank(rank)
    , m_size(size)
    , m_out(std::move(out))
    , m_in(std::move(in))
    , m_timeout(timeout)
    , m_fate(fate)
    , m_scratch(std::make_unique<std::byte[]>(kScratch)) {}

std::span<std::byte> Ring::Route::chunk(int index) const {
    const auto count = static_cast<std::size_t>(chunks);
    const auto c = static_cast<std::size_t>(((index % chunks) + chunks) % chunks);
    const std::size_t small = elements / count;
    const std::size_t larger = elements % count;
    const std::size_t begin = c * small + std::min(c, larger);
    const std::size_t length = small + (c < larger ? 1 : 0);
    return {base + begin * elementSize, length * elementSize};
}

Ring::Route Ring::route(const WorkState& work) const {
    Route route;
    route.base = work.bytes.data();
    route.chunks = m_size;
    route.first = m_rank;
    switch (work.op) {
    case Op::SumFloats:
    case Op::SumDoubles:
        route.elementSize = work.op == Op::SumFloats ? sizeof(float) : sizeof(double);
        route.add = work.op == Op::SumFloats ? Add::Floats : Add::Doubles;
        route.sendSteps = route.receiveSteps = 2 * (m_size - 1);
        route.addSteps = m_size - 1;
        break;
    case Op::AllGather:
        route.sendSteps = route.receiveSteps = m_size - 1;
        break;
    case Op::Broadcast:
        route.chunks = 1;
        route.sendSteps = next() == work.root ? 0 : 1;
        route.receiveSteps = m_rank == work.root ? 0 : 1;
        break;
    }
    route.elements = work.bytes.size() / route.elementSize;
    const bool leads = work.op != Op::Broadcast || m_rank == work.root;
    route.lead = leads ? route.chunk(route.first).size() : 0;
    for (int step = 0; step < route.sendSteps; ++step)
        route.sendBytes += route.chunk(route.first - step).size();
    for (int step = 0; step < route.receiveSteps; ++step)
        route.receiveBytes += route.chunk(route.first - 1 - step).size();
    return route;
}

void Ring::run(const WorkState& work, std::uint64_t sequence) {
    const auto header = makeHeader(work, sequence);
    exchange(route(work), header);
}

void Ring::exchange(const Route& route, std::span<const std::byte> header) {
    m_sending = {};
    m_receiving = {};
    m_scratchUsed = 0;
    auto deadline = Monotonic::now() + m_timeout;
    while (!isSent(route) || !isReceived(route)) {
        const bool hasSent = sendSome(route, header);
        const bool hasReceived = receiveSome(route, header);
        if (hasSent || hasReceived) {
            deadline = Monotonic::now() + m_timeout;
            continue;
        }
        std::array<pollfd, 3> fds{{
            {mayBeSent(route) ? m_out.get() : -1, POLLOUT, 0},
            {isReceived(route) ? -1 : m_in.get(), POLLIN, 0},
            {m_fate.wakeFd(), POLLIN, 0},
        }};
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Monotonic::now());
        if (left.count() <= 0)
            throw RingError{RingFault::Stalled, isReceived(route) ? next() : previous(), {}};
        ::poll(fds.data(), fds.size(),
               static_cast<int>(std::min<std::int64_t>(left.count(), 60'000)));
        if (m_fate.isOver())
            throw Ended{};
    }
}

bool Ring::isSent(const Route& route) const {
    return route.sendSteps == 0 ||
           (m_sending.headerDone == kHeader && m_sending.total == route.sendBytes);
}

bool Ring::isReceived(const Route& route) const {
    return route.receiveSteps == 0 ||
           (m_receiving.headerDone == kHeader && m_receiving.total == route.receiveBytes);
}

bool Ring::mayBeSent(const Route& route) const {
    if (isSent(route))
        return false;
    return m_sending.headerDone < kHeader || m_sending.total < route.lead + m_receiving.total;
}

bool Ring::sendSome(const Route& route, std::span<const std::byte> header) {
    bool hasProgressed = false;
    while (mayBeSent(route)) {
        // On to the next chunk; empty ones have nothing to send.
        while (m_sending.step < route.sendSteps &&
               m_sending.offset == route.chunk(route.first - m_sending.step).size()) {
            ++m_sending.step;
            m_sending.offset = 0;
        }
        const auto rest = header.subspan(m_sending.headerDone);
        std::span<std::byte> body;
        if (m_sending.step < route.sendSteps) {
            body = route.chunk(route.first - m_sending.step).subspan(m_sending.offset);
            const auto open = route.lead + m_receiving.total - m_sending.total;
            body = body.first(std::min<std::size_t>(body.size(), open));
        }
        if (rest.empty() && body.empty())
            return hasProgressed;
        std::array<iovec, 2> parts{
            {{const_cast<std::byte*>(rest.data()), rest.size()}, {body.data(), body.size()}}};
        msghdr message{};
        message.msg_iov = parts.data();
        message.msg_iovlen = parts.size();
        const auto sent = ::sendmsg(m_out.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0) {
            if (errno == EAGAIN || errno == EWOULDBLOCK)
                return hasProgressed;
            if (errno == EINTR)
                continue;
            throw RingError{RingFault::Lost, next(), errnoText(errno)};
        }
        hasProgressed = true;
        const auto count = static_cast<std::size_t>(sent);
        const std::size_t ofHeader = std::min(count, rest.size());
        m_sending.headerDone += ofHeader;
        m_sending.offset += count - ofHeader;
        m_sending.total += count - ofHeader;
    }
    return hasProgressed;
}

/// How many came; 0 where none is there now.
std::size_t Ring::receiveBytes(std::byte* to, std::size_t size) {
    for (;;) {
        const auto got = ::recv(m_in.get(), to, size, MSG_DONTWAIT);
        if (got > 0)
            return static_cast<std::size_t>(got);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return 0;
        throw RingError{RingFault::Lost, previous(), errnoText(got == 0 ? 0 : errno)};
    }
}

bool Ring::receiveHeader(std::span<const std::byte> expected) {
    const std::size_t got =
        receiveBytes(m_header.data() + m_receiving.headerDone, kHeader - m_receiving.headerDone);
    m_receiving.headerDone += got;
    if (m_receiving.headerDone == kHeader &&
        std::memcmp(m_header.data(), expected.data(), kHeader) != 0)
        throw RingError{RingFault::Unmatched, previous(),
                        "it sends a " + describeHeader(m_header) + ", expected was a " +
                            describeHeader(expected)};
    return got > 0;
}

bool Ring::receiveSome(const Route& route, std::span<const std::byte> header) {
    if (isReceived(route))
        return false;
    if (m_receiving.headerDone < kHeader)
        return receiveHeader(header);
    const auto chunk = route.chunk(route.first - 1 - m_receiving.step);
    const std::size_t wanted = chunk.size() - m_receiving.offset;
    std::size_t done = 0;
    bool hasProgressed = wanted == 0;
    if (wanted > 0 && m_receiving.step < route.addSteps) {
        const std::size_t got =
            receiveBytes(m_scratch.get() + m_scratchUsed,
                         std::min(wanted - m_scratchUsed, kScratch - m_scratchUsed));
        hasProgressed = got > 0;
        m_scratchUsed += got;
        const std::size_t elements = m_scratchUsed / route.elementSize;
        done = elements * route.elementSize;
        addFromScratch(route, chunk.data() + m_receiving.offset, elements);
        std::memmove(m_scratch.get(), m_scratch.get() + done, m_scratchUsed - done);
        m_scratchUsed -= done;
    } else if (wanted > 0) {
        done = receiveBytes(chunk.data() + m_receiving.offset, wanted);
        hasProgressed = done > 0;
    }
    m_receiving.offset += done;
    m_receiving.total += done;
    if (m_receiving.offset == chunk.size()) {
        ++m_receiving.step;
        m_receiving.offset = 0;
    }
    return hasProgressed;
}

void Ring::addFromScratch(const Route& route, std::byte* target, std::size_t elements) const {
    if (route.add == Add::Floats)
        addTo<float>(target, m_scratch.get(), elements);
    else
        addTo<double>(target, m_scratch.get(), elements);
}

} // namespace lockstep::collective::detail
