// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/agent/detail/capture.h"

#include "core/agent/detail/descriptor.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

extern char** environ;

namespace lockstep::agent::detail {

namespace {

std::vector<char*> environmentInC(std::string& locale) {
    std::vector<char*> list;
    for (char** entry = environ; entry && *entry; ++entry)
        if (std::strncmp(*entry, "LC_ALL=", 7) != 0)
            list.push_back(*entry);
    list.push_back(locale.data());
    list.push_back(nullptr);
    return list;
}

void readUntil(int fd, std::chrono::steady_clock::time_point deadline, std::string& out) {
    for (;;) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            deadline - std::chrono::steady_clock::now());
        if (left.count() <= 0 || out.size() > (1u << 20))
            return;
        pollfd waiting{fd, POLLIN, 0};
        if (::poll(&waiting, 1, static_cast<int>(left.count())) < 0 && errno != EINTR)
            return;
        if (!waiting.revents)
            continue;
        char block[4096];
        const ssize_t got = ::read(fd, block, sizeof block);
        if (got <= 0)
            return;
        out.append(block, static_cast<std::size_t>(got));
    }
}

/// The wait status, once the process is over or was killed at the deadline.
int reap(pid_t pid, std::chrono::steady_clock::time_point deadline) {
    int status = 0;
    while (::waitpid(pid, &status, WNOHANG) == 0) {
        if (std::chrono::steady_clock::now() >= deadline) {
            ::kill(pid, SIGKILL);
            ::waitpid(pid, &status, 0);
            break;
        }
        ::poll(nullptr, 0, 2); // it closed its output and is about to end
    }
    return status;
}

} // namespace

Captured capture(const std::vector<std::string>& argv, int deadlineMs) {
    Captured captured;
    auto pipe = makePipe();
    if (!pipe)
        return captured;
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, pipe->write.get(), 1);
    ::posix_spawn_file_actions_adddup2(&actions, pipe->write.get(), 2);
    std::vector<std::string> words = argv;
    std::vector<char*> pointers;
    for (std::string& word : words)
        pointers.push_back(word.data());
    pointers.push_back(nullptr);
    std::string locale = "LC_ALL=C";
    pid_t pid = -1;
    captured.started = ::posix_spawn(&pid, argv[0].c_str(), &actions, nullptr, pointers.data(),
                                     environmentInC(locale).data()) == 0;
    ::posix_spawn_file_actions_destroy(&actions);
    pipe->write.close();
    if (!captured.started)
        return captured;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(deadlineMs);
    readUntil(pipe->read.get(), deadline, captured.out);
    const int status = reap(pid, deadline);
    captured.exitCode = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return captured;
}

} // namespace lockstep::agent::detail
