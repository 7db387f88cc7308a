// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// From nothing to a joined group: one loop on the caller's thread that listens, dials, counts who
// is there, and lets the chief say Start. Control connections are dialled by the workers; the chief
// also probes who has not come, to say why and to meet a second claim of its index.

#include "core/collective/detail/acceptor.h"
#include "core/collective/detail/dialler.h"

#include <memory>
#include <optional>
#include <vector>

namespace lockstep::collective::detail {

/// What a join leaves behind for the group.
struct Joined {
    std::unique_ptr<Self> self;
    std::unique_ptr<Acceptor> acceptor;
    /// By rank. The chief holds all but its own, a worker only the chief's.
    std::vector<std::unique_ptr<FrameSocket>> control;
    Fd ringOut;                  ///< to rank + 1
    Fd ringIn;                   ///< from rank - 1
    std::vector<Identity> peers; ///< those that this rank has a connection with
};

class Rendezvous {
public:
    explicit Rendezvous(const JoinOptions& options);
    /// Throws as join() does.
    Joined run();

private:
    struct Link {
        std::unique_ptr<FrameSocket> socket;
        Identity peer;
        bool isReady = false; ///< control: its ring stands; ring: data has begun to come
        explicit operator bool() const { return socket != nullptr; }
    };

    void openPort();
    [[noreturn]] void throwPortInUse();
    void readControl(Monotonic::time_point now);
    void onFrame(int rank, const Frame& frame);
    void readRing(Monotonic::time_point now);
    bool isDialling(const Dialler& dialler) const;
    void stepDiallers(Monotonic::time_point now);
    void place(Dialler& dialler, Monotonic::time_point now);
    std::optional<Acceptor::Decision> admit(const Hello& hello);
    void arrive(const Hello& hello, std::unique_ptr<FrameSocket> socket);
    const Identity* knownClaim(int rank) const;
    bool tryStart();
    void tellReady();

    std::vector<Missing> missing() const;
    std::vector<Missing> missingAtChief() const;
    std::vector<Missing> missingAtWorker() const;
    std::string reasonFor(int rank) const;
    Missing missingMember(int rank, std::string reason) const;
    void report(Monotonic::time_point now);
    void sendRoster(const std::vector<Missing>& list);

    void decide(Verdict verdict);
    void decideRefused(int rank, std::string sentence);
    void decideNotJoined();
    [[noreturn]] void endWith(const Verdict& verdict);
    void wait(Monotonic::time_point now);
    bool isChief() const { return m_options.rank == 0; }
    bool isRingUp() const;
    int size() const { return static_cast<int>(m_options.members.size()); }
    int next() const { return (m_options.rank + 1) % size(); }
    int previous() const { return (m_options.rank + size() - 1) % size(); }
    const Member& member(int rank) const {
        return m_options.members[static_cast<std::size_t>(rank)];
    }
    std::string addressOf(int rank) const;

    const JoinOptions& m_options;
    std::unique_ptr<Self> m_self;
    std::unique_ptr<Acceptor> m_acceptor;
    std::vector<Dialler> m_diallers;
    std::vector<Link> m_control; ///< by rank
    Link m_ringOut;
    Link m_ringIn;
    std::vector<Missing> m_roster; ///< a worker's last word from the chief
    bool m_saidReady = false;
    bool m_hasStarted = false;
    std::optional<Verdict> m_verdict;
    std::vector<Missing> m_reported;
    Monotonic::time_point m_reportAt;
    Monotonic::time_point m_deadline;
    WakeUp m_wakeUp;
};

} // namespace lockstep::collective::detail
