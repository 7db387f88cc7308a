// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// What the control side and the checking commands of lockstep-worker (`probe`, `listen`, `dial`)
// say to each other, in the manner of protocol.h: one JSON request line, JSON lines as answers, a
// refusal as {"ok":false,…}. A member that is missing keeps its default, so that a newer agent and
// an older control side understand each other. Plain data: no thread rules.

#include "core/base/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::agent {

struct NetworkInterface {
    std::string name;
    std::vector<std::string> addresses; ///< numeric, without prefix length and zone
    std::int64_t mtu = 0;
    bool isUp = false;
    bool isLoopback = false;
    bool operator==(const NetworkInterface&) const = default;
};

struct Gpu {
    std::string name;
    std::int64_t memoryMiB = 0;    ///< 0 where nvidia-smi does not say
    std::string computeCapability; ///< "9.0"
    bool isMig = false;            ///< cut into MIG instances
    bool operator==(const Gpu&) const = default;
};

/// Why there are GPUs to use or not.
enum class GpuState {
    Ready,
    NoDriver,         ///< no nvidia-smi and no NVIDIA device
    NotRunning,       ///< nvidia-smi cannot talk to the driver (exit 9)
    Mismatch,         ///< the driver's library and its kernel module differ
    None,             ///< the driver works and has no GPU
    PermissionDenied, ///< /dev/nvidia* are closed to this user
    Failed,           ///< anything else; `gpuWords` says it
};
const char* gpuStateName(GpuState state);

/// `probe`: facts of the host.
struct ProbeRequest {
    bool onlyClock = false; ///< the answer then has `utcSeconds` alone
    std::string folder;     ///< whose disk room is asked for; may not exist yet
    /// The account's own addresses: names to look up there, "n0".
    std::vector<std::string> names;
};
struct Resolved {
    std::string name;
    std::vector<std::string> addresses; ///< empty: not known there
    bool operator==(const Resolved&) const = default;
};
struct HostProbe {
    double utcSeconds = 0;
    std::string hostname;
    std::string machineId;
    std::string bootId;
    std::string architecture; ///< "x86_64"
    std::string kernel;       ///< "6.1.0-18-amd64"
    std::string system;       ///< "Debian GNU/Linux 12 (bookworm)"
    std::string libc;         ///< "glibc 2.36", "musl", "none"
    std::string user;
    std::string shell;
    std::int64_t cores = 0;       ///< usable by this process: affinity and cgroup
    std::int64_t memoryBytes = 0; ///< total, or the cgroup's limit where lower
    std::int64_t availableBytes = 0;
    double load = 0;          ///< of one minute
    std::int64_t running = 0; ///< tasks that want a core now, without us; only where load > cores
    std::int64_t diskFreeBytes = 0;
    std::vector<NetworkInterface> interfaces;
    std::string defaultInterface; ///< of the default route, "" where there is none
    GpuState gpuState = GpuState::NoDriver;
    std::string gpuWords; ///< what nvidia-smi said where it failed
    std::vector<Gpu> gpus;
    std::string driver;
    std::string cuda;                ///< that the driver supports
    std::string nccl;                ///< version of libnccl.so.2, "" where there is none
    bool killsUserProcesses = false; ///< logind's KillUserProcesses
    bool lingers = false;            ///< and linger for this account
    std::vector<Resolved> resolved;

    const NetworkInterface* interfaceOf(const std::string& address) const;
};

/// Who has a port.
struct PortOwner {
    std::int64_t pid = 0; ///< 0 where the process is hidden from us
    std::string user;
    std::string command;
    std::string run;      ///< the id of a run of ours
    double startedAt = 0; ///< UTC seconds, 0 where unknown
    bool isKnown() const { return !user.empty() || pid != 0; }
    bool operator==(const PortOwner&) const = default;
};

/// `listen`: opens the workers' real ports and answers `dial` until standard input is closed.
struct Port {
    std::string task; ///< "worker:1": told to whoever dials
    std::int64_t port = 0;
};
struct ListenRequest {
    std::string token; ///< of this check: names no secret, tells checks apart
    std::vector<Port> ports;
    double seconds = 120; ///< and then ends by itself
};
/// One line per port, then lines {"alive":true} every two seconds.
struct ListenReply {
    std::string task;
    bool isOpen = false;
    std::string why;           ///< where it is not open
    std::int64_t freePort = 0; ///< the next one that could be opened; 0 where it is open
    PortOwner owner;
};

enum class Reach {
    Reached,
    Refused,      ///< answered that nothing listens there, or that it may not pass
    Dropped,      ///< silence until the deadline
    NoRoute,      ///< the network has no way there
    UnknownName,  ///< the name means nothing here
    WrongProgram, ///< something answered that is not the listener of this check
    WrongHost,    ///< the listener of another task answered
    TimedOut,     ///< the check ended before this was known
};
const char* reachName(Reach reach);

/// `dial`: tries peers, each with a connection of its own; connections are made side by side,
/// measurements one after the other in the order given.
struct Peer {
    std::string task;
    std::string
        host; ///< as in the cluster: a number is dialled as it is, nothing is looked up back
    std::string zone;
    std::int64_t port = 0;
};
struct DialRequest {
    std::string token;
    std::vector<Peer> peers;
    double resolveSeconds = 3; ///< a name that is unknown is asked for again so long
    double connectSeconds = 3;
    double echoSeconds = 2;      ///< for each size
    double bandwidthSeconds = 0; ///< 0: not measured
    double seconds = 60;         ///< for all
};
enum class EchoState { NotTried, Good, Failed };
struct Echo {
    EchoState state = EchoState::NotTried;
    double seconds = 0;
};
/// One line per peer, as they come.
struct DialResult {
    std::string task; ///< of the peer
    Reach reach = Reach::TimedOut;
    std::string words;                  ///< what the system or the other program said
    std::vector<std::string> addresses; ///< what the name means there
    std::string address;                ///< dialled
    std::string localAddress;           ///< that the kernel chose to go there
    std::string localInterface;
    std::string answeredBy; ///< task of another listener
    double roundTripSeconds = 0;
    Echo echo1K;
    Echo echo64K;
    Echo echo1M;
    double bytesPerSecond = 0;
};

std::string encode(const ProbeRequest& request);
std::string encode(const HostProbe& probe);
std::string encode(const ListenRequest& request);
std::string encode(const ListenReply& reply);
std::string encode(const DialRequest& request);
std::string encode(const DialResult& result);

// As in protocol.h.
Result<ProbeRequest> decodeProbeRequest(std::string_view line);
Result<HostProbe> decodeHostProbe(std::string_view line);
Result<ListenRequest> decodeListenRequest(std::string_view line);
/// NotFound for a line that only says that the listener lives.
Result<ListenReply> decodeListenReply(std::string_view line);
Result<DialRequest> decodeDialRequest(std::string_view line);
Result<DialResult> decodeDialResult(std::string_view line);

} // namespace lockstep::agent
