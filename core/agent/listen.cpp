// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/agent/detail/descriptor.h"
#include "core/agent/detail/reach_wire.h"
#include "core/agent/probe.h"
#include "core/agent/reach.h"
#include "core/base/clock.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

namespace lockstep::agent {

namespace {

using namespace detail;

constexpr std::size_t kMaxConnections = 512;
constexpr std::size_t kMaxWaiting = 1 << 20; ///< echo bytes that the dialler has not taken yet
constexpr double kAliveSeconds = 2;

int openPort(int family, int port, Descriptor& out) {
    Descriptor fd(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd.isOpen())
        return errno;
    const int yes = 1;
    const int no = 0;
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(static_cast<std::uint16_t>(port));
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = v6.sin6_port;
    if (family == AF_INET6)
        ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    const auto* address = family == AF_INET6 ? reinterpret_cast<const sockaddr*>(&v6)
                                             : reinterpret_cast<const sockaddr*>(&v4);
    if (::bind(fd.get(), address, family == AF_INET6 ? sizeof v6 : sizeof v4) != 0 ||
        ::listen(fd.get(), 128) != 0)
        return errno;
    out = std::move(fd);
    return 0;
}

/// One dialler. Reads whole greetings and frame heads, streams what follows.
class Caller {
public:
    Caller(Descriptor fd, const std::string& task, const std::string& token)
        : m_fd(std::move(fd))
        , m_task(task)
        , m_token(token) {}

    int fd() const { return m_fd.get(); }
    short wanted() const {
        return static_cast<short>((m_out.size() < kMaxWaiting ? POLLIN : 0) |
                                  (m_out.empty() ? 0 : POLLOUT));
    }
    /// False where the connection is over.
    bool serve(short ready) {
        if (ready & POLLOUT && !flush())
            return false;
        if (ready & (POLLIN | POLLHUP | POLLERR) && !take())
            return false;
        return m_out.empty() || flush();
    }

private:
    bool flush() {
        const ssize_t sent = ::send(fd(), m_out.data(), m_out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0)
            return errno == EAGAIN || errno == EINTR;
        m_out.erase(0, static_cast<std::size_t>(sent));
        return true;
    }

    bool take() {
        char block[1 << 16];
        const ssize_t got = ::recv(fd(), block, sizeof block, MSG_DONTWAIT);
        if (got < 0)
            return errno == EAGAIN || errno == EINTR;
        std::string_view bytes(block, static_cast<std::size_t>(got));
        while (!bytes.empty())
            if (!consume(bytes))
                return false;
        return got > 0;
    }

    bool consume(std::string_view& bytes) {
        if (m_left > 0) {
            const std::size_t count = std::min<std::uint64_t>(m_left, bytes.size());
            if (m_kind == kEcho)
                m_out += bytes.substr(0, count);
            bytes.remove_prefix(count);
            m_left -= count;
            if (m_left == 0 && m_kind == kSink)
                m_out += kAck;
            return true;
        }
        const std::size_t whole = m_isGreeted ? kFrameHead : kGreetingBytes;
        const std::size_t count = std::min(whole - m_head.size(), bytes.size());
        m_head += bytes.substr(0, count);
        bytes.remove_prefix(count);
        if (m_head.size() < whole)
            return true;
        const std::string head = std::exchange(m_head, {});
        if (!m_isGreeted)
            return greet(head);
        m_kind = head[0];
        m_left = frameLength(head);
        return m_kind == kEcho || m_kind == kSink;
    }

    bool greet(const std::string& head) {
        if (!head.starts_with(kDialWord))
            return false;
        const std::string nonce = head.substr(kDialWord.size(), kNonceBytes);
        const bool isOurs = head == greeting(kDialWord, nonce, m_token);
        m_out += greeting(isOurs ? kHereWord : kOtherWord, nonce, m_task);
        m_isGreeted = true;
        return true;
    }

