// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/collective/detail/socket.h"

#include "core/base/failure.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace lockstep::collective::detail {

void Fd::reset(int fd) {
    if (m_fd >= 0)
        ::close(m_fd);
    m_fd = fd;
}

WakeUp::WakeUp()
    : m_fd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    LOCKSTEP_CHECK(m_fd, "[collective] no eventfd: " << std::strerror(errno));
}

void WakeUp::wake() {
    const std::uint64_t one = 1;
    // A full counter is readable already, which is all that is asked for.
    [[maybe_unused]] const auto written = ::write(m_fd.get(), &one, sizeof one);
}

void WakeUp::drain() {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto got = ::read(m_fd.get(), &count, sizeof count);
}

namespace {

void setOption(int fd, int level, int name, int value) {
    ::setsockopt(fd, level, name, &value, sizeof value);
}

Result<Fd> bindAndListen(int family, std::uint16_t port) {
    Fd fd(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd)
        return Error{Code::Unsupported, std::strerror(errno), {}};
    setOption(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
    sockaddr_storage storage{};
    socklen_t length = 0;
    if (family == AF_INET6) {
        setOption(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
        sockaddr_in6 address{};
        address.sin6_family = AF_INET6;
        address.sin6_port = htons(port);
        length = sizeof address;
        std::memcpy(&storage, &address, sizeof address);
    } else {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        length = sizeof address;
        std::memcpy(&storage, &address, sizeof address);
    }
    if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&storage), length) != 0 ||
        ::listen(fd.get(), 128) != 0) {
        const int error = errno;
        Code code = Code::Unsupported;
        if (error == EADDRINUSE)
            code = Code::AlreadyExists;
        else if (error == EACCES)
            code = Code::PermissionDenied;
        return Error{code, std::strerror(error), {}};
    }
    return fd;
}

std::vector<Endpoint> lookUp(const std::string& host, std::uint16_t port, int flags, int* status) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags | AI_NUMERICSERV;
    addrinfo* list = nullptr;
    *status = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
    std::vector<Endpoint> endpoints;
    for (const addrinfo* entry = *status == 0 ? list : nullptr; entry; entry = entry->ai_next) {
        const auto* bytes = reinterpret_cast<const std::uint8_t*>(entry->ai_addr);
        endpoints.push_back(Endpoint{{bytes, bytes + entry->ai_addrlen}, entry->ai_family});
    }
    if (*status == 0)
        ::freeaddrinfo(list);
    return endpoints;
}

std::string textOf(const sockaddr_storage& storage, socklen_t length) {
    char host[NI_MAXHOST];
    char port[NI_MAXSERV];
    if (::getnameinfo(reinterpret_cast<const sockaddr*>(&storage), length, host, sizeof host, port,
                      sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return "unknown address";
    std::string name = host;
    if (name.starts_with("::ffff:"))
        name = name.substr(7);
    return name.find(':') == std::string::npos ? name + ":" + port : "[" + name + "]:" + port;
}

} // namespace

Result<Fd> listenOn(std::uint16_t port) {
    auto both = bindAndListen(AF_INET6, port);
    if (both.ok() || both.error().code == Code::AlreadyExists)
        return both;
    return bindAndListen(AF_INET, port); // a host without IPv6
}

Fd acceptFrom(int listener) {
    Fd fd(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd)
        setOption(fd.get(), IPPROTO_TCP, TCP_NODELAY, 1);
    return fd;
}

std::string peerText(int fd) {
    sockaddr_storage storage{};
    socklen_t length = sizeof storage;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&storage), &length) != 0)
        return "unknown address";
    return textOf(storage, length);
}

std::string addressText(const std::string& host, std::uint16_t port) {
    const std::string number = std::to_string(port);
    return host.find(':') == std::string::npos ? host + ":" + number : "[" + host + "]:" + number;
}

Fd startConnect(const Endpoint& endpoint, int* error) {
    *error = 0;
    Fd fd(::socket(endpoint.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd) {
        *error = errno;
        return fd;
    }
    setOption(fd.get(), IPPROTO_TCP, TCP_NODELAY, 1);
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(endpoint.bytes.data()),
                  static_cast<socklen_t>(endpoint.bytes.size())) != 0 &&
        errno != EINPROGRESS) {
        *error = errno;
        fd.reset();
    }
    return fd;
}

int connectResult(int fd) {
    int error = 0;
    socklen_t length = sizeof error;
    if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0)
        return errno;
    if (error != 0)
        return error;
    sockaddr_storage own{};
    sockaddr_storage other{};
    socklen_t ownLength = sizeof own;
    socklen_t otherLength = sizeof other;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &ownLength) != 0 ||
        ::getpeername(fd, reinterpret_cast<sockaddr*>(&other), &otherLength) != 0)
        return errno;
    const bool toItself = ownLength == otherLength && std::memcmp(&own, &other, ownLength) == 0;
    return toItself ? ECONNREFUSED : 0;
}

std::vector<Endpoint> literalEndpoints(const std::string& host, std::uint16_t port) {
    int status = 0;
    return lookUp(host, port, AI_NUMERICHOST, &status);
}

std::vector<Endpoint> resolveEndpoints(const std::string& host, std::uint16_t port,
                                       std::string* problem) {
    int status = 0;
    auto endpoints = lookUp(host, port, AI_ADDRCONFIG, &status);
    if (status != 0)
        // Without a configured interface AI_ADDRCONFIG hides even /etc/hosts; ask once more.
        endpoints = lookUp(host, port, 0, &status);
    if (status != 0)
        *problem = ::gai_strerror(status);
    return endpoints;
}

TcpHealth tcpHealth(int fd) {
    TcpHealth health;
    tcp_info info{};
    socklen_t length = sizeof info;
    if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0)
        return health;
    // Probes count where a local firewall drops what we send: it then never was on its way. A peer
    // that merely does not read answers them, which sets them back.
    health.hasUnacknowledged = info.tcpi_unacked > 0 || info.tcpi_probes > 0;
    health.lastAck = Monotonic::now() - std::chrono::milliseconds(info.tcpi_last_ack_recv);
    return health;
}

void pollUntil(std::vector<pollfd>& fds, Monotonic::time_point deadline) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Monotonic::now());
    const auto wait = std::clamp<std::int64_t>(left.count(), 0, 60'000);
    if (::poll(fds.data(), fds.size(), static_cast<int>(wait)) < 0)
        for (pollfd& entry : fds)
            entry.revents = 0;
}

} // namespace lockstep::collective::detail
