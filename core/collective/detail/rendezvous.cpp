// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/collective/detail/rendezvous.h"

#include "core/base/failure.h"
#include "core/collective/detail/port_owner.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

namespace lockstep::collective::detail {

namespace {

constexpr std::chrono::milliseconds kLongestPoll{100};
constexpr std::chrono::milliseconds kFirstReport{250};
constexpr std::chrono::milliseconds kPortRetry{1200}; ///< a killed process may still hold it
constexpr std::chrono::seconds kAskOwner{1};
constexpr std::chrono::seconds kChiefGrace{1}; ///< a worker lets a live chief speak first
constexpr std::size_t kLargestFrame = 65'536;

std::string thisHost() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "this host";
}

Self makeSelf(const JoinOptions& options) {
    Self self;
    self.secret = options.secret;
    Identity& me = self.identity;
    me.runId = options.runId;
    me.attempt = options.attempt;
    me.clusterHash = options.clusterHash;
    me.rank = options.rank;
    me.size = static_cast<int>(options.members.size());
    me.task = options.members[static_cast<std::size_t>(options.rank)].task;
    me.pid = static_cast<std::uint32_t>(::getpid());
    me.host = options.hostName.empty() ? thisHost() : options.hostName;
    me.user = options.userName.empty() ? userNameOf(::geteuid()) : options.userName;
    me.startedUtc = options.startedUtc > 0 ? options.startedUtc : Clock::system().utcSeconds();
    fillRandom(me.instance);
    return self;
}

} // namespace

Rendezvous::Rendezvous(const JoinOptions& options)
    : m_options(options)
    , m_self(std::make_unique<Self>(makeSelf(options)))
    , m_control(options.members.size()) {
    const auto now = Monotonic::now();
    m_deadline = now + options.joinTimeout;
    m_reportAt = now + std::min<Monotonic::duration>(kFirstReport, options.joinTimeout / 2);
    if (!isChief())
        m_diallers.emplace_back(*m_self, member(0), 0, Purpose::Control);
    m_diallers.emplace_back(*m_self, member(next()), next(), Purpose::Ring);
    for (int rank = 2; isChief() && rank < size(); ++rank)
        m_diallers.emplace_back(*m_self, member(rank), rank, Purpose::Probe);
}

Joined Rendezvous::run() {
    const std::stop_callback onStop(m_options.stop, [this] { m_wakeUp.wake(); });
    openPort();
    while (!m_hasStarted) {
        const auto now = Monotonic::now();
        readControl(now);
        readRing(now);
        m_acceptor->step(
            now, [this](const Hello& hello) { return admit(hello); },
            [this](const Hello& hello, auto socket) { arrive(hello, std::move(socket)); });
        stepDiallers(now);
        if (m_options.stop.stop_requested())
            decide(Verdict{VerdictKind::Stopped, m_options.rank, member(m_options.rank).task,
                           addressOf(m_options.rank),
                           member(m_options.rank).task + " was stopped while joining."});
        if (m_verdict)
            endWith(*m_verdict);
        if (isChief() ? tryStart() : m_hasStarted)
            break;
        tellReady();
        const bool chiefSpeaks = !isChief() && m_control[0];
        if (now >= m_deadline + (chiefSpeaks ? kChiefGrace : std::chrono::seconds(0)))
            decideNotJoined();
        else
            report(now);
        if (!m_verdict)
            wait(now);
    }
    Joined joined;
    for (const Link& link : m_control)
        if (link)
            joined.peers.push_back(link.peer);
    joined.peers.push_back(m_ringOut.peer);
    joined.peers.push_back(m_ringIn.peer);
    joined.self = std::move(m_self);
    joined.acceptor = std::move(m_acceptor);
    for (Link& link : m_control)
        joined.control.push_back(std::move(link.socket));
    joined.ringOut = m_ringOut.socket->take();
    joined.ringIn = m_ringIn.socket->take();
    return joined;
}

// ---- the port

void Rendezvous::openPort() {
    const std::uint16_t port =
        m_options.listenPort ? m_options.listenPort : member(m_options.rank).port;
    const auto giveUp = std::min(Monotonic::now() + kPortRetry, m_deadline);
    for (;;) {
        auto listener = listenOn(port);
        if (listener.ok()) {
            m_acceptor = std::make_unique<Acceptor>(*m_self, std::move(listener).value());
            return;
        }
        const std::string where = "port " + std::to_string(port);
        if (listener.error().code != Code::AlreadyExists)
            throw Failure(listener.error().code,
                          "Cannot listen on " + where + ", which TF_CONFIG gives to " +
                              member(m_options.rank).task + ": " + listener.error().message + ".",
                          where);
        if (m_options.stop.stop_requested())
            throw Failure(Code::Cancelled, "Stopped while joining.");
        if (Monotonic::now() >= giveUp)
            throwPortInUse();
        std::vector<pollfd> fds{{m_wakeUp.fd(), POLLIN, 0}};
        pollUntil(fds, Monotonic::now() + std::chrono::milliseconds(50));
    }
}

