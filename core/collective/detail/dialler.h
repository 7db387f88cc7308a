// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Dials one member until it answers: resolve, connect, hello, with back-off between tries. The
// address is dialled as it was typed; nothing is ever turned back into a name.

#include "core/collective/detail/handshake.h"

#include <memory>
#include <vector>

namespace lockstep::collective::detail {

class Resolution; // a question to the name service, in a thread of its own

class Dialler {
public:
    Dialler(const Self& self, const Member& member, int rank, Purpose purpose);
    ~Dialler();
    Dialler(Dialler&&) noexcept;

    /// Goes on as far as it can without blocking.
    void step(Monotonic::time_point now);
    bool isDone() const { return m_state == State::Done; }
    std::unique_ptr<FrameSocket> take() { return std::move(m_socket); }
    const Identity& peer() const { return m_peer; }
    /// Dial again, after the connection was lost or a probe wants to be repeated.
    void again(Monotonic::time_point at);

    int rank() const { return m_rank; }
    Purpose purpose() const { return m_purpose; }
    /// What the last try came to; empty before the first.
    const std::string& reason() const { return m_reason; }
    /// A refusal that waiting cannot change.
    const std::optional<Refusal>& finalRefusal() const { return m_finalRefusal; }

    pollfd interest() const;
    Monotonic::time_point wakeAt() const { return m_wakeAt; }

private:
    enum class State { Waiting, Resolving, Connecting, Greeting, Done };
    void start(Monotonic::time_point now);
    void connectNext(Monotonic::time_point now);
    void greet(Monotonic::time_point now);
    void onResolved(Monotonic::time_point now);
    void onConnecting(Monotonic::time_point now);
    void onGreeting(Monotonic::time_point now);
    void retry(Monotonic::time_point now, std::string reason);

    const Self& m_self;
    Member m_member;
    int m_rank;
    Purpose m_purpose;
    State m_state = State::Waiting;
    std::shared_ptr<Resolution> m_resolution;
    std::vector<Endpoint> m_endpoints;
    std::size_t m_next = 0;
    Fd m_connecting;
    std::optional<DiallerHandshake> m_handshake;
    std::unique_ptr<FrameSocket> m_socket;
    Identity m_peer;
    std::string m_reason;
    std::optional<Refusal> m_finalRefusal;
    Monotonic::time_point m_wakeAt;   ///< step() is due then at the latest
    Monotonic::time_point m_giveUpAt; ///< of this connect
    std::chrono::milliseconds m_pause;
};

} // namespace lockstep::collective::detail
