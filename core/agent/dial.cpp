// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/agent/detail/descriptor.h"
#include "core/agent/detail/reach_wire.h"
#include "core/agent/probe.h"
#include "core/agent/reach.h"
#include "core/base/clock.h"
#include "core/base/hash.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

namespace lockstep::agent {

namespace {

using namespace detail;
using Time = Monotonic::time_point;

Time after(double seconds) {
    return Monotonic::now() +
           std::chrono::duration_cast<Monotonic::duration>(std::chrono::duration<double>(seconds));
}

double secondsSince(Time start) {
    return std::chrono::duration<double>(Monotonic::now() - start).count();
}

int millisecondsTo(Time deadline) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Monotonic::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left + 1, 0, 1 << 30));
}

/// Whose turn it is to measure: of those that are ready, the first in the order of the request.
class Turns {
public:
    void take(std::size_t place) {
        std::unique_lock lock(m_mutex);
        m_ready.insert(place);
        m_changed.wait(lock, [&] { return !m_isTaken && *m_ready.begin() == place; });
        m_ready.erase(place);
        m_isTaken = true;
    }
    void give() {
        const std::lock_guard lock(m_mutex);
        m_isTaken = false;
        m_changed.notify_all();
    }

private:
    std::mutex m_mutex;
    std::condition_variable m_changed;
    std::set<std::size_t> m_ready;
    bool m_isTaken = false;
};

/// A socket's bytes with deadlines.
class Line {
public:
    explicit Line(Descriptor fd)
        : m_fd(std::move(fd)) {}

    /// Sends while it reads `want` bytes into received(). What is not done at the deadline goes on
    /// with resume().
    bool exchange(std::string_view bytes, std::size_t want, Time deadline) {
        m_received.clear();
        m_toSend = bytes;
        m_want = want;
        return resume(deadline);
    }
    bool resume(Time deadline) {
        while (!m_toSend.empty() || m_received.size() < m_want) {
            pollfd waiting{m_fd.get(),
                           static_cast<short>((m_toSend.empty() ? 0 : POLLOUT) |
                                              (m_received.size() < m_want ? POLLIN : 0)),
                           0};
            const int ready = ::poll(&waiting, 1, millisecondsTo(deadline));
            if (ready < 0 && errno == EINTR)
                continue;
            if (ready <= 0)
                return false;
            if (waiting.revents & POLLOUT && !push())
                return false;
            if (waiting.revents & (POLLIN | POLLHUP | POLLERR) && !pull())
                return false;
        }
        return true;
    }
    const std::string& received() const { return m_received; }

private:
    bool push() {
        const ssize_t sent =
            ::send(m_fd.get(), m_toSend.data(), m_toSend.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0)
            return errno == EAGAIN || errno == EINTR;
        m_toSend.remove_prefix(static_cast<std::size_t>(sent));
        return true;
    }
    bool pull() {
        char block[1 << 16];
        const std::size_t room = std::min(sizeof block, m_want - m_received.size());
        const ssize_t got = ::recv(m_fd.get(), block, std::max<std::size_t>(room, 1), MSG_DONTWAIT);
        if (got < 0)
            return errno == EAGAIN || errno == EINTR;
        m_received.append(block, static_cast<std::size_t>(got));
        return got > 0;
    }

    std::string_view m_toSend;
    std::size_t m_want = 0;
    Descriptor m_fd;
    std::string m_received;
};

std::string printable(const std::string& bytes) {
    std::string text;
    for (const char c : bytes.substr(0, 60))
        if (c == '\r' || c == '\n')
            break;
        else
            text += c >= ' ' && c < 127 ? c : '?';
    return text;
}

struct Found {
    sockaddr_storage address{};
    socklen_t length = 0;
};

