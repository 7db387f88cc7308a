// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/collective/detail/hello.h"

#include "core/base/failure.h"
#include "core/collective/detail/frame.h"

#include <sodium.h>

#include <cmath>
#include <ctime>

namespace lockstep::collective {

namespace {

void startLibrary() {
    static const int status = sodium_init();
    LOCKSTEP_CHECK(status >= 0, "[collective] libsodium did not start");
}

void addBytes(crypto_generichash_state& state, std::string_view bytes) {
    // With its length in front, so that two pieces cannot be cut at another place.
    detail::ByteWriter length;
    length.u32(static_cast<std::uint32_t>(bytes.size()));
    for (const std::string_view part : {std::string_view(length.bytes()), bytes})
        crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(part.data()),
                                  part.size());
}

} // namespace

Secret deriveSecret(std::string_view clusterHash, std::string_view jobHash) {
    startLibrary();
    Secret secret{};
    crypto_generichash_state state;
    crypto_generichash_init(&state, nullptr, 0, secret.size());
    for (const std::string_view part :
         {std::string_view("lockstep derived secret 1"), clusterHash, jobHash})
        addBytes(state, part);
    crypto_generichash_final(&state, secret.data(), secret.size());
    return secret;
}

namespace detail {

namespace {

void write(ByteWriter& out, const Identity& identity) {
    out.text(identity.runId);
    out.u32(static_cast<std::uint32_t>(identity.attempt));
    out.text(identity.clusterHash);
    out.u32(static_cast<std::uint32_t>(identity.rank));
    out.u32(static_cast<std::uint32_t>(identity.size));
    out.text(identity.task);
    out.u32(identity.pid);
    out.text(identity.host);
    out.text(identity.user);
    out.f64(identity.startedUtc);
    out.raw(identity.instance);
}

Identity readIdentity(ByteReader& in) {
    Identity identity;
    identity.runId = in.text();
    identity.attempt = static_cast<int>(in.u32());
    identity.clusterHash = in.text();
    identity.rank = static_cast<int>(in.u32());
    identity.size = static_cast<int>(in.u32());
    identity.task = in.text();
    identity.pid = in.u32();
    identity.host = in.text();
    identity.user = in.text();
    identity.startedUtc = in.f64();
    in.raw(identity.instance);
    return identity;
}

/// "14:02" in this host's time, with the date when it is not today's.
std::string clockText(double utcSeconds) {
    const auto moment = static_cast<std::time_t>(std::floor(utcSeconds));
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    std::tm today{};
    ::localtime_r(&moment, &parts);
    ::localtime_r(&now, &today);
    const bool isToday = parts.tm_year == today.tm_year && parts.tm_yday == today.tm_yday;
    char text[32];
    const std::size_t size =
        std::strftime(text, sizeof text, isToday ? "%H:%M" : "%Y-%m-%d %H:%M", &parts);
    return std::string(text, size);
}

} // namespace

bool isFinal(RefusalCode code) {
    switch (code) {
    case RefusalCode::OtherRun:
    case RefusalCode::OtherAttempt:
    case RefusalCode::Itself:
    case RefusalCode::Over:
        return false; // that process may go away and the right one come
    case RefusalCode::OtherProtocol:
    case RefusalCode::OtherCluster:
    case RefusalCode::OtherSecret:
    case RefusalCode::ClaimedTwice:
    case RefusalCode::WrongRank:
    case RefusalCode::GaveUp:
        return true;
    }
    return false;
}

bool isOtherCluster(const Identity& ours, const Identity& theirs) {
    return theirs.clusterHash != ours.clusterHash || theirs.size != ours.size || theirs.rank < 0 ||
           theirs.rank >= ours.size;
}

std::string nameOf(const Identity& identity) {
    return identity.task + " on " + identity.host + " (pid " + std::to_string(identity.pid) + ", " +
           identity.user + ")";
}

std::string claimedTwice(const Identity& first, const Identity& second) {
    const auto colon = first.task.find(':');
    const std::string index =
        colon == std::string::npos ? first.task : first.task.substr(colon + 1);
    return "index " + index + " claimed twice: " + first.host + " pid " +
           std::to_string(first.pid) + ", " + second.host + " pid " + std::to_string(second.pid) +
           ". Both say that they are " + first.task +
           "; give each worker its own index in TF_CONFIG";
}

std::string phrase(const Refusal& refusal, const std::string& address) {
    if (!refusal.sentence.empty())
        return refusal.sentence;
    const Identity& by = refusal.by;
    const std::string since = ", started " + clockText(by.startedUtc) + " by " + by.user;
    switch (refusal.code) {
    case RefusalCode::OtherProtocol:
        return address + " runs a worker that speaks another version of the protocol; use the same "
                         "Lockstep version on all hosts";
    case RefusalCode::OtherRun:
        return address + " belongs to run " + by.runId + since + " (" + by.task + ", pid " +
               std::to_string(by.pid) + ")";
    case RefusalCode::OtherAttempt:
        return address + " still runs attempt " + std::to_string(by.attempt) + " of this run" +
               since + " (pid " + std::to_string(by.pid) + ")";
    case RefusalCode::OtherCluster:
        return nameOf(by) + " at " + address +
               " has another cluster in its TF_CONFIG; start all workers with the same one";
    case RefusalCode::OtherSecret:
        return nameOf(by) + " at " + address +
               " knows another secret of this run; start all workers from the same launch";
    case RefusalCode::Itself:
        return address + " leads back to this worker itself; is its index in TF_CONFIG right?";
    case RefusalCode::Over:
        return address + " is " + nameOf(by) + ", whose group is complete";
    case RefusalCode::ClaimedTwice:
    case RefusalCode::WrongRank:
    case RefusalCode::GaveUp:
        break;
    }
    return address + " answers as " + nameOf(by);
}

std::string encode(const Hello& hello) {
    ByteWriter out;
    out.u16(hello.version);
    write(out, hello.from);
    out.u8(static_cast<std::uint8_t>(hello.purpose));
    out.u32(static_cast<std::uint32_t>(hello.expectedRank));
    out.raw(hello.nonce);
    return out.bytes();
}

std::optional<Hello> decodeHello(std::string_view payload) {
    ByteReader in(payload);
    Hello hello;
    hello.version = in.u16();
    hello.from = readIdentity(in);
    hello.purpose = static_cast<Purpose>(in.u8());
    hello.expectedRank = static_cast<int>(in.u32());
    in.raw(hello.nonce);
    if (!in.ok())
        return std::nullopt;
    return hello;
}

std::string encode(const Refusal& refusal) {
    ByteWriter out;
    out.u8(static_cast<std::uint8_t>(refusal.code));
    write(out, refusal.by);
    out.text(refusal.sentence);
    return out.bytes();
}

std::optional<Refusal> decodeRefusal(std::string_view payload) {
    ByteReader in(payload);
    Refusal refusal;
    refusal.code = static_cast<RefusalCode>(in.u8());
    refusal.by = readIdentity(in);
    refusal.sentence = in.text();
    if (!in.ok())
        return std::nullopt;
    return refusal;
}

ProofBytes prove(const Secret& secret, Side side, std::string_view diallerHello,
                 std::string_view listenerHello) {
    startLibrary();
    ProofBytes proof{};
    crypto_generichash_state state;
    crypto_generichash_init(&state, secret.data(), secret.size(), proof.size());
    addBytes(state, side == Side::Dialler ? "lockstep dialler" : "lockstep listener");
    addBytes(state, diallerHello);
    addBytes(state, listenerHello);
    crypto_generichash_final(&state, proof.data(), proof.size());
    return proof;
}

bool isProof(std::string_view candidate, const ProofBytes& expected) {
    return candidate.size() == expected.size() &&
           sodium_memcmp(candidate.data(), expected.data(), expected.size()) == 0;
}

void fillRandom(std::span<std::uint8_t> bytes) {
    startLibrary();
    randombytes_buf(bytes.data(), bytes.size());
}

} // namespace detail

} // namespace lockstep::collective
