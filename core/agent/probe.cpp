// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/agent/probe.h"

#include "core/agent/detail/capture.h"
#include "core/agent/detail/descriptor.h"
#include "core/agent/process.h"
#include "core/base/clock.h"
#include "core/base/files.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <pwd.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <sstream>
#include <thread>

namespace lockstep::agent {

namespace {

std::string firstLine(const std::string& path) {
    const auto text = files::read(path, 1 << 16);
    return text ? text->substr(0, text->find('\n')) : std::string();
}

/// The value of KEY=value in a file of such lines, without quotes.
std::string valueIn(const std::string& path, const std::string& key) {
    const auto text = files::read(path, 1 << 20);
    std::istringstream lines(text ? *text : std::string());
    std::string value;
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with(key + "="))
            value = line.substr(key.size() + 1);
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
        value = value.substr(1, value.size() - 2);
    return value;
}

/// The host's C library, which need not be the one that this program runs with.
std::string libcOfHost() {
    for (const char* tool : {"/usr/bin/getconf", "/bin/getconf"}) {
        const auto answer = detail::capture({tool, "GNU_LIBC_VERSION"}, 2000);
        if (answer.exitCode == 0 && answer.out.starts_with("glibc "))
            return answer.out.substr(0, answer.out.find('\n'));
    }
    std::error_code error;
    for (const char* folder : {"/lib", "/lib64", "/usr/lib"})
        for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
             at.increment(error)) {
            const std::string name = at->path().filename().string();
            if (name.starts_with("ld-musl-"))
                return "musl";
            if (name.starts_with("ld-linux"))
                return "glibc";
        }
    return "none";
}

/// cgroup limits of this process: "max" and unreadable ones count as none.
double cgroupNumber(const std::string& file, double none) {
    const std::string line = firstLine("/proc/self/cgroup");
    const std::size_t at = line.rfind("::");
    for (const std::string& root :
         {"/sys/fs/cgroup" + (at == std::string::npos ? std::string() : line.substr(at + 2)),
          std::string("/sys/fs/cgroup")}) {
        const std::string text = firstLine(root + "/" + file);
        if (!text.empty() && text[0] >= '0' && text[0] <= '9') {
            std::istringstream fields(text);
            double quota = 0;
            double period = 0;
            fields >> quota;
            return fields >> period && period > 0 ? quota / period : quota;
        }
    }
    return none;
}

std::int64_t usableCores() {
    std::int64_t cores = 1;
    cpu_set_t set;
    if (::sched_getaffinity(0, sizeof set, &set) == 0)
        cores = CPU_COUNT(&set);
    else
        cores = std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN));
    const double limit = cgroupNumber("cpu.max", 0);
    return limit > 0
               ? std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(limit)), 1, cores)
               : cores;
}

void fillMemory(HostProbe& probe) {
    const auto text = files::read("/proc/meminfo", 1 << 20);
    std::istringstream lines(text ? *text : std::string());
    for (std::string line; std::getline(lines, line);) {
        std::istringstream fields(line);
        std::string key;
        std::int64_t kib = 0;
        fields >> key >> kib;
        if (key == "MemTotal:")
            probe.memoryBytes = kib * 1024;
        if (key == "MemAvailable:")
            probe.availableBytes = kib * 1024;
    }
    const double limit = cgroupNumber("memory.max", 0);
    if (limit > 0 && limit < static_cast<double>(probe.memoryBytes)) {
        probe.memoryBytes = static_cast<std::int64_t>(limit);
        probe.availableBytes = std::min(probe.availableBytes, probe.memoryBytes);
    }
}

std::int64_t diskFree(std::string folder) {
    if (folder.empty() || folder[0] != '/')
        return 0;
    struct statvfs info {};
    while (::statvfs(folder.c_str(), &info) != 0) {
        if (folder == "/")
            return 0;
        folder = std::filesystem::path(folder).parent_path().string();
    }
    return static_cast<std::int64_t>(info.f_bavail * info.f_frsize);
}

/// logind.conf and its drop-ins, later ones winning.
bool killsUserProcesses() {
    std::string value = valueIn("/etc/systemd/logind.conf", "KillUserProcesses");
    for (const char* folder : {"/usr/lib/systemd/logind.conf.d", "/etc/systemd/logind.conf.d"}) {
        std::error_code error;
        for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
             at.increment(error))
            if (const auto own = valueIn(at->path().string(), "KillUserProcesses"); !own.empty())
                value = own;
    }
    std::transform(value.begin(), value.end(), value.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return value == "yes" || value == "true" || value == "on" || value == "1";
}

std::string defaultInterface() {
    const auto text = files::read("/proc/net/route", 1 << 20);
    std::istringstream lines(text ? *text : std::string());
    std::string line;
    std::getline(lines, line); // names of the columns
    while (std::getline(lines, line)) {
        std::istringstream fields(line);
        std::string name, destination;
        fields >> name >> destination;
        if (destination == "00000000")
            return name;
    }
    return {};
}

