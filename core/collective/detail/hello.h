// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Who is at the other end of a connection, and the proof that it knows the run's secret.

#include "core/collective/join.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep::collective::detail {

enum class Purpose : std::uint8_t {
    Control = 1, ///< heartbeats and verdicts, worker to chief
    Ring,        ///< data, from the rank that dials to the one that is dialled
    Probe,       ///< only asks who answers; closed after the handshake
};

/// One process that claims a rank of an attempt of a run.
struct Identity {
    std::string runId;
    int attempt = 0;
    std::string clusterHash;
    int rank = -1;
    int size = 0;
    std::string task;
    std::uint32_t pid = 0;
    std::string host;
    std::string user;
    double startedUtc = 0;
    std::array<std::uint8_t, 16> instance{}; ///< random per join: tells processes apart
};

struct Hello {
    std::uint16_t version = 0;
    Identity from;
    Purpose purpose = Purpose::Control;
    int expectedRank = -1; ///< the rank that the caller believes to be dialling
    std::array<std::uint8_t, 32> nonce{};
};

enum class RefusalCode : std::uint8_t {
    OtherProtocol = 1,
    OtherRun,
    OtherAttempt,
    OtherCluster,
    OtherSecret,
    ClaimedTwice,
    WrongRank,
    Itself,
    Over,   ///< its group is complete
    GaveUp, ///< its join has failed, for the reason that it gives
};

struct Refusal {
    RefusalCode code = RefusalCode::OtherRun;
    Identity by;
    std::string sentence; ///< from the one who refuses; empty where code and identity say it all
};

/// Whether waiting cannot help: the caller's join ends at once.
bool isFinal(RefusalCode code);
/// Whether two processes of one attempt were given different clusters.
bool isOtherCluster(const Identity& ours, const Identity& theirs);
/// What a person is told about a refusal that came from `address`: a phrase without a full stop.
std::string phrase(const Refusal& refusal, const std::string& address);
/// "index 0 claimed twice: n0 pid 12, n1 pid 34. …": the refusal by name.
std::string claimedTwice(const Identity& first, const Identity& second);
/// "worker:1 on n1 (pid 34, alice)".
std::string nameOf(const Identity& identity);

std::string encode(const Hello& hello);
std::optional<Hello> decodeHello(std::string_view payload);
std::string encode(const Refusal& refusal);
std::optional<Refusal> decodeRefusal(std::string_view payload);

enum class Side : std::uint8_t { Dialler = 1, Listener };
using ProofBytes = std::array<std::uint8_t, 32>;

/// Keyed BLAKE2b over the side and both hellos as they travelled. The nonces in the hellos make it
/// fresh, the side makes it useless when reflected.
ProofBytes prove(const Secret& secret, Side side, std::string_view diallerHello,
                 std::string_view listenerHello);
/// Compares in constant time.
bool isProof(std::string_view candidate, const ProofBytes& expected);
void fillRandom(std::span<std::uint8_t> bytes);

} // namespace lockstep::collective::detail
