// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/cluster/address.h"
#include "core/run/check_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <set>

namespace lockstep::run {

namespace {

using agent::GpuState;
using agent::HostProbe;
using agent::Reach;

constexpr double kClockTolerance = 1.0;
constexpr std::int64_t kRoomNeeded = 256LL << 20;
constexpr std::int64_t kRoomWanted = 2LL << 30;

std::string fixed(double value, int digits) {
    char text[64];
    std::snprintf(text, sizeof text, "%.*f", digits, value);
    return text;
}

bool isLoopback(const std::string& address) {
    return cluster::Address{address, {}, 1}.isLoopback();
}

std::string interfaceList(const HostProbe& probe) {
    std::string text;
    for (const auto& each : probe.interfaces)
        if (!each.isLoopback)
            text += (text.empty() ? "" : ", ") + each.name +
                    (each.addresses.empty() ? "" : " " + each.addresses.front());
    return text.empty() ? "no interface but loopback" : text;
}

class Judge {
public:
    Judge(const cluster::ClusterSpec& spec, const CheckReport& report)
        : m_spec(spec)
        , m_report(report) {
        for (const CheckedHost& host : report.hosts) {
            const auto address = cluster::Address::parse(host.address);
            m_addresses.push_back(address ? *address : cluster::Address{});
        }
    }

    std::vector<CheckFinding> all() {
        for (std::size_t i = 0; i < m_report.hosts.size(); ++i)
            judgeHost(i);
        judgeTwins();
        judgeDuplicates();
        judgeVersions();
        for (std::size_t to = 0; to < m_report.hosts.size(); ++to)
            judgePairsTo(to);
        judgeBandwidth();
        std::stable_sort(m_findings.begin(), m_findings.end(),
                         [](const auto& a, const auto& b) { return a.kind < b.kind; });
        return std::move(m_findings);
    }

private:
    using Kind = FindingKind;

    void add(Kind kind, const char* id, const std::string& task, const std::string& peer,
             const std::string& what, const std::string& todo = {}) {
        m_findings.push_back({kind, id, task, peer, what, todo});
    }
    bool isKnown(const CheckedHost& host) const { return host.state == CheckedHost::State::Done; }

    cluster::Worker workerOf(const CheckedHost& host) const {
        const auto id = cluster::TaskId::parse(host.task);
        const auto worker = id ? m_spec.find(*id) : std::nullopt;
        return worker ? *worker : cluster::Worker{};
    }

    /// What the host of a task is called means on `seenFrom`.
    std::vector<std::string> meaning(const CheckedHost& host, const CheckedHost& seenFrom) const {
        const cluster::Address& address = addressOf(host);
        if (address.port == 0)
            return {};
        if (!address.isName())
            return {cluster::hostKeyOf(address.host)};
        for (const agent::Resolved& entry : seenFrom.probe.resolved)
            if (entry.name == address.host)
                return entry.addresses;
        return {};
    }
    const cluster::Address& addressOf(const CheckedHost& host) const {
        return m_addresses[static_cast<std::size_t>(&host - m_report.hosts.data())];
    }

    void judgeHost(std::size_t place) {
        const CheckedHost& host = m_report.hosts[place];
        if (host.state == CheckedHost::State::Failed)
            return add(Kind::Error, "unreachable", host.task, {},
                       host.name + " cannot be used: " + host.words,
                       "See that ssh reaches it by hand, and check again.");
        if (!isKnown(host))
            return;
        judgePort(host);
        judgeOwnAddress(place);
        judgeClock(host);
        judgeRoom(host);
        judgeGpus(host);
        judgeInterfaceNames(host);
        if (host.probe.killsUserProcesses && !host.probe.lingers)
            add(Kind::Warning, "logind", host.task, {},
                host.name + " ends a user's programs when the last session ends "
                            "(KillUserProcesses): a run would end with the connection.",
                "Run there: loginctl enable-linger " + host.probe.user);
        // The load alone still tells of a run that has just ended.
        if (host.probe.cores > 0 && host.probe.load > static_cast<double>(host.probe.cores) &&
            host.probe.running >= host.probe.cores)
            add(Kind::Warning, "load", host.task, {},
                host.name + " is busy: load " + fixed(host.probe.load, 1) + " on " +
                    std::to_string(host.probe.cores) + " cores. All workers would wait for it.",
                "See with top what runs there.");
    }

