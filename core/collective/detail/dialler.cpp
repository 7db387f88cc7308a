// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/collective/detail/dialler.h"

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>

namespace lockstep::collective::detail {

namespace {

constexpr std::chrono::milliseconds kFirstPause{50};
constexpr std::chrono::milliseconds kLongestPause{1000};
constexpr std::chrono::seconds kConnect{3};
constexpr std::chrono::seconds kHello{3};
constexpr std::chrono::milliseconds kResolverPoll{20};

std::string phraseOf(int error) {
    switch (error) {
    case ECONNREFUSED:
        return "connection refused: no worker listens on that port";
    case ETIMEDOUT:
        return "no answer: the host is down, or a firewall drops the packets";
    case EHOSTUNREACH:
    case ENETUNREACH:
    case ENETDOWN:
        return "unreachable: no route to that host";
    case EADDRNOTAVAIL:
        return "this host cannot send to that address";
    default:
        return std::string("cannot connect: ") + std::generic_category().message(error);
    }
}

} // namespace

/// getaddrinfo cannot be interrupted and may take as long as the resolver likes, so it has a thread
/// that outlives the question where it must; what it shares with us is counted.
class Resolution {
public:
    static std::shared_ptr<Resolution> start(const std::string& host, std::uint16_t port) {
        auto resolution = std::make_shared<Resolution>();
        std::thread([resolution, host, port] {
            resolution->endpoints = resolveEndpoints(host, port, &resolution->problem);
            resolution->isDone.store(true, std::memory_order_release);
        }).detach();
        return resolution;
    }

    std::atomic<bool> isDone{false};
    std::vector<Endpoint> endpoints; ///< read after isDone
    std::string problem;
};

Dialler::Dialler(const Self& self, const Member& member, int rank, Purpose purpose)
    : m_self(self)
    , m_member(member)
    , m_rank(rank)
    , m_purpose(purpose)
    , m_pause(kFirstPause) {}

Dialler::~Dialler() = default;
Dialler::Dialler(Dialler&&) noexcept = default;

void Dialler::step(Monotonic::time_point now) {
    if (m_state == State::Waiting && now >= m_wakeAt)
        start(now);
    if (m_state == State::Resolving)
        onResolved(now);
    if (m_state == State::Connecting)
        onConnecting(now);
    if (m_state == State::Greeting)
        onGreeting(now);
}

void Dialler::start(Monotonic::time_point now) {
    m_next = 0;
    m_endpoints = literalEndpoints(m_member.host, m_member.port);
    if (!m_endpoints.empty())
        return connectNext(now);
    m_resolution = Resolution::start(m_member.host, m_member.port);
    m_state = State::Resolving;
    m_wakeAt = now + kResolverPoll;
    if (m_reason.empty())
        m_reason = "looking up the name " + m_member.host;
}

void Dialler::onResolved(Monotonic::time_point now) {
    if (!m_resolution->isDone.load(std::memory_order_acquire)) {
        m_wakeAt = now + kResolverPoll;
        return;
    }
    const auto resolution = std::move(m_resolution);
    m_endpoints = std::move(resolution->endpoints);
    if (m_endpoints.empty())
        return retry(now, "the name " + m_member.host + " is not known on this host (" +
                              resolution->problem + ")");
    connectNext(now);
}

void Dialler::connectNext(Monotonic::time_point now) {
    int error = ECONNREFUSED;
    while (m_next < m_endpoints.size()) {
        m_connecting = startConnect(m_endpoints[m_next++], &error);
        if (m_connecting) {
            m_state = State::Connecting;
            m_giveUpAt = now + kConnect;
            m_wakeAt = m_giveUpAt;
            return;
        }
    }
    retry(now, phraseOf(error));
}

void Dialler::onConnecting(Monotonic::time_point now) {
    pollfd writable{m_connecting.get(), POLLOUT, 0};
    int error = ETIMEDOUT;
    if (::poll(&writable, 1, 0) > 0)
        error = connectResult(m_connecting.get());
    else if (now < m_giveUpAt)
        return;
    if (error == 0)
        return greet(now);
    m_connecting.reset();
    if (m_next < m_endpoints.size())
        return connectNext(now);
    retry(now, phraseOf(error));
}

void Dialler::greet(Monotonic::time_point now) {
    m_handshake.emplace(m_self, std::move(m_connecting), m_purpose, m_rank, now + kHello);
    m_state = State::Greeting;
    m_wakeAt = now + kHello;
}

void Dialler::onGreeting(Monotonic::time_point now) {
    switch (m_handshake->step(now)) {
    case DiallerHandshake::Step::Going:
        return;
    case DiallerHandshake::Step::Welcome:
        m_socket = m_handshake->take();
        m_peer = m_handshake->peer();
        m_handshake.reset();
        m_state = State::Done;
        m_reason.clear();
        return;
    case DiallerHandshake::Step::Refused: {
        const Refusal refusal = m_handshake->refusal();
        if (isFinal(refusal.code))
            m_finalRefusal = refusal;
        return retry(now, phrase(refusal, addressText(m_member.host, m_member.port)));
    }
    case DiallerHandshake::Step::Failed:
        return retry(now, m_handshake->problem());
    }
}

void Dialler::retry(Monotonic::time_point now, std::string reason) {
    m_handshake.reset();
    m_connecting.reset();
    m_reason = std::move(reason);
    m_state = State::Waiting;
    m_wakeAt = now + m_pause;
    m_pause = std::min(m_pause * 2, kLongestPause);
}

void Dialler::again(Monotonic::time_point at) {
    m_handshake.reset();
    m_connecting.reset();
    m_socket.reset();
    m_state = State::Waiting;
    m_wakeAt = at;
    m_pause = kFirstPause;
}

pollfd Dialler::interest() const {
    if (m_state == State::Connecting)
        return pollfd{m_connecting.get(), POLLOUT, 0};
    if (m_state == State::Greeting)
        return m_handshake->interest();
    return pollfd{-1, 0, 0};
}

} // namespace lockstep::collective::detail
