// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Heartbeats and verdicts of a running group. A worker watches the chief, the chief watches every
// worker and judges; what the communication thread finds on the ring is a suspicion that the chief
// weighs against what it hears itself, so that all survivors name the same task.
// Threads: a thread of its own, so that long computing is not death. Public members are
// thread-safe.
//
// Note [Three verdicts]: a peer whose connection ends without a farewell was killed: its kernel
// closes for it. A silent peer whose kernel still acknowledges our heartbeats is frozen. A silent
// peer that acknowledges nothing is cut off.

#include "core/collective/detail/acceptor.h"
#include "core/collective/detail/fate.h"
#include "core/collective/detail/rendezvous.h"
#include "core/collective/detail/ring.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace lockstep::collective::detail {

class Monitor {
public:
    Monitor(const JoinOptions& options, Joined& joined, Fate& fate, int ringOutFd);
    ~Monitor(); ///< within about a second

    /// How many collectives this rank has submitted.
    void setSubmitted(std::uint64_t count);
    /// The ring is stuck in collective `sequence`; a verdict follows, if the chief can be reached.
    void suspect(const RingError& error, std::uint64_t sequence);
    /// This rank has reached the exit barrier.
    void sayDone();
    /// After the fate was decided by this rank: returns when the peers were told, or at `deadline`.
    void tellEnd(Monotonic::time_point deadline);
    /// The verdict on an exit barrier that was not complete within `timeout`.
    Verdict unfinished(std::chrono::milliseconds timeout) const;
    /// The verdict on a suspicion where no chief gives one.
    Verdict judgeAlone(const RingError& error, std::uint64_t sequence) const;

private:
    struct Link {
        int rank = -1;
        std::unique_ptr<FrameSocket> socket; ///< null once closed
        Monotonic::time_point lastHeard;
        bool isSilent = false; ///< judged: do not wait for its answers
    };
    struct Suspicion {
        RingError error;
        int reporter = -1;
        std::uint64_t sequence = 0;
        Monotonic::time_point due;
    };

    void run();
    void takeMail(Monotonic::time_point now);
    void readLinks(Monotonic::time_point now);
    void onFrame(Link& link, const Frame& frame, Monotonic::time_point now);
    void onClosed(const Link& link);
    void onSuspicion(Suspicion suspicion, Monotonic::time_point now);
    void answerStrangers(Monotonic::time_point now);
    void beat(Monotonic::time_point now);
    void judgeSilence(Monotonic::time_point now);
    void judgeRing(Monotonic::time_point now);
    void judgeSuspicions(Monotonic::time_point now);
    void judgeDone();
    void sayEnd();
    void wait(Monotonic::time_point now);
    bool isQuiet(Monotonic::time_point now) const;

    Verdict about(VerdictKind kind, int rank, std::string sentence) const;
    Verdict judge(const Suspicion& suspicion) const;
    Verdict judgeStalled(const Suspicion& suspicion) const;
    std::string name(int rank) const; ///< "worker:1 (10.0.0.2:2222)"
    bool isChief() const { return m_rank == 0; }
    int next() const { return (m_rank + 1) % static_cast<int>(m_members.size()); }

    const int m_rank;
    const std::vector<Member> m_members;
    const std::chrono::milliseconds m_collectiveTimeout;
    const Monotonic::duration m_interval;  ///< between heartbeats
    const Monotonic::duration m_limit;     ///< of silence
    const Monotonic::duration m_ringLimit; ///< of data that nobody acknowledges
    const Monotonic::duration m_grace;     ///< for the chief's own evidence about a suspicion
    std::unique_ptr<Self> m_self;
    std::unique_ptr<Acceptor> m_acceptor;
    const std::vector<Identity> m_peers;
    Fate& m_fate;
    const int m_ringOutFd;

    // The monitor's thread only.
    std::vector<Link> m_links;
    std::vector<Suspicion> m_suspicions;
    Monotonic::time_point m_beatAt;
    Monotonic::time_point m_lastLoop;
    Monotonic::time_point m_stuckSince; ///< of the ring's unacknowledged data; zero: not stuck
    bool m_hasSaidDone = false;
    bool m_hasSaidEnd = false;
    Monotonic::time_point m_stopAt; ///< set when the owner wants the thread to end

    // Counters that other threads read or write: by rank.
    std::vector<std::atomic<std::uint64_t>> m_submitted;
    std::vector<std::atomic<bool>> m_done;

    std::mutex m_mutex; ///< guards the mailbox
    std::condition_variable m_changed;
    std::vector<Suspicion> m_mail;
    bool m_isStopping = false;
    bool m_isTold = false;
    WakeUp m_wakeUp;
    std::jthread m_thread;
};

} // namespace lockstep::collective::detail