void Rendezvous::throwPortInUse() {
    Member owner = member(m_options.rank);
    if (m_options.listenPort)
        owner.port = m_options.listenPort;
    const std::string where = "port " + std::to_string(owner.port);
    const std::string process = portOwner(owner.port);
    owner.host = "127.0.0.1";
    // If it is one of ours, it says whose it is, and learns that its index is claimed twice.
    Dialler question(*m_self, owner, m_options.rank, Purpose::Probe);
    const auto giveUp = Monotonic::now() + kAskOwner;
    while (question.reason().empty() && !question.isDone() && Monotonic::now() < giveUp) {
        question.step(Monotonic::now());
        std::vector<pollfd> fds{question.interest()};
        pollUntil(fds, std::min(giveUp, Monotonic::now() + std::chrono::milliseconds(20)));
    }
    if (const auto& refusal = question.finalRefusal();
        refusal && refusal->code == RefusalCode::ClaimedTwice)
        throw Failure(Code::Unauthenticated, refusal->sentence + ".", member(m_options.rank).task);
    std::string message = "Port " + std::to_string(owner.port) +
                          " of this host, which TF_CONFIG gives to " + owner.task +
                          ", is already in use";
    if (!process.empty())
        message += " by " + process;
    if (question.reason().find("belongs to run") != std::string::npos ||
        question.reason().find("still runs attempt") != std::string::npos)
        message += " (" + question.reason() + ")";
    throw Failure(Code::AlreadyExists,
                  message + ". Stop that process or choose another port in the cluster.", where);
}

// ---- what comes in

void Rendezvous::readControl(Monotonic::time_point now) {
    for (int rank = 0; rank < size(); ++rank) {
        Link& link = m_control[static_cast<std::size_t>(rank)];
        if (!link)
            continue;
        link.socket->pump();
        while (const auto frame = link.socket->next())
            onFrame(rank, *frame);
        if (link.socket->state() == FrameSocket::State::Open)
            continue;
        link = Link{};
        m_roster.clear();
        for (Dialler& dialler : m_diallers)
            if (dialler.rank() == rank && dialler.purpose() == Purpose::Control)
                dialler.again(now);
    }
}

void Rendezvous::onFrame(int rank, const Frame& frame) {
    Link& link = m_control[static_cast<std::size_t>(rank)];
    ByteReader in(frame.payload);
    switch (frame.type) {
    case FrameType::Ready:
        link.isReady = true;
        return;
    case FrameType::NotReady:
        link.isReady = false;
        return;
    case FrameType::Start:
        m_hasStarted = !isChief();
        if (m_hasStarted && !isRingUp())
            decide(Verdict{VerdictKind::Killed, next(), member(next()).task, addressOf(next()),
                           member(next()).task + " (" + addressOf(next()) +
                               ") left while the group was forming."});
        return;
    case FrameType::Roster: {
        m_roster.assign(in.u16(), Missing{});
        for (Missing& entry : m_roster)
            entry = Missing{in.text(), in.text(), in.text()};
        if (!in.ok())
            m_roster.clear();
        return;
    }
    case FrameType::VerdictSaid:
        if (auto verdict = decodeVerdict(frame.payload))
            decide(std::move(*verdict));
        return;
    default:
        return; // a heartbeat, of a chief that has started before us
    }
}

void Rendezvous::readRing(Monotonic::time_point now) {
    for (Link* link : {&m_ringIn, &m_ringOut}) {
        if (!*link || link->isReady)
            continue;
        if (const auto frame = link->socket->peekFor(FrameType::VerdictSaid)) {
            if (auto verdict = decodeVerdict(frame->payload))
                decide(std::move(*verdict));
        } else if (link->socket->sawOther()) {
            link->isReady = true; // the group has started; Start is on its way to us
        } else if (link->socket->state() != FrameSocket::State::Open) {
            const bool isOut = link == &m_ringOut;
            *link = Link{};
            for (Dialler& dialler : m_diallers)
                if (isOut && dialler.purpose() == Purpose::Ring)
                    dialler.again(now);
        }
    }
}

const Identity* Rendezvous::knownClaim(int rank) const {
    const Link& control = m_control[static_cast<std::size_t>(rank)];
    for (const Link* link : {&control, &m_ringOut, &m_ringIn})
        if (*link && link->peer.rank == rank)
            return &link->peer;
    return nullptr;
}

