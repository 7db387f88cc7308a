// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/agent/detail/supervisor.h"

#include "core/agent/detail/descriptor.h"
#include "core/agent/detail/explain.h"
#include "core/agent/process.h"
#include "core/base/clock.h"
#include "core/base/files.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <vector>

namespace lockstep::agent::detail {

namespace {

using std::chrono::steady_clock;

constexpr auto kCleanUpDeadline = std::chrono::seconds(5);
constexpr long kLookNanoseconds = 40'000'000; ///< how exactly output is timed
constexpr int kRecordAttempts = 30;           ///< one a second, for a disk that is full for a while

/// What the child could not do, sent over the close-on-exec pipe.
struct ChildFailure {
    enum class Stage { Orphaned, EnterFolder, Execute };
    Stage stage;
    int error;
};

sigset_t watchedSignals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    return set;
}

void closeOthers(const std::vector<int>& kept) {
    std::vector<int> open;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error))
        open.push_back(std::atoi(entry.path().filename().c_str()));
    for (const int fd : open) {
        bool keep = fd <= STDERR_FILENO;
        for (const int wanted : kept)
            keep = keep || fd == wanted;
        if (!keep)
            ::close(fd);
    }
}

void pause(std::chrono::milliseconds time) {
    const timespec duration{time.count() / 1000, (time.count() % 1000) * 1'000'000};
    ::nanosleep(&duration, nullptr);
}

} // namespace

Supervisor::Supervisor(const SuperviseRequest& request, ChildEnvironment environment, int folder,
                       ChildLogs logs, int report)
    : m_request(request)
    , m_environment(std::move(environment))
    , m_folder(folder)
    , m_logs(logs)
    , m_report(report) {}

void Supervisor::run() {
    detach();
    if (const Status started = startChild(); !started) {
        recordStartFailure(started.error());
        writeAll(m_report, encode(started.error()));
        return;
    }
    writeAll(m_report,
             encode(SuperviseReply{m_state.process, m_state.supervisor, m_environment.dropped}));
    ::close(m_report);
    const int status = waitForChild();
    killDescendants();
    lookAtLogs();
    recordExit(status);
}

void Supervisor::detach() {
    closeOthers({m_folder, m_logs.out, m_logs.err, m_logs.outClock->descriptor(),
                 m_logs.errClock->descriptor(), m_report});
    const int null = ::open("/dev/null", O_RDWR);
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        ::dup2(null, standard);
    if (null > STDERR_FILENO)
        ::close(null);
    ::signal(SIGHUP, SIG_IGN);
    ::signal(SIGPIPE, SIG_IGN);
    const sigset_t watched = watchedSignals();
    ::sigprocmask(SIG_BLOCK, &watched, nullptr);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (::chdir("/") != 0) {
        // Stays where it is: that only keeps a file system busy.
    }
}

Status Supervisor::startChild() {
    auto gate = makePipe();
    if (!gate)
        return gate.error();
    auto failure = makePipe();
    if (!failure)
        return failure.error();
    const pid_t self = ::getpid();
    m_child = ::fork();
    if (m_child < 0)
        return files::fromErrno(errno, "fork", m_request.program);
    if (m_child == 0) {
        gate->write.close();
        becomeChild(gate->read.get(), failure->write.get(), self);
    }
    ::setpgid(m_child, m_child); // the child does the same: whoever comes first
    failure->write.close();

    m_state.run = m_request.run;
    m_state.task = m_request.task;
    m_state.attempt = m_request.attempt;
    m_state.program = m_request.program;
    m_state.bootId = bootId();
    m_state.startedAt = Clock::system().utcSeconds();
    for (Identity* identity : {&m_state.process, &m_state.supervisor}) {
        const auto facts = processFacts(identity == &m_state.process ? m_child : self);
        if (!facts)
            return Error{Code::Internal, "/proc does not show the processes of this user.",
                         "/proc"};
        *identity = facts->identity;
    }
    // The child waits at the gate until state.json names it, so no byte of it comes before that.
    LOCKSTEP_TRY(writeState());
    return openGate(gate->write.get(), failure->read.get());
}

Status Supervisor::openGate(int gate, int failure) {
    writeAll(gate, "g");
    ChildFailure report{};
    ssize_t got = 0;
    do {
        got = ::read(failure, &report, sizeof report);
    } while (got < 0 && errno == EINTR);
    if (got != static_cast<ssize_t>(sizeof report))
        return {}; // closed by exec
    if (report.stage == ChildFailure::Stage::EnterFolder)
        return files::fromErrno(report.error, "enter",
                                m_request.cwd.empty() ? m_request.runDir : m_request.cwd);
    return whyNotExecuted(m_request.program,
                          m_request.cwd.empty() ? m_request.runDir : m_request.cwd, searchPath(),
                          report.error);
}

