// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The life of a supervisor: a process with one thread that owns one child.

#include "core/agent/detail/output_clock.h"
#include "core/agent/protocol.h"

#include <sys/types.h>

#include <string>
#include <vector>

namespace lockstep::agent::detail {

/// What the child's environment has beside the supervisor's own, and what it has not.
struct ChildEnvironment {
    Pairs set;
    std::vector<std::string> dropped;
};

struct ChildLogs {
    int out;
    int err;
    OutputClock* outClock;
    OutputClock* errClock;
};

class Supervisor {
public:
    /// The request and what the logs point to must outlive run(). The descriptors: the locked
    /// folder, and the pipe that takes one line, a SuperviseReply or an Error.
    Supervisor(const SuperviseRequest& request, ChildEnvironment environment, int folder,
               ChildLogs logs, int report);

    /// Starts the child, reports, waits for its end, cleans up, writes the exit record.
    void run();

private:
    void detach();
    Status startChild();
    [[noreturn]] void becomeChild(int gate, int failure, pid_t supervisor);
    Status openGate(int gate, int failure);
    std::string searchPath() const;
    int waitForChild();
    void lookAtLogs();
    void killDescendants();
    void recordExit(int status);
    void recordStartFailure(const Error& error);
    Status writeState();

    const SuperviseRequest& m_request;
    ChildEnvironment m_environment;
    int m_folder;
    ChildLogs m_logs;
    int m_report;
    pid_t m_child = -1;
    ProcessState m_state;
};

} // namespace lockstep::agent::detail