    void judgePort(const CheckedHost& host) {
        if (host.listener.task.empty() || host.listener.isOpen)
            return;
        const agent::PortOwner& owner = host.listener.owner;
        std::string other = "another port for " + host.task;
        if (host.listener.freePort > 0)
            other += "; " + std::to_string(host.listener.freePort) + " is free there";
        if (!owner.isKnown())
            return add(Kind::Error, "port_closed", host.task, {},
                       host.address + " on " + host.name +
                           " cannot be opened: " + host.listener.why + ".",
                       "Choose " + other + ".");
        add(Kind::Error, "port_in_use", host.task, {},
            host.address + " on " + host.name + " " + ownerWords(owner) + ".",
            owner.run.empty()
                ? "Stop that process, or choose " + other + "."
                : "Stop that run (lockstepctl stop " + owner.run + "), or choose " + other + ".");
    }

    bool isReachedByAll(std::size_t to) const {
        bool any = false;
        for (std::size_t from = 0; from < m_report.hosts.size(); ++from) {
            const CheckedPair& pair = m_report.pair(from, to);
            if (pair.state == CheckedPair::State::Done && pair.result.reach != Reach::Reached)
                return false;
            any = any || pair.state == CheckedPair::State::Done;
        }
        return any;
    }

    void judgeOwnAddress(std::size_t place) {
        const CheckedHost& host = m_report.hosts[place];
        const auto own = meaning(host, host);
        const cluster::Address& address = addressOf(host);
        if (address.port == 0 || address.isLoopback())
            return;
        if (own.empty())
            return add(Kind::Warning, "own_name", host.task, {},
                       host.name + " does not know its own address " + host.address + ".", "");
        if (std::all_of(own.begin(), own.end(), isLoopback))
            return add(Kind::Fact, "loopback_name", host.task, {},
                       "On " + host.name + " its own name " + address.host + " means " +
                           own.front() +
                           " (/etc/hosts); the workers use what it means on the others.");
        const auto isBound = [&](const std::string& a) { return host.probe.interfaceOf(a); };
        if (std::any_of(own.begin(), own.end(), isBound))
            return;
        add(isReachedByAll(place) ? Kind::Warning : Kind::Error, "foreign_address", host.task, {},
            own.front() + " of " + host.task + " is no address of " + host.name + ", which has " +
                interfaceList(host.probe) + ".",
            "Give the worker an address of its own that the others reach; the address that ssh "
            "uses may be another one.");
    }

    void judgeClock(const CheckedHost& host) {
        const double off = host.clockOffsetSeconds;
        if (std::abs(off) - host.clockErrorSeconds > kClockTolerance)
            add(Kind::Warning, "clock", host.task, {},
                "The clock of " + host.name + " is " + fixed(std::abs(off), 1) + " s " +
                    (off > 0 ? "ahead of" : "behind") +
                    " this machine's. Times in logs are corrected.",
                "Turn time synchronization on there: timedatectl set-ntp true");
    }

    void judgeRoom(const CheckedHost& host) {
        const std::int64_t free = host.probe.diskFreeBytes;
        if (free >= kRoomWanted)
            return;
        add(free < kRoomNeeded ? Kind::Error : Kind::Warning, "disk_room", host.task, {},
            "Only " + std::to_string(free >> 20) + " MiB are free on " + host.name + " in " +
                host.base + ".",
            "Make room, or name another folder as the worker's \"base\".");
    }

    static std::string gpuTrouble(const HostProbe& probe) {
        const std::string said = probe.gpuWords.empty() ? "" : " (" + probe.gpuWords + ")";
        switch (probe.gpuState) {
        case GpuState::Ready:
            return {};
        case GpuState::NoDriver:
            return "no NVIDIA driver is installed";
        case GpuState::NotRunning:
            return "the NVIDIA driver is not running" + said;
        case GpuState::Mismatch:
            return "the NVIDIA driver's library and kernel module differ" + said +
                   "; it was updated and the machine not restarted";
        case GpuState::None:
            return "the NVIDIA driver finds no GPU";
        case GpuState::PermissionDenied:
            return "this account may not use /dev/nvidia*";
        case GpuState::Failed:
            return "nvidia-smi failed" + said;
        }
        return {};
    }

