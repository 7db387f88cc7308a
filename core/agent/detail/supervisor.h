// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The life of a supervisor: a process with one thread that owns one child.

#include "core/agent/protocol.h"

#include <sys/types.h>

namespace lockstep::agent::detail {

class Supervisor {
public:
    /// All must outlive run(). The descriptors: the locked folder, the two logs, and the pipe that
    /// takes one line, a SuperviseReply or an Error.
    Supervisor(const SuperviseRequest& request, const Pairs& environment, int folder, int out,
               int err, int report);

    /// Starts the child, reports, waits for its end, cleans up, writes the exit record.
    void run();

private:
    void detach();
    Status startChild();
    [[noreturn]] void becomeChild(int gate, int failure, pid_t supervisor);
    Status openGate(int gate, int failure);
    int waitForChild();
    void killDescendants();
    void recordExit(int status);
    void recordStartFailure(const Error& error);
    Status writeState();

    const SuperviseRequest& m_request;
    const Pairs& m_environment;
    int m_folder;
    int m_out;
    int m_err;
    int m_report;
    pid_t m_child = -1;
    ProcessState m_state;
};

} // namespace lockstep::agent::detail