/// "2.18.5" of an installed NCCL: the version that its file name carries.
std::string ncclVersion() {
    for (const char* folder :
         {"/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/cuda/lib64",
          "/usr/local/lib", "/usr/lib/aarch64-linux-gnu"}) {
        std::error_code error;
        const auto target =
            std::filesystem::canonical(std::string(folder) + "/libnccl.so.2", error);
        const std::string name = target.filename().string();
        if (!error && name.starts_with("libnccl.so.2."))
            return name.substr(11);
    }
    return {};
}

/// From the socket layer: /sys may show another network namespace.
std::int64_t mtuOf(const std::string& name) {
    const detail::Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request{};
    name.copy(request.ifr_name, IFNAMSIZ - 1);
    return ::ioctl(socket.get(), SIOCGIFMTU, &request) == 0 ? request.ifr_mtu : 0;
}

void fillAccount(HostProbe& probe) {
    if (const passwd* entry = ::getpwuid(::geteuid())) {
        probe.user = entry->pw_name;
        probe.shell = entry->pw_shell;
    } else {
        probe.user = std::to_string(::geteuid());
    }
    probe.killsUserProcesses = killsUserProcesses();
    probe.lingers = std::filesystem::exists("/var/lib/systemd/linger/" + probe.user);
}

/// Tasks that are running or ready to, the fewest of a few looks so that a moment does not count.
std::int64_t runningTasks() {
    constexpr int kLooks = 5;
    constexpr auto kBetween = std::chrono::milliseconds(20);
    std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
    for (int look = 0; look < kLooks; ++look) {
        if (look > 0)
            std::this_thread::sleep_for(kBetween);
        // "0.20 0.18 0.12 3/310 4711"
        double average = 0;
        long long running = 0;
        if (std::sscanf(firstLine("/proc/loadavg").c_str(), "%lf %lf %lf %lld/", &average, &average,
                        &average, &running) != 4)
            return 0;
        fewest = std::min(fewest, static_cast<std::int64_t>(running) - 1);
    }
    return std::max<std::int64_t>(fewest, 0);
}

} // namespace

std::vector<NetworkInterface> interfacesOfHost() {
    std::vector<NetworkInterface> list;
    ifaddrs* all = nullptr;
    if (::getifaddrs(&all) != 0)
        return list;
    for (const ifaddrs* each = all; each; each = each->ifa_next) {
        auto at = std::find_if(list.begin(), list.end(),
                               [&](const NetworkInterface& i) { return i.name == each->ifa_name; });
        if (at == list.end()) {
            NetworkInterface made;
            made.name = each->ifa_name;
            made.isUp = (each->ifa_flags & IFF_UP) && (each->ifa_flags & IFF_RUNNING);
            made.isLoopback = each->ifa_flags & IFF_LOOPBACK;
            made.mtu = mtuOf(made.name);
            at = list.insert(list.end(), made);
        }
        char text[INET6_ADDRSTRLEN] = {};
        if (each->ifa_addr && each->ifa_addr->sa_family == AF_INET)
            ::inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in*>(each->ifa_addr)->sin_addr, text,
                        sizeof text);
        else if (each->ifa_addr && each->ifa_addr->sa_family == AF_INET6)
            ::inet_ntop(AF_INET6, &reinterpret_cast<sockaddr_in6*>(each->ifa_addr)->sin6_addr, text,
                        sizeof text);
        if (text[0] != '\0')
            at->addresses.emplace_back(text);
    }
    ::freeifaddrs(all);
    return list;
}

std::vector<std::string> resolve(const std::string& host) {
    std::vector<std::string> list;
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0)
        return list;
    for (const addrinfo* each = found; each; each = each->ai_next) {
        char text[INET6_ADDRSTRLEN] = {};
        if (::getnameinfo(each->ai_addr, each->ai_addrlen, text, sizeof text, nullptr, 0,
                          NI_NUMERICHOST) != 0)
            continue;
        if (std::find(list.begin(), list.end(), text) == list.end())
            list.emplace_back(text);
    }
    ::freeaddrinfo(found);
    return list;
}

HostProbe probe(const ProbeRequest& request) {
    HostProbe probe;
    if (!request.onlyClock) {
        utsname kernel{};
        ::uname(&kernel);
        probe.hostname = kernel.nodename;
        probe.architecture = kernel.machine;
        probe.kernel = kernel.release;
        probe.machineId = firstLine("/etc/machine-id");
        probe.bootId = bootId();
        probe.system = valueIn("/etc/os-release", "PRETTY_NAME");
        probe.libc = libcOfHost();
        fillAccount(probe);
        probe.cores = usableCores();
        fillMemory(probe);
        probe.load = std::atof(firstLine("/proc/loadavg").c_str());
        if (probe.load > static_cast<double>(probe.cores))
            probe.running = runningTasks();
        probe.diskFreeBytes = diskFree(request.folder);
        probe.interfaces = interfacesOfHost();
        probe.defaultInterface = defaultInterface();
        probeGpus(probe, gpuToolFolders());
        probe.nccl = ncclVersion();
        for (const std::string& name : request.names)
            probe.resolved.push_back({name, resolve(name)});
    }
    probe.utcSeconds = Clock::system().utcSeconds(); // last: closest to the moment it is read
    return probe;
}

} // namespace lockstep::agent