    void judgeGpus(const CheckedHost& host) {
        const json::Value devices = workerOf(host).devices;
        const std::string trouble = gpuTrouble(host.probe);
        if (!devices.isArray() || devices.size() == 0) {
            // Without a driver there is nothing to tell where no GPU was asked for.
            if (!trouble.empty() && host.probe.gpuState != GpuState::NoDriver)
                add(Kind::Fact, "gpu", host.task, {}, "On " + host.name + " " + trouble + ".");
            return;
        }
        if (!trouble.empty())
            return add(Kind::Error, "gpu_missing", host.task, {},
                       host.task + " asks for GPUs, but on " + host.name + " " + trouble + ".",
                       "Repair it there and check again, or set devices to \"cpu\".");
        for (const json::Value& device : devices.items())
            if (device.isInteger() && device.toInteger() >= std::int64_t(host.probe.gpus.size()))
                add(Kind::Error, "gpu_missing", host.task, {},
                    host.task + " asks for GPU " + std::to_string(device.toInteger()) + ", but " +
                        host.name + " has " + std::to_string(host.probe.gpus.size()) +
                        ", counted from 0.",
                    "Correct \"devices\".");
    }

    /// NCCL's form: names by comma, taken as beginnings; '=' exact, '^' all but these.
    static bool anyMatches(const HostProbe& probe, std::string value) {
        if (value.starts_with("^"))
            return true;
        const bool exact = value.starts_with("=");
        value.erase(0, exact ? 1 : 0);
        for (std::size_t begin = 0; begin <= value.size();) {
            const std::size_t comma = std::min(value.find(',', begin), value.size());
            const std::string name = value.substr(begin, comma - begin);
            for (const auto& each : probe.interfaces)
                if (exact ? each.name == name : !name.empty() && each.name.starts_with(name))
                    return true;
            begin = comma + 1;
        }
        return false;
    }

    void judgeInterfaceNames(const CheckedHost& host) {
        for (const auto& [name, value] : workerOf(host).env)
            if ((name == "NCCL_SOCKET_IFNAME" || name == "GLOO_SOCKET_IFNAME") &&
                !anyMatches(host.probe, value))
                add(Kind::Error, "interface_name", host.task, {},
                    name + " of " + host.task + " is " + value + "; " + host.name + " has " +
                        interfaceList(host.probe) + ".",
                    "Name one of these.");
    }

    void judgeTwins() {
        for (std::size_t i = 0; i < m_report.hosts.size(); ++i)
            for (std::size_t j = i + 1; j < m_report.hosts.size(); ++j)
                judgeTwins(m_report.hosts[i], m_report.hosts[j]);
    }

    void judgeTwins(const CheckedHost& a, const CheckedHost& b) {
        if (!isKnown(a) || !isKnown(b) || a.name == b.name)
            return;
        const std::string both = a.name + " and " + b.name;
        const bool sameId = !a.probe.machineId.empty() && a.probe.machineId == b.probe.machineId;
        if (!a.probe.bootId.empty() && a.probe.bootId == b.probe.bootId)
            add(Kind::Warning, "twins", a.task, b.task,
                both + " are the same machine (" + a.probe.hostname +
                    "): the workers share its cores and memory.",
                "Is one of the two meant to be another host?");
        else if (sameId && a.probe.hostname == b.probe.hostname)
            add(Kind::Error, "clones", a.task, b.task,
                both + " have the same machine-id and are both called " + a.probe.hostname +
                    " (copies of one disk?): in a shared home their files would mix.",
                "Give each its own: rm /etc/machine-id; systemd-machine-id-setup");
        else if (sameId)
            add(Kind::Warning, "clones", a.task, b.task,
                both + " have the same machine-id (copies of one disk?).",
                "Give each its own: rm /etc/machine-id; systemd-machine-id-setup");
        else if (a.probe.hostname == b.probe.hostname)
            add(Kind::Fact, "same_name", a.task, b.task,
                both + " are both called " + a.probe.hostname + ".");
    }

    void judgeDuplicates() {
        for (std::size_t i = 0; i < m_report.hosts.size(); ++i)
            for (std::size_t j = i + 1; j < m_report.hosts.size(); ++j) {
                const CheckedHost& a = m_report.hosts[i];
                const CheckedHost& b = m_report.hosts[j];
                if (addressOf(a).port != addressOf(b).port)
                    continue;
                if (const std::string common = commonAddress(a, b); !common.empty())
                    add(Kind::Error, "duplicate", a.task, b.task,
                        a.task + " (" + a.address + ") and " + b.task + " (" + b.address +
                            ") are one address: both mean " + common + ".",
                        "Correct one of them; several workers of one host need different ports.");
            }
    }

