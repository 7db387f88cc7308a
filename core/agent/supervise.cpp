// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/agent/supervise.h"

#include "core/agent/detail/descriptor.h"
#include "core/agent/detail/output_clock.h"
#include "core/agent/detail/supervisor.h"
#include "core/agent/process.h"
#include "core/base/environment.h"
#include "core/base/files.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>

namespace lockstep::agent {

namespace {

using detail::Descriptor;
using std::chrono::steady_clock;

constexpr auto kStartDeadline = std::chrono::seconds(30);

/// A lock on the folder that the supervisor holds for its life. A file system without locks gives
/// an open folder without one; then state.json alone tells.
Result<Descriptor> lockFolder(const std::string& folder) {
    Descriptor handle(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!handle.isOpen())
        return files::fromErrno(errno, "open", folder);
    if (::flock(handle.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return Error{Code::AlreadyExists,
                     "A supervised process lives in this folder already; stop it first.", folder};
    return handle;
}

Status refuseLiveState(const std::string& folder) {
    const std::string path = folder + '/' + kStateFile;
    const auto text = files::read(path, 1 << 20);
    if (!text)
        return text.error().code == Code::NotFound ? Status{} : Status{text.error()};
    const auto state = decodeFile(*text, path);
    if (!state)
        return state.error();
    if (state->phase == Phase::Running &&
        (isAlive(state->process, state->bootId) || isAlive(state->supervisor, state->bootId)))
        return Error{Code::AlreadyExists,
                     "The process " + std::to_string(state->process.pid) +
                         " lives in this folder already; stop it first.",
                     folder};
    return {};
}

Result<Pairs> environmentOf(const SuperviseRequest& request) {
    Pairs environment = request.env;
    for (const auto& [variable, file] : request.envFiles) {
        auto bytes = files::read(request.runDir + '/' + file, 1 << 20);
        if (!bytes)
            return bytes.error();
        environment.emplace_back(variable, std::move(bytes).value());
    }
    environment.emplace_back(kRunIdVariable, request.run);
    for (const auto& [name, value] : environment)
        if (!isVariableName(name) || value.find('\0') != std::string::npos)
            return Error{Code::InvalidArgument,
                         "The environment variable \"" + name +
                             "\" cannot be set: a name is letters, digits and underscores, and "
                             "the value may not hold a NUL.",
                         "env"};
    return environment;
}

/// Names of our own environment that are none to a shell: exported functions of bash, names with
/// dots. A program that starts a shell would stumble over them.
std::vector<std::string> oddNames() {
    std::vector<std::string> names;
    for (char** entry = environ; entry && *entry; ++entry) {
        const std::string_view text = *entry;
        const std::string_view name = text.substr(0, text.find('='));
        if (!name.empty() && !isVariableName(name))
            names.emplace_back(name);
    }
    return names;
}

Result<Descriptor> openLog(const std::string& path) {
    Descriptor log(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    if (!log.isOpen())
        return files::fromErrno(errno, "open", path);
    return log;
}

/// The supervisor's one line, or "" when it ended without one or the deadline passed.
std::string readReport(int fd) {
    const auto deadline = steady_clock::now() + kStartDeadline;
    std::string text;
    while (text.empty() || text.back() != '\n') {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(deadline - steady_clock::now());
        pollfd waiting{fd, POLLIN, 0};
        const int ready =
            ::poll(&waiting, 1, static_cast<int>(std::max<std::int64_t>(0, left.count())));
        if (ready < 0 && errno == EINTR)
            continue;
        char block[4096];
        const ssize_t got = ready > 0 ? ::read(fd, block, sizeof block) : 0;
        if (got <= 0)
            return {};
        text.append(block, static_cast<std::size_t>(got));
    }
    text.pop_back();
    return text;
}

} // namespace

Result<SuperviseReply> supervise(const SuperviseRequest& request) {
    LOCKSTEP_TRY(files::makeFolders(request.runDir));
    auto lock = lockFolder(request.runDir);
    if (!lock)
        return lock.error();
    LOCKSTEP_TRY(refuseLiveState(request.runDir));
    auto environment = environmentOf(request);
    if (!environment)
        return environment.error();
    auto out = openLog(request.runDir + '/' + kStdoutFile);
    if (!out)
        return out.error();
    auto err = openLog(request.runDir + '/' + kStderrFile);
    if (!err)
        return err.error();
    const auto clockOf = [&](const Descriptor& log, const char* name) {
        return detail::OutputClock(log.get(), request.runDir + '/' + name);
    };
    detail::OutputClock outClock = clockOf(*out, kStdoutTimesFile);
    detail::OutputClock errClock = clockOf(*err, kStderrTimesFile);
    auto report = detail::makePipe();
    if (!report)
        return report.error();

    // A caller that ignores its children would have ours reaped before we see how they ended.
    ::signal(SIGCHLD, SIG_DFL);
    const pid_t between = ::fork();
    if (between < 0)
        return files::fromErrno(errno, "fork", request.program);
    if (between == 0) {
        // A session leader's child can never get a terminal, and init or the next subreaper adopts
        // it when this one ends.
        ::setsid();
        if (::fork() != 0)
            ::_exit(0);
        detail::Supervisor(request, {*environment, oddNames()}, lock->get(),
                           {out->get(), err->get(), &outClock, &errClock}, report->write.get())
            .run();
        ::_exit(0);
    }
    report->write.close();
    while (::waitpid(between, nullptr, 0) < 0 && errno == EINTR) {
    }
    const std::string line = readReport(report->read.get());
    if (line.empty())
        return Error{Code::Internal, "The supervisor ended before the program was started.",
                     request.runDir};
    return decodeSuperviseReply(line);
}

} // namespace lockstep::agent
