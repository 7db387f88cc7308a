// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The rendezvous: every worker listens on its own port of TF_CONFIG, dials its peers, and both
// prove that they belong to the same attempt of the same run.

#include "core/collective/group.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::collective {

struct Member {
    std::string task; ///< "worker:1"
    std::string host; ///< name or literal address (IPv6 without brackets, zone allowed)
    std::uint16_t port = 0;
};

using Secret = std::array<std::uint8_t, 32>;

/// For runs started without a spec.json: everybody who knows cluster and job knows it, so peers are
/// not authenticated, only told apart.
Secret deriveSecret(std::string_view clusterHash, std::string_view jobHash);

struct Missing {
    std::string task;
    std::string address; ///< "host:port" as typed
    std::string reason;  ///< "connection refused: …", a phrase; what is known at the moment
};

struct JoinOptions {
    int rank = 0;
    std::vector<Member> members; ///< by rank; rank 0 is the chief
    std::string runId;
    int attempt = 1;
    std::string clusterHash;
    Secret secret{};

    std::chrono::milliseconds joinTimeout{60'000};
    std::chrono::milliseconds heartbeatTimeout{5'000}; ///< a lost peer is named within this
    std::chrono::milliseconds collectiveTimeout{60'000};

    std::string hostName;         ///< for messages; empty: this host's name
    std::string userName;         ///< for messages; empty: this process's user
    double startedUtc = 0;        ///< for messages; 0: now
    std::uint16_t listenPort = 0; ///< 0: the port of members[rank]

    /// Called on join's thread about once a second and when the list changes.
    std::function<void(const std::vector<Missing>&, double secondsLeft)> onWaiting;
    std::stop_token stop; ///< ends join with Failure{Cancelled}
};

/// Blocks until all members have joined. A group of one opens no port and has no threads.
/// Throws Failure: InvalidArgument (options), AlreadyExists (port in use, with its owner),
/// TimedOut (names each missing task with address and reason), Unauthenticated (refused by name:
/// index claimed twice, other cluster, wrong secret), Cancelled, PeerLost (a peer gave up).
std::unique_ptr<Group> join(const JoinOptions& options);

} // namespace lockstep::collective