    std::string commonAddress(const CheckedHost& a, const CheckedHost& b) const {
        const bool areNumbers = !addressOf(a).isName() && !addressOf(b).isName();
        for (const CheckedHost& seer : m_report.hosts) {
            if (areNumbers && &seer != &m_report.hosts.front())
                break; // they mean the same to everyone
            const auto others = meaning(b, seer);
            for (const std::string& address : meaning(a, seer))
                if (!isLoopback(address) &&
                    std::find(others.begin(), others.end(), address) != others.end())
                    return address;
        }
        return {};
    }

    void judgeVersions() {
        const auto gpus = [](const HostProbe& p, auto text) {
            std::string all;
            for (const agent::Gpu& gpu : p.gpus)
                all += (all.empty() ? "" : ", ") + text(gpu);
            return all;
        };
        compare("driver", "NVIDIA driver", [](const HostProbe& p) { return p.driver; });
        compare("nccl", "NCCL", [](const HostProbe& p) { return p.nccl; });
        compare("cuda", "CUDA version", [](const HostProbe& p) { return p.cuda; });
        compare("gpu_models", "GPU list", [&](const HostProbe& p) {
            return gpus(p, [](const agent::Gpu& g) {
                return g.name + (g.isMig ? " (MIG)" : "") + " " + std::to_string(g.memoryMiB) +
                       " MiB, capability " + g.computeCapability;
            });
        });
    }

    /// A warning for each host whose value is not the most frequent one (the earliest of several).
    void compare(const char* id, const std::string& what,
                 const std::function<std::string(const HostProbe&)>& valueOf) {
        std::map<std::string, int> counts;
        std::vector<std::string> order;
        std::set<std::string> names;
        for (const CheckedHost& host : m_report.hosts) {
            if (!isKnown(host) || !names.insert(host.name).second || valueOf(host.probe).empty())
                continue;
            if (++counts[valueOf(host.probe)] == 1)
                order.push_back(valueOf(host.probe));
        }
        if (order.size() < 2)
            return;
        const std::string usual =
            *std::max_element(order.begin(), order.end(),
                              [&](const auto& a, const auto& b) { return counts[a] < counts[b]; });
        for (const CheckedHost& host : m_report.hosts)
            if (const std::string own = valueOf(host.probe);
                isKnown(host) && names.erase(host.name) && !own.empty() && own != usual)
                add(Kind::Warning, id, host.task, {},
                    "The " + what + " of " + host.name + " is " + own + "; that of others is " +
                        usual + ". NCCL may not work between them; RING does.",
                    "Install the same version, or set communication.implementation to \"RING\".");
    }

    void judgePairsTo(std::size_t to) {
        const CheckedHost& target = m_report.hosts[to];
        // Whose port another program has: said once, with its owner.
        const bool isTaken = !target.listener.task.empty() && !target.listener.isOpen;
        std::map<Reach, std::vector<std::size_t>> failures;
        std::size_t tried = 0;
        for (std::size_t from = 0; from < m_report.hosts.size(); ++from) {
            const CheckedPair& pair = m_report.pair(from, to);
            if (pair.state != CheckedPair::State::Done)
                continue;
            ++tried;
            judgeRoute(from, to);
            if (pair.result.reach == Reach::Reached && !pair.isGood())
                add(Kind::Error, "echo", m_report.hosts[from].task, target.task,
                    pairWords(m_report, from, to),
                    "Usually a smaller MTU on the way: set the same MTU on all ends (ip link), or "
                    "let ICMP \"fragmentation needed\" through.");
            else if (!pair.isGood())
                failures[pair.result.reach].push_back(from);
        }
        for (const auto& [reach, diallers] : failures)
            judgeFailures(reach, diallers, to, tried, isTaken);
    }

    void judgeFailures(Reach reach, const std::vector<std::size_t>& diallers, std::size_t to,
                       std::size_t tried, bool isTaken) {
        const CheckedHost& target = m_report.hosts[to];
        const bool byOwner = isTaken && (reach == Reach::WrongProgram || reach == Reach::Refused);
        if (byOwner)
            return;
        const Kind kind = reach == Reach::TimedOut ? Kind::Warning : Kind::Error;
        if (diallers.size() == tried && tried > 2)
            return add(kind, agent::reachName(reach), {}, target.task,
                       "No host could reach " + target.task + ". " +
                           pairWords(m_report, diallers.front(), to),
                       todoFor(reach, target));
        for (const std::size_t from : diallers)
            add(kind, agent::reachName(reach), m_report.hosts[from].task, target.task,
                pairWords(m_report, from, to), todoFor(reach, target));
    }