std::string numberOf(const sockaddr* address, socklen_t length) {
    char text[NI_MAXHOST] = {};
    ::getnameinfo(address, length, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
    return text;
}

/// All addresses of the peer, as this host knows them; asked again with back-off.
std::vector<Found> lookUp(const Peer& peer, double seconds, std::string& words) {
    const std::string host = peer.zone.empty() ? peer.host : peer.host + '%' + peer.zone;
    const Time deadline = after(seconds);
    auto pause = std::chrono::milliseconds(100);
    for (;;) {
        addrinfo hints{};
        hints.ai_socktype = SOCK_STREAM;
        addrinfo* list = nullptr;
        const int code =
            ::getaddrinfo(host.c_str(), std::to_string(peer.port).c_str(), &hints, &list);
        if (code == 0) {
            std::vector<Found> found;
            for (const addrinfo* each = list; each; each = each->ai_next) {
                Found& entry = found.emplace_back();
                std::memcpy(&entry.address, each->ai_addr, each->ai_addrlen);
                entry.length = each->ai_addrlen;
            }
            ::freeaddrinfo(list);
            return found;
        }
        words = ::gai_strerror(code);
        if (Monotonic::now() + pause >= deadline)
            return {};
        std::this_thread::sleep_for(pause); // between two questions to a name service
        pause = std::min(pause * 2, std::chrono::milliseconds(2000));
    }
}

class Dialling {
public:
    Dialling(const DialRequest& request, std::size_t place, Turns& turns)
        : m_request(request)
        , m_peer(request.peers[place])
        , m_place(place)
        , m_turns(turns) {
        m_result.task = m_peer.task;
    }

    DialResult run() {
        const auto found = lookUp(m_peer, m_request.resolveSeconds, m_result.words);
        if (found.empty()) {
            m_result.reach = Reach::UnknownName;
            return m_result;
        }
        m_result.words.clear();
        for (const Found& each : found)
            m_result.addresses.push_back(
                numberOf(reinterpret_cast<const sockaddr*>(&each.address), each.length));
        for (const Found& each : found) {
            m_result.reach = Reach::NoRoute;
            Descriptor fd = connect(each);
            if (!fd.isOpen())
                continue;
            Line line(std::move(fd));
            if (greet(line))
                measure(line);
            break;
        }
        return m_result;
    }

private:
    Descriptor connect(const Found& to) {
        const auto* address = reinterpret_cast<const sockaddr*>(&to.address);
        m_result.address = numberOf(address, to.length);
        askRoute(address, to.length);
        Descriptor fd(
            ::socket(to.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        const int yes = 1;
        ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        int error = 0;
        if (::connect(fd.get(), address, to.length) != 0)
            error = errno;
        if (error == EINPROGRESS)
            error = waitConnected(fd.get());
        if (error == 0)
            return fd;
        m_result.words = std::strerror(error);
        if (error == ETIMEDOUT)
            m_result.reach = Reach::Dropped;
        else if (error == ECONNREFUSED || error == EACCES || error == EPERM)
            m_result.reach = Reach::Refused;
        return {};
    }

    int waitConnected(int fd) const {
        const Time deadline = after(m_request.connectSeconds);
        pollfd waiting{fd, POLLOUT, 0};
        int ready = 0;
        do
            ready = ::poll(&waiting, 1, millisecondsTo(deadline));
        while (ready < 0 && errno == EINTR);
        if (ready <= 0)
            return ETIMEDOUT;
        int error = 0;
        socklen_t length = sizeof error;
        ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
        return error;
    }

    /// The address and interface that the kernel would use: a UDP socket sends nothing for that.
    void askRoute(const sockaddr* address, socklen_t length) {
        const Descriptor fd(::socket(address->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        sockaddr_storage own{};
        socklen_t ownLength = sizeof own;
        if (!fd.isOpen() || ::connect(fd.get(), address, length) != 0 ||
            ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&own), &ownLength) != 0)
            return;
        m_result.localAddress = numberOf(reinterpret_cast<const sockaddr*>(&own), ownLength);
        const std::string bare = m_result.localAddress.substr(0, m_result.localAddress.find('%'));
        for (const NetworkInterface& each : interfacesOfHost())
            if (std::count(each.addresses.begin(), each.addresses.end(), bare))
                m_result.localInterface = each.name;
    }

    bool greet(Line& line) {
        const std::string nonce = randomHex(kNonceBytes / 2);
        const bool whole = line.exchange(greeting(kDialWord, nonce, m_request.token),
                                         kGreetingBytes, after(m_request.connectSeconds));
        const std::string& answer = line.received();
        m_result.reach = Reach::WrongProgram;
        if (!whole || answer.compare(8, kNonceBytes, nonce) != 0) {
            m_result.words = answer.empty() ? "it took the connection and did not answer"
                                            : "it answered \"" + printable(answer) + "\"";
            return false;
        }
        m_result.answeredBy = answer.substr(8 + kNonceBytes).c_str(); // up to the first NUL
        if (answer.starts_with(kOtherWord)) {
            m_result.words = "it is the listener of another check";
            return false;
        }
        m_result.reach = m_result.answeredBy == m_peer.task ? Reach::Reached : Reach::WrongHost;
        return m_result.reach == Reach::Reached;
    }

    void measure(Line& line) {
        m_turns.take(m_place);
        bool isMine = true;
        std::vector<double> trips;
        for (int i = 0; i < 7; ++i)
            if (const Echo echo = tryEcho(line, 1); echo.state == EchoState::Good)
                trips.push_back(echo.seconds);
            else
                break;
        if (!trips.empty()) {
            std::nth_element(trips.begin(), trips.begin() + static_cast<int>(trips.size() / 2),
                             trips.end());
            m_result.roundTripSeconds = trips[trips.size() / 2];
        }
        const std::pair<Echo*, std::size_t> sizes[] = {{&m_result.echo1K, 1 << 10},
                                                       {&m_result.echo64K, 64 << 10},
                                                       {&m_result.echo1M, 1 << 20}};
        for (const auto& [echo, size] : sizes) {
            *echo = tryEcho(line, size, [&] {
                // A path that loses long packets must not hold up the others.
                if (std::exchange(isMine, false))
                    m_turns.give();
            });
            if (echo->state != EchoState::Good)
                break;
        }
        if (m_result.echo1M.state == EchoState::Good && m_request.bandwidthSeconds > 0)
            measureBandwidth(line);
        if (isMine)
            m_turns.give();
    }

    template <class Slow>
    Echo tryEcho(Line& line, std::size_t size, Slow slow) {
        constexpr double kPatience = 0.25;
        const std::string bytes = frameHead(kEcho, size) + std::string(size, 'x');
        const Time start = Monotonic::now();
        bool good = line.exchange(bytes, size, after(std::min(kPatience, m_request.echoSeconds)));
        if (!good && secondsSince(start) >= kPatience) {
            slow();
            good = line.resume(after(m_request.echoSeconds));
        }
        return {good ? EchoState::Good : EchoState::Failed, secondsSince(start)};
    }
    Echo tryEcho(Line& line, std::size_t size) {
        return tryEcho(line, size, [] {});
    }

    void measureBandwidth(Line& line) {
        constexpr std::size_t kBlock = 1 << 20;
        const std::string block = frameHead(kSink, kBlock) + std::string(kBlock, 'x');
        const Time start = Monotonic::now();
        const Time deadline = after(m_request.bandwidthSeconds + m_request.echoSeconds);
        std::size_t blocks = 0;
        std::size_t acks = 0;
        while (secondsSince(start) < m_request.bandwidthSeconds) {
            // Two blocks are under way at any time, so that the sender never waits for an answer.
            if (!line.exchange(block, blocks - acks >= 2 ? kAck.size() : 0, deadline))
                return;
            ++blocks;
            acks += line.received().size() / kAck.size();
        }
        if (line.exchange({}, (blocks - acks) * kAck.size(), deadline))
            m_result.bytesPerSecond = static_cast<double>(blocks * kBlock) / secondsSince(start);
    }

    const DialRequest& m_request;
    const Peer& m_peer;
    std::size_t m_place;
    Turns& m_turns;
    DialResult m_result;
};

/// What the threads share; the last one of them frees it.
struct Shared {
    explicit Shared(const DialRequest& given)
        : request(given)
        , isDone(given.peers.size()) {}
    DialRequest request;
    Turns turns;
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<bool> isDone;
    std::size_t doneCount = 0;
    bool isOver = false;
    std::function<void(const DialResult&)> done;
};

} // namespace

void dial(const DialRequest& request, const std::function<void(const DialResult&)>& done) {
    auto shared = std::make_shared<Shared>(request);
    shared->done = done;
    for (std::size_t place = 0; place < request.peers.size(); ++place)
        std::thread([shared, place] {
            const DialResult result = Dialling(shared->request, place, shared->turns).run();
            const std::lock_guard lock(shared->mutex);
            if (shared->isOver)
                return;
            shared->isDone[place] = true;
            ++shared->doneCount;
            shared->done(result);
            shared->changed.notify_all();
        }).detach();
    std::unique_lock lock(shared->mutex);
    shared->changed.wait_until(lock, after(request.seconds),
                               [&] { return shared->doneCount == request.peers.size(); });
    shared->isOver = true;
    for (std::size_t place = 0; place < request.peers.size(); ++place) {
        if (shared->isDone[place])
            continue;
        DialResult result;
        result.task = request.peers[place].task;
        result.words = "the check ended before an answer came";
        done(result);
    }
}

} // namespace lockstep::agent
