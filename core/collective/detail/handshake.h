// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The hello, from both sides. Dialler: hello; listener: hello and proof, or a refusal by name;
// dialler: proof; listener: welcome, or a refusal. Non-blocking, one thread, each with a deadline.

#include "core/collective/detail/frame.h"
#include "core/collective/detail/hello.h"

#include <memory>
#include <optional>

namespace lockstep::collective::detail {

/// Who we are, for every handshake of one join.
struct Self {
    Identity identity;
    Secret secret{};
};

class ListenerHandshake {
public:
    enum class Step {
        Going,
        Proved, ///< the caller is of this run: now accept() or refuse() it
        Over,   ///< nothing more will come of it
    };

    ListenerHandshake(const Self& self, Fd fd, Monotonic::time_point deadline);

    Step step(Monotonic::time_point now);
    const Hello& hello() const { return m_hello; }
    std::unique_ptr<FrameSocket> accept();
    void refuse(RefusalCode code, const std::string& sentence, Monotonic::time_point now);
    pollfd interest() const { return m_socket->interest(); }
    Monotonic::time_point deadline() const { return m_deadline; }

private:
    enum class Stage { Hello, Proof, Proved, Closing };
    void onHello(const Frame& frame, Monotonic::time_point now);
    void onProof(const Frame& frame, Monotonic::time_point now);

    const Self& m_self;
    std::unique_ptr<FrameSocket> m_socket;
    Monotonic::time_point m_deadline;
    Stage m_stage = Stage::Hello;
    Hello m_hello;
    std::string m_theirs;
    std::string m_ours;
};

class DiallerHandshake {
public:
    enum class Step { Going, Welcome, Refused, Failed };

    DiallerHandshake(const Self& self, Fd fd, Purpose purpose, int expectedRank,
                     Monotonic::time_point deadline);

    Step step(Monotonic::time_point now);
    const Identity& peer() const { return m_peer; }
    const Refusal& refusal() const { return m_refusal; }
    /// Why it failed: a phrase that follows the address.
    const std::string& problem() const { return m_problem; }
    std::unique_ptr<FrameSocket> take() { return std::move(m_socket); }
    pollfd interest() const { return m_socket->interest(); }
    Monotonic::time_point deadline() const { return m_deadline; }

private:
    Step onFrame(const Frame& frame);
    Step onHello(const Frame& frame);
    Step refused(RefusalCode code);
    Step failed(std::string problem);

    const Self& m_self;
    std::unique_ptr<FrameSocket> m_socket;
    Monotonic::time_point m_deadline;
    std::string m_ours;
    std::string m_theirs;
    Identity m_peer;
    Refusal m_refusal;
    std::string m_problem;
    bool m_isProved = false;
};

} // namespace lockstep::collective::detail
