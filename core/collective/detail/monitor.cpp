// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/collective/detail/monitor.h"

#include <poll.h>
#include <pthread.h>

#include <algorithm>
#include <utility>

namespace lockstep::collective::detail {

namespace {

// A lost peer must be named within the heartbeat timeout, verdict and its way included.
constexpr int kBeatsPerTimeout = 10;
constexpr double kSilencePart = 0.8;
constexpr double kRingPart = 0.6;
constexpr double kGracePart = 0.2;
constexpr std::chrono::milliseconds kLongestPoll{200};
constexpr std::chrono::seconds kLinger{1};
constexpr std::size_t kLargestFrame = 65'536;

Monotonic::duration part(std::chrono::milliseconds time, double share) {
    return std::chrono::duration_cast<Monotonic::duration>(time * share);
}

} // namespace

Monitor::Monitor(const JoinOptions& options, Joined& joined, Fate& fate, int ringOutFd)
    : m_rank(options.rank)
    , m_members(options.members)
    , m_collectiveTimeout(options.collectiveTimeout)
    , m_interval(part(options.heartbeatTimeout, 1.0 / kBeatsPerTimeout))
    , m_limit(part(options.heartbeatTimeout, kSilencePart))
    , m_ringLimit(part(options.heartbeatTimeout, kRingPart))
    , m_grace(part(options.heartbeatTimeout, kGracePart))
    , m_self(std::move(joined.self))
    , m_acceptor(std::move(joined.acceptor))
    , m_peers(std::move(joined.peers))
    , m_fate(fate)
    , m_ringOutFd(ringOutFd)
    , m_submitted(options.members.size())
    , m_done(options.members.size()) {
    const auto now = Monotonic::now();
    for (std::size_t rank = 0; rank < joined.control.size(); ++rank) {
        if (!joined.control[rank])
            continue;
        joined.control[rank]->setLimit(kLargestFrame);
        m_links.push_back(
            Link{static_cast<int>(rank), std::move(joined.control[rank]), now, false});
    }
    m_beatAt = now;
    m_lastLoop = now;
    m_thread = std::jthread([this] { run(); });
}

Monitor::~Monitor() {
    {
        const std::lock_guard lock(m_mutex);
        m_isStopping = true;
    }
    m_wakeUp.wake();
}

void Monitor::setSubmitted(std::uint64_t count) {
    m_submitted[static_cast<std::size_t>(m_rank)].store(count, std::memory_order_relaxed);
}

void Monitor::suspect(const RingError& error, std::uint64_t sequence) {
    {
        const std::lock_guard lock(m_mutex);
        m_mail.push_back(Suspicion{error, m_rank, sequence, {}});
    }
    m_wakeUp.wake();
}

void Monitor::sayDone() {
    m_done[static_cast<std::size_t>(m_rank)].store(true, std::memory_order_relaxed);
    m_wakeUp.wake();
}

void Monitor::tellEnd(Monotonic::time_point deadline) {
    m_wakeUp.wake();
    std::unique_lock lock(m_mutex);
    m_changed.wait_until(lock, deadline, [&] { return m_isTold; });
}

void Monitor::run() {
    ::pthread_setname_np(::pthread_self(), "heartbeat");
    for (;;) {
        const auto now = Monotonic::now();
        // When this process itself was stopped, perhaps with its whole host, the others get a
        // moment to be heard again.
        if (now - m_lastLoop > 3 * m_interval)
            for (Link& link : m_links)
                link.lastHeard = std::max(link.lastHeard, now - m_limit + 2 * m_interval);
        m_lastLoop = now;
        takeMail(now);
        readLinks(now);
        answerStrangers(now);
        if (!m_fate.isOver()) {
            beat(now);
            judgeSilence(now);
            judgeRing(now);
            judgeSuspicions(now);
            judgeDone();
        }
        if (m_fate.isOver())
            sayEnd();
        if (m_stopAt != Monotonic::time_point{} && (isQuiet(now) || now >= m_stopAt))
            return;
        wait(now);
    }
}

void Monitor::takeMail(Monotonic::time_point now) {
    std::vector<Suspicion> mail;
    {
        const std::lock_guard lock(m_mutex);
        mail.swap(m_mail);
        if (m_isStopping && m_stopAt == Monotonic::time_point{})
            m_stopAt = now + kLinger;
    }
    for (Suspicion& suspicion : mail)
        onSuspicion(std::move(suspicion), now);
}

void Monitor::onSuspicion(Suspicion suspicion, Monotonic::time_point now) {
    if (isChief()) {
        suspicion.due = now + m_grace;
        m_suspicions.push_back(std::move(suspicion));
        return;
    }
    ByteWriter out;
    out.u8(static_cast<std::uint8_t>(suspicion.error.fault));
    out.u32(static_cast<std::uint32_t>(suspicion.error.rank));
    out.u64(suspicion.sequence);
    out.text(suspicion.error.text);
    for (Link& link : m_links)
        if (link.socket)
            link.socket->send(FrameType::Suspect, out.bytes());
}

void Monitor::readLinks(Monotonic::time_point now) {
    for (Link& link : m_links) {
        if (!link.socket)
            continue;
        link.socket->pump();
        while (const auto frame = link.socket->next())
            onFrame(link, *frame, now);
        if (link.socket->state() == FrameSocket::State::Open)
            continue;
        onClosed(link);
        link.socket.reset();
    }
}

void Monitor::onFrame(Link& link, const Frame& frame, Monotonic::time_point now) {
    link.lastHeard = now;
    ByteReader in(frame.payload);
    const auto rank = static_cast<std::size_t>(link.rank);
    switch (frame.type) {
    case FrameType::Heartbeat:
        m_submitted[rank].store(in.u64(), std::memory_order_relaxed);
        return;
    case FrameType::Suspect: {
        Suspicion suspicion;
        suspicion.reporter = link.rank;
        suspicion.error.fault = static_cast<RingFault>(in.u8());
        suspicion.error.rank = static_cast<int>(in.u32());
        suspicion.sequence = in.u64();
        suspicion.error.text = in.text();
        const bool isRank =
            suspicion.error.rank >= 0 && suspicion.error.rank < static_cast<int>(m_members.size());
        if (isChief() && in.ok() && isRank)
            onSuspicion(std::move(suspicion), now);
        return;
    }
    case FrameType::VerdictSaid:
        // A worker speaks for itself or about us; only the chief speaks about others.
        if (auto verdict = decodeVerdict(frame.payload);
            verdict && (!isChief() || verdict->rank == link.rank || verdict->rank == 0 ||
                        verdict->kind == VerdictKind::NotJoined))
            m_fate.decide(std::move(*verdict));
        return;
    case FrameType::Done:
        m_done[rank].store(true, std::memory_order_relaxed);
        return;
    case FrameType::Goodbye:
        if (!isChief())
            m_fate.setLeft();
        return;
    default:
        return;
    }
}

void Monitor::onClosed(const Link& link) {
    if (m_fate.isOver())
        return;
    const int error = link.socket->error();
    if (error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH)
        m_fate.decide(about(VerdictKind::CutOff, link.rank,
                            name(link.rank) + " was cut off: its host cannot be reached."));
    else
        m_fate.decide(about(VerdictKind::Killed, link.rank,
                            name(link.rank) + " ended without a farewell: its process was killed "
                                              "or crashed."));
}

void Monitor::answerStrangers(Monotonic::time_point now) {
    m_acceptor->step(
        now,
        [this](const Hello& hello) -> std::optional<Acceptor::Decision> {
            const Identity& me = m_self->identity;
            const auto isClaimed = [&](const Identity& known) {
                return known.rank == hello.from.rank && known.instance != hello.from.instance;
            };
            const auto known = std::find_if(m_peers.begin(), m_peers.end(), isClaimed);
            if (isClaimed(me) || known != m_peers.end())
                return Acceptor::Decision{RefusalCode::ClaimedTwice,
                                          claimedTwice(isClaimed(me) ? me : *known, hello.from)};
            return Acceptor::Decision{RefusalCode::Over, {}};
        },
        [](const Hello&, std::unique_ptr<FrameSocket>) {});
}

void Monitor::beat(Monotonic::time_point now) {
    const bool isDone = m_done[static_cast<std::size_t>(m_rank)].load(std::memory_order_relaxed);
    if (isDone && !m_hasSaidDone) {
        m_hasSaidDone = true;
        for (Link& link : m_links)
            if (link.socket && !isChief())
                link.socket->send(FrameType::Done, {});
    }
    if (now < m_beatAt)
        return;
    m_beatAt = now + m_interval;
    ByteWriter out;
    out.u64(m_submitted[static_cast<std::size_t>(m_rank)].load(std::memory_order_relaxed));
    for (Link& link : m_links)
        if (link.socket && !link.socket->hasUnsent())
            link.socket->send(FrameType::Heartbeat, out.bytes());
}

void Monitor::judgeDone() {
    const bool allDone = std::all_of(m_done.begin(), m_done.end(), [](const auto& done) {
        return done.load(std::memory_order_relaxed);
    });
    if (isChief() && allDone)
        m_fate.setLeft();
}

void Monitor::sayEnd() {
    const auto verdict = m_fate.verdict();
    if (!m_hasSaidEnd) {
        m_hasSaidEnd = true;
        for (Link& link : m_links) {
            if (!link.socket)
                continue;
            // A worker's own finding goes to the chief: its farewell, or what it thinks of the
            // chief, for the case that the chief wakes up.
            if (verdict && (isChief() || verdict->foundBy == m_rank))
                link.socket->send(FrameType::VerdictSaid, encode(*verdict));
            else if (!verdict && isChief())
                link.socket->send(FrameType::Goodbye, {});
            link.socket->finishSending();
        }
    }
    const bool isSent = std::none_of(m_links.begin(), m_links.end(), [](const Link& link) {
        return link.socket && link.socket->hasUnsent();
    });
    const std::lock_guard lock(m_mutex);
    if (isSent && !std::exchange(m_isTold, true))
        m_changed.notify_all();
}

/// Whether nobody has anything more to say to us: then closing cannot destroy what we said.
bool Monitor::isQuiet(Monotonic::time_point) const {
    return std::all_of(m_links.begin(), m_links.end(),
                       [](const Link& link) { return !link.socket || link.isSilent; });
}

void Monitor::wait(Monotonic::time_point now) {
    auto until = std::min(now + kLongestPoll, m_acceptor->wakeAt());
    std::vector<pollfd> fds{{m_wakeUp.fd(), POLLIN, 0}};
    m_acceptor->collect(fds);
    for (const Link& link : m_links)
        if (link.socket)
            fds.push_back(link.socket->interest());
    if (!m_fate.isOver()) {
        until = std::min(until, m_beatAt);
        // The fate is decided by other threads too: its wake-up stays readable.
        fds.push_back(pollfd{m_fate.wakeFd(), POLLIN, 0});
        for (const Suspicion& suspicion : m_suspicions)
            until = std::min(until, suspicion.due);
    }
    pollUntil(fds, std::max(until, now + std::chrono::milliseconds(1)));
    m_wakeUp.drain();
}

} // namespace lockstep::collective::detail
