// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// The part of Monitor that judges: who is to blame, and of what.
#include "core/collective/detail/monitor.h"

#include <algorithm>
#include <cstdio>

namespace lockstep::collective::detail {

namespace {

std::string seconds(Monotonic::duration time) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g s", std::chrono::duration<double>(time).count());
    return text;
}

} // namespace

std::string Monitor::name(int rank) const {
    const Member& member = m_members[static_cast<std::size_t>(rank)];
    return member.task + " (" + addressText(member.host, member.port) + ")";
}

Verdict Monitor::about(VerdictKind kind, int rank, std::string sentence) const {
    const Member& member = m_members[static_cast<std::size_t>(rank)];
    Verdict verdict;
    verdict.kind = kind;
    verdict.rank = rank;
    verdict.task = member.task;
    verdict.address = addressText(member.host, member.port);
    verdict.sentence = std::move(sentence);
    verdict.foundUtc = Clock::system().utcSeconds();
    verdict.foundBy = m_rank;
    return verdict;
}

void Monitor::judgeSilence(Monotonic::time_point now) {
    for (Link& link : m_links) {
        const auto silence = now - link.lastHeard;
        if (!link.socket || silence < m_limit)
            continue;
        link.isSilent = true;
        const auto health = tcpHealth(link.socket->fd());
        if (now - health.lastAck > m_limit / 2)
            m_fate.decide(about(VerdictKind::CutOff, link.rank,
                                name(link.rank) + " is cut off: nothing from its host for " +
                                    seconds(silence) +
                                    " and no acknowledgement of what was sent to it (network, "
                                    "firewall, or the host is down)."));
        else
            m_fate.decide(about(VerdictKind::Frozen, link.rank,
                                name(link.rank) +
                                    " is frozen: its host answers, but the process "
                                    "has said nothing for " +
                                    seconds(silence) + "."));
    }
}

/// Data to the next rank that its kernel does not acknowledge: a cut between two workers that both
/// still reach the chief.
void Monitor::judgeRing(Monotonic::time_point now) {
    const auto health = tcpHealth(m_ringOutFd);
    if (!health.hasUnacknowledged) {
        m_stuckSince = {};
        return;
    }
    if (m_stuckSince == Monotonic::time_point{} ||
        health.lastAck > m_stuckSince + std::chrono::milliseconds(5)) {
        m_stuckSince = now;
        return;
    }
    if (now - m_stuckSince < m_ringLimit)
        return;
    m_stuckSince = now + m_limit; // say it once; the verdict comes before it is due again
    onSuspicion(Suspicion{RingError{RingFault::Unheard, next(), {}}, m_rank, 0, {}}, now);
}

void Monitor::judgeSuspicions(Monotonic::time_point now) {
    for (Suspicion& suspicion : m_suspicions) {
        if (now < suspicion.due || m_fate.isOver())
            continue;
        // Where the suspect or its accuser is getting silent here as well, silence will tell more.
        const bool isFading = std::any_of(m_links.begin(), m_links.end(), [&](const Link& link) {
            return (link.rank == suspicion.error.rank || link.rank == suspicion.reporter) &&
                   now - link.lastHeard > 3 * m_interval;
        });
        if (isFading)
            suspicion.due = now + m_interval;
        else
            m_fate.decide(judge(suspicion));
    }
}

Verdict Monitor::judge(const Suspicion& suspicion) const {
    const RingError& error = suspicion.error;
    const std::string reporter = m_members[static_cast<std::size_t>(suspicion.reporter)].task;
    switch (error.fault) {
    case RingFault::Unheard:
        return about(VerdictKind::CutOff, error.rank,
                     name(error.rank) + " is cut off from " + reporter +
                         ": it does not acknowledge its data, though both answer the chief "
                         "(something between them drops packets).");
    case RingFault::Unmatched:
        return about(VerdictKind::Failed, error.rank,
                     name(error.rank) + " and " + reporter +
                         " are not in the same collective: " + error.text + ".");
    case RingFault::Stalled:
        return judgeStalled(suspicion);
    case RingFault::Lost:
        break;
    }
    return about(VerdictKind::CutOff, error.rank,
                 name(error.rank) + " is cut off from " + reporter +
                     ": their data connection broke (" + error.text +
                     "), though both answer the chief.");
}

Verdict Monitor::judgeStalled(const Suspicion& suspicion) const {
    const auto least =
        std::min_element(m_submitted.begin(), m_submitted.end(), [](const auto& a, const auto& b) {
            return a.load(std::memory_order_relaxed) < b.load(std::memory_order_relaxed);
        });
    const auto entered = least->load(std::memory_order_relaxed);
    const std::string limit = seconds(m_collectiveTimeout);
    if (entered < suspicion.sequence) {
        const int rank = static_cast<int>(least - m_submitted.begin());
        return about(VerdictKind::Stalled, rank,
                     name(rank) + " is alive, but did not enter collective " +
                         std::to_string(suspicion.sequence) + " within " + limit +
                         " after the others (it has entered " + std::to_string(entered) + ").");
    }
    return about(VerdictKind::Stalled, suspicion.error.rank,
                 name(suspicion.error.rank) + " and " +
                     m_members[static_cast<std::size_t>(suspicion.reporter)].task +
                     " moved no byte of collective " + std::to_string(suspicion.sequence) +
                     " for " + limit + ", though both are alive.");
}

Verdict Monitor::judgeAlone(const RingError& error, std::uint64_t sequence) const {
    Suspicion suspicion{error, m_rank, sequence, {}};
    Verdict verdict = judge(suspicion);
    verdict.sentence += " The chief gave no verdict.";
    return verdict;
}

Verdict Monitor::unfinished(std::chrono::milliseconds timeout) const {
    int rank = 0; // a worker knows of the chief only
    for (std::size_t i = 0; isChief() && i < m_done.size(); ++i)
        if (!m_done[i].load(std::memory_order_relaxed)) {
            rank = static_cast<int>(i);
            break;
        }
    return about(VerdictKind::Stalled, rank,
                 name(rank) + " is alive, but did not reach the exit barrier within " +
                     seconds(timeout) + " after this worker.");
}

} // namespace lockstep::collective::detail
