// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/collective/detail/acceptor.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>

namespace lockstep::collective::detail {

namespace {
constexpr std::chrono::seconds kHello{3};
constexpr std::size_t kMostPending = 512;
} // namespace

Acceptor::Acceptor(const Self& self, Fd listener)
    : m_self(self)
    , m_listener(std::move(listener)) {}

void Acceptor::acceptAll(Monotonic::time_point now) {
    if (now < m_pausedUntil)
        return;
    for (;;) {
        Fd fd = acceptFrom(m_listener.get());
        if (!fd) {
            if (errno == ECONNABORTED || errno == EINTR)
                continue;
            if (errno != EAGAIN && errno != EWOULDBLOCK)
                m_pausedUntil = now + std::chrono::milliseconds(100);
            return;
        }
        if (m_pending.size() >= kMostPending)
            m_pending.pop_front();
        m_pending.emplace_back(m_self, std::move(fd), now + kHello);
    }
}

void Acceptor::step(Monotonic::time_point now, const Admit& admit, const Arrived& arrived) {
    acceptAll(now);
    for (auto it = m_pending.begin(); it != m_pending.end();) {
        auto outcome = it->step(now);
        if (outcome == ListenerHandshake::Step::Proved) {
            const Hello hello = it->hello();
            if (const auto decision = admit(hello)) {
                it->refuse(decision->code, decision->sentence, now);
            } else {
                arrived(hello, it->accept());
                outcome = ListenerHandshake::Step::Over;
            }
        }
        it = outcome == ListenerHandshake::Step::Over ? m_pending.erase(it) : std::next(it);
    }
}

void Acceptor::collect(std::vector<pollfd>& fds) const {
    if (Monotonic::now() >= m_pausedUntil)
        fds.push_back(pollfd{m_listener.get(), POLLIN, 0});
    for (const auto& handshake : m_pending)
        fds.push_back(handshake.interest());
}

Monotonic::time_point Acceptor::wakeAt() const {
    auto at = Monotonic::now() + std::chrono::hours(1);
    for (const auto& handshake : m_pending)
        at = std::min(at, handshake.deadline());
    return at;
}

} // namespace lockstep::collective::detail
