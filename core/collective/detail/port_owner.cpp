// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/collective/detail/port_owner.h"

#include "core/base/files.h"

#include <dirent.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

namespace lockstep::collective::detail {

namespace {

struct Listener {
    std::string inode;
    unsigned uid = 0;
};

/// One line of /proc/net/tcp: "sl local:port remote:port st queues tr:tm retrnsmt uid timeout
/// inode".
std::optional<Listener> listenerIn(const std::string& table, std::uint16_t port) {
    char wanted[8];
    std::snprintf(wanted, sizeof wanted, ":%04X", static_cast<unsigned>(port));
    std::istringstream lines(table);
    std::string line;
    while (std::getline(lines, line)) {
        std::istringstream words(line);
        std::string slot, local, remote, state, queues, timer, retransmits, timeout;
        Listener found;
        if (words >> slot >> local >> remote >> state >> queues >> timer >> retransmits >>
                found.uid >> timeout >> found.inode &&
            state == "0A" && local.ends_with(wanted))
            return found;
    }
    return std::nullopt;
}

template <class Visit>
void eachNumber(const std::string& folder, Visit visit) {
    DIR* open = ::opendir(folder.c_str());
    if (!open)
        return;
    while (const dirent* entry = ::readdir(open)) {
        const std::string_view name = entry->d_name;
        if (std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; }) &&
            visit(std::string(name)))
            break;
    }
    ::closedir(open);
}

std::string processWithSocket(const std::string& inode) {
    const std::string wanted = "socket:[" + inode + "]";
    std::string pid;
    eachNumber("/proc", [&](const std::string& process) {
        const std::string folder = "/proc/" + process + "/fd";
        eachNumber(folder, [&](const std::string& fd) {
            std::array<char, 64> link{};
            const auto length = ::readlink((folder + "/" + fd).c_str(), link.data(), link.size());
            if (length > 0 &&
                std::string_view(link.data(), static_cast<std::size_t>(length)) == wanted)
                pid = process;
            return !pid.empty();
        });
        return !pid.empty();
    });
    return pid;
}

std::string commandLine(const std::string& pid) {
    auto bytes = files::read("/proc/" + pid + "/cmdline");
    if (!bytes.ok())
        return {};
    std::string text = std::move(bytes).value();
    while (!text.empty() && text.back() == '\0')
        text.pop_back();
    std::replace(text.begin(), text.end(), '\0', ' ');
    constexpr std::size_t kLongest = 160;
    return text.size() > kLongest ? text.substr(0, kLongest) + "…" : text;
}

} // namespace

std::string userNameOf(unsigned uid) {
    passwd entry{};
    passwd* found = nullptr;
    std::vector<char> buffer(16'384);
    if (::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) == 0 && found)
        return found->pw_name;
    return "user " + std::to_string(uid);
}

std::string portOwner(std::uint16_t port) {
    for (const char* table : {"/proc/net/tcp6", "/proc/net/tcp"}) {
        const auto text = files::read(table);
        const auto listener = text.ok() ? listenerIn(*text, port) : std::nullopt;
        if (!listener)
            continue;
        const std::string user = userNameOf(listener->uid);
        const std::string pid = processWithSocket(listener->inode);
        if (pid.empty())
            return "a process of " + user;
        return "pid " + pid + " (" + user + "): " + commandLine(pid);
    }
    return {};
}

} // namespace lockstep::collective::detail