    Descriptor m_fd;
    const std::string& m_task;
    const std::string& m_token;
    bool m_isGreeted = false;
    std::string m_head;
    char m_kind = 0;
    std::uint64_t m_left = 0; ///< of the frame's bytes
    std::string m_out;
};

struct Door {
    Descriptor fd;
    std::string task;
};

/// An error number, or 0. Hosts without IPv6 get a socket of the other kind.
int openAnyFamily(int port, Descriptor& fd) {
    const int error = openPort(AF_INET6, port, fd);
    return error == 0 || error == EADDRINUSE || error == EACCES ? error
                                                                : openPort(AF_INET, port, fd);
}

/// The first one above `port` that can be opened; 0 where none of the next hundred can.
int freePortAbove(int port) {
    for (int next = port + 1; next <= std::min(port + 100, 65'535); ++next) {
        Descriptor fd;
        if (openAnyFamily(next, fd) == 0)
            return next;
    }
    return 0;
}

ListenReply openDoor(const Port& port, std::vector<std::unique_ptr<Door>>& doors) {
    ListenReply reply;
    reply.task = port.task;
    if (port.port < 1 || port.port > 65'535) {
        reply.why = "Port " + std::to_string(port.port) + " is no port; expected 1 to 65535.";
        return reply;
    }
    const int number = static_cast<int>(port.port);
    auto door = std::make_unique<Door>();
    door->task = port.task;
    const int error = openAnyFamily(number, door->fd);
    if (error == 0) {
        reply.isOpen = true;
        doors.push_back(std::move(door));
        return reply;
    }
    if (error == EADDRINUSE)
        reply.owner = portOwner(number);
    reply.freePort = freePortAbove(number);
    reply.why = error == EADDRINUSE ? "in use" : std::strerror(error);
    return reply;
}

void acceptAll(const Door& door, const std::string& token,
               std::vector<std::unique_ptr<Caller>>& callers) {
    for (;;) {
        Descriptor fd(::accept4(door.fd.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!fd.isOpen())
            return;
        const int yes = 1;
        ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        if (callers.size() < kMaxConnections)
            callers.push_back(std::make_unique<Caller>(std::move(fd), door.task, token));
    }
}

/// False where nobody is interested any more.
bool inputIsOpen(int input, short ready) {
    char block[512];
    return !ready || ::read(input, block, sizeof block) > 0 || errno == EINTR;
}

double secondsNow() {
    return std::chrono::duration<double>(Monotonic::now().time_since_epoch()).count();
}

} // namespace

void listen(const ListenRequest& request, int input, int output) {
    std::vector<std::unique_ptr<Door>> doors;
    std::vector<std::unique_ptr<Caller>> callers;
    for (const Port& port : request.ports)
        if (!writeAll(output, encode(openDoor(port, doors))))
            return;
    const double end = secondsNow() + request.seconds;
    double nextSign = secondsNow() + kAliveSeconds;
    while (secondsNow() < end) {
        std::vector<pollfd> waiting{{input, POLLIN, 0}};
        for (const auto& door : doors)
            waiting.push_back({door->fd.get(), POLLIN, 0});
        for (const auto& caller : callers)
            waiting.push_back({caller->fd(), caller->wanted(), 0});
        if (::poll(waiting.data(), waiting.size(), 500) < 0 && errno != EINTR)
            return;
        if (!inputIsOpen(input, waiting[0].revents))
            return;
        const std::size_t firstCaller = 1 + doors.size();
        for (std::size_t i = callers.size(); i-- > 0;)
            if (const short ready = waiting[firstCaller + i].revents;
                ready && !callers[i]->serve(ready))
                callers.erase(callers.begin() + static_cast<std::ptrdiff_t>(i));
        for (std::size_t i = 0; i < doors.size(); ++i)
            if (waiting[1 + i].revents)
                acceptAll(*doors[i], request.token, callers);
        if (secondsNow() < nextSign)
            continue;
        nextSign = secondsNow() + kAliveSeconds;
        if (!writeAll(output, "{\"alive\":true}\n"))
            return;
    }
}

} // namespace lockstep::agent
