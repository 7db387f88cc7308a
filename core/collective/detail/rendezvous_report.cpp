// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// The part of Rendezvous that speaks: who is missing and why, and how a join ends without a group.
#include "core/base/failure.h"
#include "core/collective/detail/rendezvous.h"

#include <poll.h>

#include <algorithm>
#include <cstdio>

namespace lockstep::collective::detail {

namespace {

constexpr std::chrono::seconds kReport{1};
constexpr std::chrono::milliseconds kGoodbye{500};
constexpr std::chrono::milliseconds kExplain{1800}; ///< to those that dial a refused worker later

std::string seconds(std::chrono::milliseconds time) {
    char text[32];
    std::snprintf(text, sizeof text, "%g s", static_cast<double>(time.count()) / 1000.0);
    return text;
}

bool sameList(const std::vector<Missing>& a, const std::vector<Missing>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const Missing& x, const Missing& y) {
                          return x.task == y.task && x.reason == y.reason;
                      });
}

} // namespace

// ---- who is missing

std::string Rendezvous::addressOf(int rank) const {
    return addressText(member(rank).host, member(rank).port);
}

Missing Rendezvous::missingMember(int rank, std::string reason) const {
    return Missing{member(rank).task, addressOf(rank), std::move(reason)};
}

std::string Rendezvous::reasonFor(int rank) const {
    for (const Dialler& dialler : m_diallers) {
        if (dialler.rank() != rank)
            continue;
        if (dialler.isDone() || (dialler.purpose() == Purpose::Probe && dialler.reason().empty() &&
                                 !dialler.peer().task.empty()))
            return "it runs, but its own connection to " + addressOf(m_options.rank) +
                   " has not come (is that port reachable from there?)";
        if (!dialler.reason().empty())
            return dialler.reason();
    }
    return "no answer yet";
}

std::vector<Missing> Rendezvous::missing() const {
    return isChief() ? missingAtChief() : missingAtWorker();
}

std::vector<Missing> Rendezvous::missingAtChief() const {
    std::vector<Missing> list;
    for (int rank = 1; rank < size(); ++rank)
        if (!m_control[static_cast<std::size_t>(rank)])
            list.push_back(missingMember(rank, reasonFor(rank)));
    if (!list.empty())
        return list;
    for (int rank = 1; rank < size(); ++rank)
        if (!m_control[static_cast<std::size_t>(rank)].isReady)
            list.push_back(missingMember(
                rank, "it joined, but its data connections to its neighbours do not stand"));
    if (list.empty() && !m_ringOut)
        list.push_back(missingMember(next(), reasonFor(next())));
    return list;
}

std::vector<Missing> Rendezvous::missingAtWorker() const {
    if (m_control[0])
        return m_roster;
    std::vector<Missing> list{missingMember(0, reasonFor(0))};
    if (next() != 0 && !m_ringOut)
        list.push_back(missingMember(next(), reasonFor(next())));
    if (previous() != 0 && previous() != next() && !m_ringIn)
        list.push_back(missingMember(previous(), "it has not called this worker yet"));
    return list;
}

void Rendezvous::report(Monotonic::time_point now) {
    const auto list = missing();
    const bool isDue = now >= m_reportAt;
    if (!isDue && (m_reported.empty() || sameList(list, m_reported)))
        return;
    m_reportAt = now + kReport;
    m_reported = list;
    if (isChief())
        sendRoster(list);
    if (m_options.onWaiting)
        m_options.onWaiting(list, std::chrono::duration<double>(m_deadline - now).count());
}

void Rendezvous::sendRoster(const std::vector<Missing>& list) {
    constexpr std::size_t kMost = 200; // of them fit into one frame
    ByteWriter out;
    out.u16(static_cast<std::uint16_t>(std::min(list.size(), kMost)));
    for (std::size_t i = 0; i < std::min(list.size(), kMost); ++i) {
        out.text(list[i].task);
        out.text(list[i].address);
        out.text(std::string_view(list[i].reason).substr(0, 200));
    }
    for (Link& link : m_control)
        if (link)
            link.socket->send(FrameType::Roster, out.bytes());
}

// ---- endings

void Rendezvous::decide(Verdict verdict) {
    if (m_verdict)
        return;
    if (verdict.foundBy < 0) {
        verdict.foundBy = m_options.rank;
        verdict.foundUtc = Clock::system().utcSeconds();
    }
    m_verdict = std::move(verdict);
}

void Rendezvous::decideRefused(int rank, std::string sentence) {
    decide(Verdict{VerdictKind::Refused, rank, member(rank).task, addressOf(rank),
                   std::move(sentence) + "."});
}

void Rendezvous::decideNotJoined() {
    auto list = missing();
    if (list.empty() && !isChief())
        list.push_back(missingMember(0, "it joined, but did not start the group"));
    Verdict verdict{VerdictKind::NotJoined, -1, {}, {}, {}};
    std::string names;
    for (const Missing& entry : list) {
        verdict.task += (verdict.task.empty() ? "" : ", ") + entry.task;
        verdict.address += (verdict.address.empty() ? "" : ", ") + entry.address;
        names +=
            (names.empty() ? "" : "; ") + entry.task + " (" + entry.address + "): " + entry.reason;
        for (int rank = 0; rank < size() && verdict.rank < 0; ++rank)
            if (member(rank).task == entry.task)
                verdict.rank = rank;
    }
    verdict.sentence = "Not all " + std::to_string(size()) + " workers joined within " +
                       seconds(m_options.joinTimeout) + ". Missing: " + names + ".";
    decide(std::move(verdict));
}

void Rendezvous::endWith(const Verdict& verdict) {
    std::vector<FrameSocket*> open;
    for (Link& link : m_control)
        if (link)
            open.push_back(link.socket.get());
    // A ring connection that data has begun to use belongs to a group that has started.
    for (Link* link : {&m_ringIn, &m_ringOut})
        if (*link && !link->isReady && !m_hasStarted)
            open.push_back(link->socket.get());
    for (FrameSocket* socket : open) {
        socket->send(FrameType::VerdictSaid, encode(verdict));
        socket->finishSending();
    }
    // A refusal concerns both sides, and one of them may not have dialled yet.
    const bool explains = verdict.kind == VerdictKind::Refused;
    const auto giveUp = Monotonic::now() + (explains ? kExplain : kGoodbye);
    std::string sentence = verdict.sentence;
    sentence.pop_back(); // its full stop
    for (auto now = Monotonic::now(); now < giveUp; now = Monotonic::now()) {
        std::vector<pollfd> fds;
        for (FrameSocket* socket : open) {
            socket->pump();
            while (socket->next()) {
            }
            if (socket->state() == FrameSocket::State::Open)
                fds.push_back(socket->interest());
        }
        if (explains && !m_options.stop.stop_requested()) {
            m_acceptor->step(
                now,
                [&](const Hello&) {
                    return Acceptor::Decision{RefusalCode::GaveUp, sentence};
                },
                [](const Hello&, std::unique_ptr<FrameSocket>) {});
            m_acceptor->collect(fds);
        } else if (fds.empty()) {
            break;
        }
        pollUntil(fds, std::min(giveUp, now + std::chrono::milliseconds(100)));
    }
    throw Failure(toError(verdict));
}

} // namespace lockstep::collective::detail
