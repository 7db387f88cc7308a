// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Sockets of Linux, as far as the rendezvous, the monitor and the ring need them.

#include "core/base/clock.h"
#include "core/base/result.h"

#include <poll.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

struct addrinfo;

namespace lockstep::collective::detail {

/// A file descriptor that closes itself.
class Fd {
public:
    Fd() = default;
    explicit Fd(int fd)
        : m_fd(fd) {}
    ~Fd() { reset(); }
    Fd(Fd&& other) noexcept
        : m_fd(std::exchange(other.m_fd, -1)) {}
    Fd& operator=(Fd&& other) noexcept {
        if (this != &other)
            reset(std::exchange(other.m_fd, -1));
        return *this;
    }
    int get() const { return m_fd; }
    explicit operator bool() const { return m_fd >= 0; }
    void reset(int fd = -1);

private:
    int m_fd = -1;
};

/// Makes a poll return. wake() is safe from any thread.
class WakeUp {
public:
    WakeUp();
    void wake();
    void drain();
    int fd() const { return m_fd.get(); }

private:
    Fd m_fd;
};

/// A socket that listens on all interfaces (IPv6 and IPv4) at `port`, non-blocking, SO_REUSEADDR.
/// The error is AlreadyExists where the port is in use.
Result<Fd> listenOn(std::uint16_t port);
/// The next connection, non-blocking and without delay; empty when there is none.
Fd acceptFrom(int listener);
/// "10.0.0.7:53412" of the other end, never a name.
std::string peerText(int fd);
/// "10.0.0.7:2222", IPv6 in brackets.
std::string addressText(const std::string& host, std::uint16_t port);

/// One numeric socket address.
struct Endpoint {
    std::vector<std::uint8_t> bytes; ///< sockaddr
    int family = 0;
};

/// Starts a connection; *error is errno where it failed at once (EINPROGRESS is none).
Fd startConnect(const Endpoint& endpoint, int* error);
/// After the socket became writable: 0, or the errno of the connection. A socket that was joined to
/// itself (a dial of a free local port may do that) counts as refused.
int connectResult(int fd);

/// Literal addresses only, without asking any name service; empty where `host` is a name.
std::vector<Endpoint> literalEndpoints(const std::string& host, std::uint16_t port);
/// Asks the name service; may block for as long as the resolver likes.
std::vector<Endpoint> resolveEndpoints(const std::string& host, std::uint16_t port,
                                       std::string* problem);

/// What the kernel knows about data that we sent.
struct TcpHealth {
    bool hasUnacknowledged = false;
    Monotonic::time_point lastAck; ///< when the other kernel last acknowledged anything
};
TcpHealth tcpHealth(int fd);

/// poll with a deadline; EINTR is no event.
void pollUntil(std::vector<pollfd>& fds, Monotonic::time_point deadline);

} // namespace lockstep::collective::detail
