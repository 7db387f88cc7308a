// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/agent/process.h"

#include "core/agent/detail/descriptor.h"
#include "core/base/files.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <system_error>

namespace lockstep::agent {

namespace {

std::string folderOf(std::int64_t pid) {
    return "/proc/" + std::to_string(pid);
}

bool isZombie(const ProcessFacts& facts) {
    return facts.state == 'Z' || facts.state == 'X';
}

bool hasEntry(std::string_view environment, std::string_view entry) {
    std::size_t begin = 0;
    while (begin < environment.size()) {
        const std::size_t end = environment.find('\0', begin);
        if (environment.substr(begin, end - begin) == entry)
            return true;
        if (end == std::string_view::npos)
            return false;
        begin = end + 1;
    }
    return false;
}

} // namespace

std::string bootId() {
    auto text = files::read("/proc/sys/kernel/random/boot_id", 256);
    if (!text)
        return {};
    while (!text->empty() && text->back() == '\n')
        text->pop_back();
    return *text;
}

std::optional<ProcessFacts> processFacts(std::int64_t pid) {
    auto text = files::read(folderOf(pid) + "/stat", 1 << 16);
    if (!text)
        return {};
    // The name stands in parentheses and may hold any character, also ')' and spaces.
    const std::size_t open = text->find('(');
    const std::size_t close = text->rfind(')');
    if (open == std::string::npos || close == std::string::npos || close < open)
        return {};
    ProcessFacts facts;
    facts.name = text->substr(open + 1, close - open - 1);
    std::istringstream fields(text->substr(close + 1));
    fields >> facts.state >> facts.parent >> facts.group;
    std::string skipped;
    for (int field = 6; field < 22; ++field)
        fields >> skipped;
    facts.identity.pid = pid;
    if (!(fields >> facts.identity.startTime))
        return {};
    return facts;
}

std::vector<ProcessFacts> allProcesses() {
    std::vector<ProcessFacts> processes;
    std::error_code error;
    for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end;
         entry.increment(error)) {
        const std::string name = entry->path().filename().string();
        std::int64_t pid = 0;
        const auto [rest, status] = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (status != std::errc() || rest != name.data() + name.size())
            continue;
        if (auto facts = processFacts(pid))
            processes.push_back(std::move(*facts));
    }
    return processes;
}

bool isAlive(const Identity& identity) {
    const auto facts = processFacts(identity.pid);
    return facts && facts->identity == identity && !isZombie(*facts);
}

bool isAlive(const Identity& identity, const std::string& boot) {
    return boot == bootId() && isAlive(identity);
}

bool sendSignal(const Identity& identity, int signal) {
#ifdef SYS_pidfd_open
    const auto pid = static_cast<pid_t>(identity.pid);
    const detail::Descriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    // Once the handle is open its process cannot be replaced by another, so check after opening.
    if (handle.isOpen())
        return isAlive(identity) &&
               ::syscall(SYS_pidfd_send_signal, handle.get(), signal, nullptr, 0) == 0;
    if (errno != ENOSYS)
        return false;
#endif
    return isAlive(identity) && ::kill(static_cast<pid_t>(identity.pid), signal) == 0;
}

bool sendSignalToGroup(const Identity& leader, int signal) {
    const auto facts = processFacts(leader.pid);
    return facts && facts->identity == leader && facts->group == leader.pid &&
           ::killpg(static_cast<pid_t>(leader.pid), signal) == 0;
}

std::vector<ProcessFacts> processesOfRun(const std::string& run) {
    const std::string entry = std::string(kRunIdVariable) + "=" + run;
    std::vector<ProcessFacts> found;
    for (ProcessFacts& facts : allProcesses()) {
        struct stat info {};
        if (facts.identity.pid == ::getpid() || isZombie(facts) ||
            ::stat(folderOf(facts.identity.pid).c_str(), &info) != 0 || info.st_uid != ::geteuid())
            continue;
        const auto environment = files::read(folderOf(facts.identity.pid) + "/environ", 8 << 20);
        if (environment && hasEntry(*environment, entry))
            found.push_back(std::move(facts));
    }
    return found;
}

} // namespace lockstep::agent
