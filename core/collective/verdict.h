// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Why a group ended before its work was done: the one task that is to blame, and how it went.

#include "core/base/result.h"

#include <string>

namespace lockstep::collective {

enum class VerdictKind {
    Killed,    ///< its process ended without a farewell (kill -9, crash, out of memory)
    Frozen,    ///< its host acknowledges what we send, but the process says nothing (SIGSTOP, swap)
    CutOff,    ///< nothing that we send is acknowledged: cable, firewall, dead host
    NotJoined, ///< it was not there when the join deadline passed
    Refused, ///< it, or this worker, was refused at the hello (index claimed twice, other cluster)
    Failed,  ///< it said that it failed, with a reason
    Stopped, ///< it said that it was stopped (SIGTERM, Stop)
    Stalled, ///< alive, but it did not enter a collective within the collective's timeout
};

/// "killed", "frozen", "cut_off", "not_joined", "refused", "failed", "stopped", "stalled".
const char* kindName(VerdictKind kind);

struct Verdict {
    VerdictKind kind = VerdictKind::Failed;
    int rank = -1;        ///< of the task to blame
    std::string task;     ///< "worker:1"; for NotJoined all missing, separated by ", "
    std::string address;  ///< "10.0.0.2:2222" as in TF_CONFIG; likewise for NotJoined
    std::string sentence; ///< for people: "worker:1 (10.0.0.2:2222) ended without a farewell: …"
    double foundUtc = 0;  ///< when the rank that found it did, UTC seconds since 1970
    int foundBy = -1;     ///< the rank that found it (survivors adopt the chief's)

    bool operator==(const Verdict&) const = default;
};

/// What Work::wait and join throw: TimedOut for NotJoined and Stalled, Unauthenticated for Refused,
/// Cancelled for Stopped, else PeerLost; `where` is the task.
Error toError(const Verdict& verdict);

} // namespace lockstep::collective
