// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The commands of "Match exec", run as OpenSSH runs them: by the user's shell, without input.
// Blocking; any QThread.

#include "core/base/result.h"

#include <QDeadlineTimer>
#include <QString>

#include <atomic>
#include <chrono>

namespace lockstep::ssh::detail {

class MatchCommands {
public:
    /// `deadline` is for all commands together. `isCancelled` may be null.
    MatchCommands(std::chrono::milliseconds deadline, const std::atomic<bool>* isCancelled);

    /// Whether the command ended with 0. TimedOut and Cancelled: it and what it started are killed.
    Result<bool> run(const QString& command);

private:
    QDeadlineTimer m_deadline;
    const std::atomic<bool>* m_isCancelled;
};

} // namespace lockstep::ssh::detail