std::optional<Acceptor::Decision> Rendezvous::admit(const Hello& hello) {
    const Identity& from = hello.from;
    if (from.instance == m_self->identity.instance)
        return Acceptor::Decision{RefusalCode::Itself, {}};
    if (isOtherCluster(m_self->identity, from)) {
        decideRefused(m_options.rank,
                      phrase(Refusal{RefusalCode::OtherCluster, from, {}}, "the other end"));
        return Acceptor::Decision{RefusalCode::OtherCluster, {}};
    }
    const Identity* claim = from.rank == m_options.rank ? &m_self->identity : knownClaim(from.rank);
    if (claim && claim->instance != from.instance) {
        const std::string sentence = claimedTwice(*claim, from);
        decideRefused(from.rank, sentence);
        return Acceptor::Decision{RefusalCode::ClaimedTwice, sentence};
    }
    const bool isMisplaced = hello.expectedRank != m_options.rank ||
                             (hello.purpose == Purpose::Ring && from.rank != previous()) ||
                             (hello.purpose == Purpose::Control && !isChief());
    if (isMisplaced && hello.expectedRank >= 0 && hello.expectedRank < size()) {
        const std::string sentence = addressOf(hello.expectedRank) + " answers as " +
                                     nameOf(m_self->identity) + ", but TF_CONFIG has " +
                                     member(hello.expectedRank).task + " there";
        decideRefused(m_options.rank, sentence);
        return Acceptor::Decision{RefusalCode::WrongRank, sentence};
    }
    return std::nullopt;
}

void Rendezvous::arrive(const Hello& hello, std::unique_ptr<FrameSocket> socket) {
    socket->setLimit(kLargestFrame);
    if (hello.purpose == Purpose::Control)
        m_control[static_cast<std::size_t>(hello.from.rank)] = Link{std::move(socket), hello.from};
    else if (hello.purpose == Purpose::Ring)
        m_ringIn = Link{std::move(socket), hello.from};
}

bool Rendezvous::isDialling(const Dialler& dialler) const {
    const bool isAnswered =
        dialler.purpose() == Purpose::Probe && m_control[static_cast<std::size_t>(dialler.rank())];
    return !isAnswered && !dialler.isDone();
}

void Rendezvous::stepDiallers(Monotonic::time_point now) {
    for (Dialler& dialler : m_diallers) {
        if (!isDialling(dialler))
            continue;
        dialler.step(now);
        if (dialler.finalRefusal())
            return decideRefused(dialler.rank(),
                                 phrase(*dialler.finalRefusal(), addressOf(dialler.rank())));
        if (dialler.isDone())
            place(dialler, now);
    }
}

void Rendezvous::place(Dialler& dialler, Monotonic::time_point now) {
    const Identity* claim = knownClaim(dialler.rank());
    if (claim && claim->instance != dialler.peer().instance)
        return decideRefused(dialler.rank(), claimedTwice(*claim, dialler.peer()));
    auto socket = dialler.take();
    socket->setLimit(kLargestFrame);
    if (dialler.purpose() == Purpose::Control)
        m_control[0] = Link{std::move(socket), dialler.peer()};
    else if (dialler.purpose() == Purpose::Ring)
        m_ringOut = Link{std::move(socket), dialler.peer()};
    else
        dialler.again(now + std::chrono::seconds(1));
}

// ---- readiness

bool Rendezvous::isRingUp() const {
    return m_ringOut && m_ringIn && !m_ringOut.socket->hasUnsent() && !m_ringIn.socket->hasUnsent();
}

bool Rendezvous::tryStart() {
    if (!isRingUp())
        return false;
    for (int rank = 1; rank < size(); ++rank)
        if (const Link& link = m_control[static_cast<std::size_t>(rank)]; !link || !link.isReady)
            return false;
    for (int rank = 1; rank < size(); ++rank)
        m_control[static_cast<std::size_t>(rank)].socket->send(FrameType::Start, {});
    m_hasStarted = true;
    return true;
}

void Rendezvous::tellReady() {
    if (isChief())
        return;
    const bool isReady = isRingUp();
    if (!m_control[0]) {
        m_saidReady = false;
    } else if (isReady != m_saidReady) {
        m_control[0].socket->send(isReady ? FrameType::Ready : FrameType::NotReady, {});
        m_saidReady = isReady;
    }
}

void Rendezvous::wait(Monotonic::time_point now) {
    std::vector<pollfd> fds{{m_wakeUp.fd(), POLLIN, 0}};
    m_acceptor->collect(fds);
    auto until = std::min({now + kLongestPoll, m_deadline, m_acceptor->wakeAt()});
    for (const Dialler& dialler : m_diallers) {
        if (!isDialling(dialler))
            continue;
        fds.push_back(dialler.interest());
        until = std::min(until, dialler.wakeAt());
    }
    for (const Link& link : m_control)
        if (link)
            fds.push_back(link.socket->interest());
    for (Link* link : {&m_ringIn, &m_ringOut})
        if (*link && !link->isReady)
            fds.push_back(link->socket->interest());
    pollUntil(fds, std::max(until, now + std::chrono::milliseconds(1)));
    m_wakeUp.drain();
}

} // namespace lockstep::collective::detail
