// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/run/port_check.h"

#include "core/agent/protocol.h"
#include "core/base/files.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <set>
#include <sstream>
#include <system_error>

namespace lockstep::run {

namespace fs = std::filesystem;

namespace {

/// Inodes of the sockets that listen on the port.
std::set<std::string> listeningInodes(int port) {
    std::set<std::string> inodes;
    for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
        const auto text = files::read(table);
        if (!text)
            continue;
        std::istringstream lines(*text);
        std::string line;
        std::getline(lines, line); // names of the columns
        while (std::getline(lines, line)) {
            std::istringstream fields(line);
            std::string number, local, remote, state, skip, inode;
            fields >> number >> local >> remote >> state;
            for (int i = 0; i < 5; ++i)
                fields >> skip;
            fields >> inode;
            const std::size_t colon = local.rfind(':');
            if (state == "0A" && colon != std::string::npos &&
                std::strtol(local.c_str() + colon + 1, nullptr, 16) == port)
                inodes.insert("socket:[" + inode + "]");
        }
    }
    return inodes;
}

std::string runIdOf(const std::string& process) {
    const auto environment = files::read(process + "/environ");
    if (!environment)
        return {};
    const std::string key = std::string(agent::kRunIdVariable) + "=";
    std::istringstream entries(*environment);
    for (std::string entry; std::getline(entries, entry, '\0');)
        if (entry.rfind(key, 0) == 0)
            return entry.substr(key.size());
    return {};
}

std::optional<int> numberOf(const std::string& name) {
    int number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error != std::errc() || end != name.data() + name.size())
        return std::nullopt;
    return number;
}

/// 0, or the errno of the step that failed. `any`: all addresses of the machine.
int tryListen(const cluster::Address& address) {
    sockaddr_storage storage{};
    socklen_t length = sizeof(sockaddr_in);
    auto* v4 = reinterpret_cast<sockaddr_in*>(&storage);
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&storage);
    const auto port = htons(static_cast<std::uint16_t>(address.port));
    if (address.isIpv6()) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = port;
        v6->sin6_scope_id = address.zone.empty() ? 0 : ::if_nametoindex(address.zone.c_str());
        ::inet_pton(AF_INET6, address.host.c_str(), &v6->sin6_addr);
        length = sizeof(sockaddr_in6);
    } else {
        v4->sin_family = AF_INET;
        v4->sin_port = port;
        if (address.isIpv4())
            ::inet_pton(AF_INET, address.host.c_str(), &v4->sin_addr);
        else if (address.isLoopback())
            v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    }
    const int fd = ::socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    const int yes = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes); // as the engine does
    int error = 0;
    if (::bind(fd, reinterpret_cast<sockaddr*>(&storage), length) != 0 || ::listen(fd, 1) != 0)
        error = errno;
    ::close(fd);
    return error;
}

} // namespace

std::optional<PortOwner> portOwner(int port) {
    const std::set<std::string> inodes = listeningInodes(port);
    if (inodes.empty())
        return std::nullopt;
    std::error_code error;
    for (const auto& process : fs::directory_iterator("/proc", error)) {
        const auto pid = numberOf(process.path().filename().string());
        if (!pid)
            continue;
        std::error_code hidden; // other users' processes
        for (const auto& fd : fs::directory_iterator(process.path() / "fd", hidden)) {
            const auto target = fs::read_symlink(fd.path(), hidden);
            if (hidden || !inodes.count(target.string()))
                continue;
            std::string command = files::read(process.path().string() + "/comm").ok()
                                      ? *files::read(process.path().string() + "/comm")
                                      : std::string();
            while (!command.empty() && command.back() == '\n')
                command.pop_back();
            return PortOwner{*pid, command, runIdOf(process.path().string())};
        }
    }
    return PortOwner{};
}

std::optional<std::string> whyNotListen(const cluster::Address& address) {
    const int error = tryListen(address);
    if (error == 0)
        return std::nullopt;
    if (error == EADDRNOTAVAIL)
        return "No network interface of this machine has the address " + address.host + ".";
    if (error == EACCES)
        return "Port " + std::to_string(address.port) +
               " needs rights that this user does not have.";
    if (error != EADDRINUSE)
        return "Port " + std::to_string(address.port) +
               " cannot be opened: " + std::generic_category().message(error) + ".";
    std::string text = "Port " + std::to_string(address.port) + " is in use";
    const auto owner = portOwner(address.port);
    if (owner && owner->pid != 0)
        text += " by process " + std::to_string(owner->pid) + " (" + owner->command + ")";
    else if (owner)
        text += " by another user's process";
    if (owner && !owner->runId.empty())
        text += " of the run " + owner->runId;
    return text + ".";
}

std::optional<int> findFreePorts(int count, int from) {
    int found = 0;
    for (int port = from; port <= 65'535; ++port) {
        found = tryListen({"127.0.0.1", "", port}) == 0 ? found + 1 : 0;
        if (found == count)
            return port - count + 1;
    }
    return std::nullopt;
}

} // namespace lockstep::run