/// Where the child looks for programs.
std::string Supervisor::searchPath() const {
    const char* own = std::getenv("PATH");
    std::string path = own ? own : "/bin:/usr/bin"; // as execvp does
    for (const auto& [name, value] : m_environment.set)
        if (name == "PATH")
            path = value;
    return path;
}

void Supervisor::becomeChild(int gate, int failure, pid_t supervisor) {
    const auto fail = [&](ChildFailure::Stage stage) {
        const ChildFailure report{stage, errno};
        writeAll(failure, {reinterpret_cast<const char*>(&report), sizeof report});
        ::_exit(127);
    };
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // The supervisor may have died before the line above: then nobody would kill us.
    if (::getppid() != supervisor)
        ::_exit(127);
    for (int signal = 1; signal < NSIG; ++signal)
        ::signal(signal, signal == SIGHUP ? SIG_IGN : SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::dup2(m_logs.out, STDOUT_FILENO);
    ::dup2(m_logs.err, STDERR_FILENO);
    for (const std::string& name : m_environment.dropped)
        ::unsetenv(name.c_str());
    for (const auto& [name, value] : m_environment.set)
        ::setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> arguments{const_cast<char*>(m_request.program.c_str())};
    for (const std::string& argument : m_request.args)
        arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);

    char go = 0;
    ssize_t got = 0;
    do {
        got = ::read(gate, &go, 1);
    } while (got < 0 && errno == EINTR);
    if (got != 1)
        ::_exit(127);
    if (::chdir((m_request.cwd.empty() ? m_request.runDir : m_request.cwd).c_str()) != 0)
        fail(ChildFailure::Stage::EnterFolder);
    // execvp would hand a file of the wrong format to a shell.
    if (m_request.program.find('/') != std::string::npos)
        ::execv(m_request.program.c_str(), arguments.data());
    else
        ::execvp(m_request.program.c_str(), arguments.data());
    fail(ChildFailure::Stage::Execute);
    ::_exit(127);
}

int Supervisor::waitForChild() {
    const sigset_t watched = watchedSignals();
    for (;;) {
        siginfo_t ended{};
        while (::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid != 0) {
            int status = 0;
            // While the leader is a zombie no other group can have its number: kill, then reap.
            if (ended.si_pid == m_child)
                ::killpg(m_child, SIGKILL);
            ::waitpid(ended.si_pid, &status, 0);
            if (ended.si_pid == m_child)
                return status;
            ended = {};
        }
        lookAtLogs();
        const timespec moment{0, kLookNanoseconds};
        const int signal = ::sigtimedwait(&watched, nullptr, &moment);
        if (signal == SIGTERM || signal == SIGINT)
            ::killpg(m_child, SIGTERM);
    }
}

void Supervisor::lookAtLogs() {
    m_logs.outClock->look();
    m_logs.errClock->look();
}

void Supervisor::killDescendants() {
    const sigset_t watched = watchedSignals();
    const auto deadline = steady_clock::now() + kCleanUpDeadline;
    const pid_t self = ::getpid();
    // As the subreaper we are the parent of every orphan below us, sooner or later.
    while (steady_clock::now() < deadline) {
        pid_t reaped = 0;
        do {
            reaped = ::waitpid(-1, nullptr, WNOHANG);
        } while (reaped > 0);
        if (reaped < 0 && errno == ECHILD)
            return;
        for (const ProcessFacts& process : allProcesses())
            if (process.parent == self)
                sendSignal(process.identity, SIGKILL);
        const timespec moment{0, 20'000'000};
        ::sigtimedwait(&watched, nullptr, &moment);
    }
}

void Supervisor::recordExit(int status) {
    m_state.phase = Phase::Exited;
    m_state.endedAt = Clock::system().utcSeconds();
    if (WIFSIGNALED(status))
        m_state.signal = WTERMSIG(status);
    else
        m_state.exitCode = WEXITSTATUS(status);
    for (int attempt = 0; attempt < kRecordAttempts && !writeState(); ++attempt)
        pause(std::chrono::seconds(1));
}

void Supervisor::recordStartFailure(const Error& error) {
    if (m_child > 0) {
        ::kill(m_child, SIGKILL);
        ::waitpid(m_child, nullptr, 0);
    }
    m_state.phase = Phase::Exited;
    m_state.endedAt = Clock::system().utcSeconds();
    m_state.problem = lockstep::describe(error);
    if (m_state.process.pid > 0 && !writeState()) {
        // The caller is told over the pipe; there is no other place to say it.
    }
}

Status Supervisor::writeState() {
    return files::writeAtomic(m_request.runDir + '/' + kStateFile, encodeFile(m_state),
                              files::Durability::Renamed);
}

} // namespace lockstep::agent::detail
