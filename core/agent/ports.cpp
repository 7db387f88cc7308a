// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/agent/probe.h"
#include "core/agent/process.h"
#include "core/agent/protocol.h"
#include "core/base/files.h"

#include <pwd.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <sstream>

namespace lockstep::agent {

namespace {

namespace fs = std::filesystem;

std::string userName(uid_t uid) {
    const passwd* entry = ::getpwuid(uid);
    return entry ? entry->pw_name : std::to_string(uid);
}

/// Sockets that listen on the port: "socket:[inode]" → who made them.
std::map<std::string, uid_t> listeners(int port) {
    std::map<std::string, uid_t> sockets;
    for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
        const auto text = files::read(table);
        std::istringstream lines(text ? *text : std::string());
        std::string line;
        std::getline(lines, line); // names of the columns
        while (std::getline(lines, line)) {
            std::istringstream fields(line);
            std::string number, local, remote, state, queues, timer, retransmits, timeout, inode;
            uid_t uid = 0;
            fields >> number >> local >> remote >> state >> queues >> timer >> retransmits >> uid >>
                timeout >> inode;
            const std::size_t colon = local.rfind(':');
            if (state == "0A" && colon != std::string::npos &&
                std::strtol(local.c_str() + colon + 1, nullptr, 16) == port)
                sockets["socket:[" + inode + "]"] = uid;
        }
    }
    return sockets;
}

std::string runOf(const std::string& process) {
    const auto environment = files::read(process + "/environ");
    const std::string key = std::string(kRunIdVariable) + "=";
    std::istringstream entries(environment ? *environment : std::string());
    for (std::string entry; std::getline(entries, entry, '\0');)
        if (entry.starts_with(key))
            return entry.substr(key.size());
    return {};
}

double startOf(const ProcessFacts& facts) {
    const auto stat = files::read("/proc/stat");
    const std::size_t at = stat ? stat->find("btime ") : std::string::npos;
    if (at == std::string::npos)
        return 0;
    return std::strtod(stat->c_str() + at + 6, nullptr) +
           static_cast<double>(facts.identity.startTime) /
               static_cast<double>(::sysconf(_SC_CLK_TCK));
}

bool holdsOne(const std::string& process, const std::map<std::string, uid_t>& sockets) {
    std::error_code error;
    for (fs::directory_iterator fd(process + "/fd", error), end; !error && fd != end;
         fd.increment(error)) {
        std::error_code hidden;
        if (sockets.count(fs::read_symlink(fd->path(), hidden).string()))
            return true;
    }
    return false;
}

} // namespace

PortOwner portOwner(int port) {
    PortOwner owner;
    const auto sockets = listeners(port);
    if (sockets.empty())
        return owner;
    owner.user = userName(sockets.begin()->second);
    for (const ProcessFacts& facts : allProcesses()) {
        const std::string process = "/proc/" + std::to_string(facts.identity.pid);
        if (!holdsOne(process, sockets))
            continue;
        owner.pid = facts.identity.pid;
        owner.command = facts.name;
        owner.run = runOf(process);
        owner.startedAt = startOf(facts);
        break;
    }
    return owner;
}

} // namespace lockstep::agent
