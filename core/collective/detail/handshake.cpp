// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/collective/detail/handshake.h"

#include <poll.h>

namespace lockstep::collective::detail {

namespace {

/// How long a refused caller gets to read why.
constexpr std::chrono::seconds kClosing{1};

std::string makeHello(const Self& self, Purpose purpose, int expectedRank) {
    Hello hello;
    hello.version = kProtocolVersion;
    hello.from = self.identity;
    hello.purpose = purpose;
    hello.expectedRank = expectedRank;
    fillRandom(hello.nonce);
    return encode(hello);
}

std::string_view asText(const ProofBytes& proof) {
    return {reinterpret_cast<const char*>(proof.data()), proof.size()};
}

/// What two processes must share before they even prove it to each other.
std::optional<RefusalCode> mismatch(const Identity& ours, const Identity& theirs) {
    if (theirs.runId != ours.runId)
        return RefusalCode::OtherRun;
    if (theirs.attempt != ours.attempt)
        return RefusalCode::OtherAttempt;
    return std::nullopt;
}

} // namespace

ListenerHandshake::ListenerHandshake(const Self& self, Fd fd, Monotonic::time_point deadline)
    : m_self(self)
    , m_socket(std::make_unique<FrameSocket>(std::move(fd)))
    , m_deadline(deadline) {}

ListenerHandshake::Step ListenerHandshake::step(Monotonic::time_point now) {
    if (now >= m_deadline)
        return Step::Over;
    m_socket->pump();
    while (m_stage == Stage::Hello || m_stage == Stage::Proof) {
        const auto frame = m_socket->next();
        if (!frame)
            break;
        if (m_stage == Stage::Hello)
            onHello(*frame, now);
        else
            onProof(*frame, now);
    }
    if (m_stage == Stage::Proved && m_socket->state() == FrameSocket::State::Open)
        return Step::Proved;
    return m_socket->state() == FrameSocket::State::Open ? Step::Going : Step::Over;
}

void ListenerHandshake::onHello(const Frame& frame, Monotonic::time_point now) {
    if (frame.type != FrameType::Hello) {
        m_deadline = now;
        return;
    }
    ByteReader version(frame.payload);
    if (version.u16() != kProtocolVersion)
        return refuse(RefusalCode::OtherProtocol, {}, now);
    const auto hello = decodeHello(frame.payload);
    if (!hello) {
        m_deadline = now;
        return;
    }
    m_hello = *hello;
    if (const auto code = mismatch(m_self.identity, m_hello.from))
        return refuse(*code, {}, now);
    m_theirs = frame.payload;
    m_ours = makeHello(m_self, m_hello.purpose, m_hello.from.rank);
    m_socket->send(FrameType::Hello, m_ours);
    m_socket->send(FrameType::Proof,
                   asText(prove(m_self.secret, Side::Listener, m_theirs, m_ours)));
    m_stage = Stage::Proof;
}

void ListenerHandshake::onProof(const Frame& frame, Monotonic::time_point now) {
    if (frame.type != FrameType::Proof ||
        !isProof(frame.payload, prove(m_self.secret, Side::Dialler, m_theirs, m_ours)))
        return refuse(RefusalCode::OtherSecret, {}, now);
    m_stage = Stage::Proved;
}

std::unique_ptr<FrameSocket> ListenerHandshake::accept() {
    m_socket->send(FrameType::Welcome, {});
    m_stage = Stage::Closing;
    m_deadline = {};
    return std::move(m_socket);
}

void ListenerHandshake::refuse(RefusalCode code, const std::string& sentence,
                               Monotonic::time_point now) {
    m_socket->send(FrameType::Refusal, encode(Refusal{code, m_self.identity, sentence}));
    m_socket->finishSending();
    m_stage = Stage::Closing;
    m_deadline = now + kClosing;
}

DiallerHandshake::DiallerHandshake(const Self& self, Fd fd, Purpose purpose, int expectedRank,
                                   Monotonic::time_point deadline)
    : m_self(self)
    , m_socket(std::make_unique<FrameSocket>(std::move(fd)))
    , m_deadline(deadline)
    , m_ours(makeHello(self, purpose, expectedRank)) {
    m_socket->send(FrameType::Hello, m_ours);
}

DiallerHandshake::Step DiallerHandshake::step(Monotonic::time_point now) {
    m_socket->pump();
    while (const auto frame = m_socket->next()) {
        const Step outcome = onFrame(*frame);
        if (outcome != Step::Going)
            return outcome;
    }
    if (m_socket->state() == FrameSocket::State::Garbage)
        return failed("another program answers there: \"" + m_socket->garbageText() + "\"");
    if (m_socket->state() == FrameSocket::State::Closed)
        return failed("the connection was closed during the hello");
    if (now >= m_deadline)
        return failed("the port is open, but nothing answered the hello (another program, or a "
                      "frozen worker)");
    return Step::Going;
}

DiallerHandshake::Step DiallerHandshake::onFrame(const Frame& frame) {
    if (frame.type == FrameType::Refusal) {
        const auto refusal = decodeRefusal(frame.payload);
        if (!refusal)
            return failed("its refusal could not be read (another version of Lockstep?)");
        m_refusal = *refusal;
        return Step::Refused;
    }
    if (frame.type == FrameType::Hello && m_theirs.empty())
        return onHello(frame);
    if (frame.type == FrameType::Proof && !m_theirs.empty() && !m_isProved) {
        if (!isProof(frame.payload, prove(m_self.secret, Side::Listener, m_ours, m_theirs)))
            return refused(RefusalCode::OtherSecret);
        if (isOtherCluster(m_self.identity, m_peer))
            return refused(RefusalCode::OtherCluster);
        m_isProved = true;
        m_socket->send(FrameType::Proof,
                       asText(prove(m_self.secret, Side::Dialler, m_ours, m_theirs)));
        return Step::Going;
    }
    if (frame.type == FrameType::Welcome && m_isProved)
        return Step::Welcome;
    return failed("its hello came out of order (another version of Lockstep?)");
}

DiallerHandshake::Step DiallerHandshake::onHello(const Frame& frame) {
    const auto hello = decodeHello(frame.payload);
    if (!hello)
        return failed("its hello could not be read (another version of Lockstep?)");
    m_theirs = frame.payload;
    m_peer = hello->from;
    if (const auto code = mismatch(m_self.identity, m_peer))
        return refused(*code);
    return Step::Going;
}

DiallerHandshake::Step DiallerHandshake::refused(RefusalCode code) {
    m_refusal = Refusal{code, m_peer, {}};
    return Step::Refused;
}

DiallerHandshake::Step DiallerHandshake::failed(std::string problem) {
    m_problem = std::move(problem);
    return Step::Failed;
}

} // namespace lockstep::collective::detail