    static std::string todoFor(Reach reach, const CheckedHost& target) {
        switch (reach) {
        case Reach::Dropped:
        case Reach::Refused:
            return "Usually a firewall on " + target.name + " or between them. Open the port of " +
                   target.address + " for TCP.";
        case Reach::UnknownName:
            return "Use an IP address for " + target.task + ", or make the name known there.";
        case Reach::NoRoute:
            return "Give " + target.task + " an address on a network that all hosts are on.";
        case Reach::WrongProgram:
            return "Stop that program, or choose another port for " + target.task + ".";
        case Reach::WrongHost:
            return "Use an IP address for " + target.task + ", or correct /etc/hosts there.";
        case Reach::TimedOut:
            return "Check again with a longer --timeout.";
        case Reach::Reached:
            break;
        }
        return {};
    }

    /// Interfaces that containers and virtual machines make: the same addresses on every host.
    static bool isBridge(const std::string& name) {
        for (const char* prefix : {"docker", "veth", "virbr", "br-", "cni", "podman", "lxc"})
            if (name.starts_with(prefix))
                return true;
        return false;
    }

    void judgeRoute(std::size_t from, std::size_t to) {
        const agent::DialResult& r = m_report.pair(from, to).result;
        const CheckedHost& a = m_report.hosts[from];
        const CheckedHost& b = m_report.hosts[to];
        if (a.name == b.name || r.localInterface.empty())
            return;
        if (isBridge(r.localInterface))
            add(Kind::Warning, "wrong_interface", a.task, b.task,
                a.name + " goes to " + b.name + " (" + r.address + ") through " + r.localInterface +
                    ", a bridge of containers or virtual machines.",
                "Give " + b.task + " an address on the hosts' own network.");
        else if (isLoopback(r.address) && !isLoopback(cluster::hostKeyOf(hostOf(b))))
            add(Kind::Error, "loopback_name", a.task, b.task,
                "On " + a.name + " the name " + hostOf(b) + " of " + b.name + " means " +
                    r.address + ": it would talk to itself.",
                "Correct /etc/hosts there, or use an IP address.");
        else if (const auto own = meaning(a, b);
                 !own.empty() && r.reach == Reach::Reached && !isLoopback(r.localAddress) &&
                 std::find(own.begin(), own.end(), r.localAddress) == own.end())
            add(Kind::Fact, "route", a.task, b.task,
                a.name + " goes to " + b.name + " from " + r.localAddress + " (" +
                    r.localInterface + "), not from its own address " + own.front() + ".");
    }

    const std::string& hostOf(const CheckedHost& host) const { return addressOf(host).host; }

    void judgeBandwidth() {
        const CheckedPair* slowest = nullptr;
        std::pair<std::size_t, std::size_t> at;
        for (std::size_t from = 0; from < m_report.hosts.size(); ++from)
            for (std::size_t to = 0; to < m_report.hosts.size(); ++to) {
                const CheckedPair& pair = m_report.pair(from, to);
                const double rate = pair.result.bytesPerSecond;
                if (rate > 0 && (!slowest || rate < slowest->result.bytesPerSecond)) {
                    slowest = &pair;
                    at = {from, to};
                }
            }
        if (slowest)
            add(Kind::Fact, "bandwidth", m_report.hosts[at.first].task,
                m_report.hosts[at.second].task,
                "The slowest pair carries " + fixed(slowest->result.bytesPerSecond / 1e6, 1) +
                    " MB/s: " + m_report.hosts[at.first].name + " to " +
                    m_report.hosts[at.second].name + ".");
    }

    const cluster::ClusterSpec& m_spec;
    const CheckReport& m_report;
    std::vector<cluster::Address> m_addresses; ///< by place; port 0 where it is none
    std::vector<CheckFinding> m_findings;
};

} // namespace

std::vector<CheckFinding> findingsOf(const cluster::ClusterSpec& spec, const CheckReport& report) {
    return Judge(spec, report).all();
}

} // namespace lockstep::run
