// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/ssh/detail/match_command.h"

#include <QProcess>

#include <signal.h>
#include <unistd.h>

namespace lockstep::ssh::detail {

namespace {

constexpr int kLook = 50; ///< milliseconds between two looks at the flag

} // namespace

MatchCommands::MatchCommands(std::chrono::milliseconds deadline,
                             const std::atomic<bool>* isCancelled)
    : m_deadline(deadline)
    , m_isCancelled(isCancelled) {}

Result<bool> MatchCommands::run(const QString& command) {
    QProcess process;
    process.setStandardInputFile(QProcess::nullDevice());
    process.setStandardOutputFile(QProcess::nullDevice());
    process.setStandardErrorFile(QProcess::nullDevice());
    // A session of its own: no terminal to ask on, and one signal reaches all that it starts.
    process.setChildProcessModifier([] { ::setsid(); });
    process.start(qEnvironmentVariable("SHELL", QStringLiteral("/bin/sh")),
                  {QStringLiteral("-c"), command});
    const auto isWanted = [&] {
        return !m_deadline.hasExpired() && !(m_isCancelled && *m_isCancelled);
    };
    bool hasEnded = false;
    while (isWanted() && !hasEnded)
        hasEnded = process.waitForFinished(kLook) || process.state() == QProcess::NotRunning;
    if (!hasEnded) {
        if (process.processId() > 0)
            ::kill(static_cast<pid_t>(-process.processId()), SIGKILL);
        process.kill();
        process.waitForFinished(1000);
        return Error{m_deadline.hasExpired() ? Code::TimedOut : Code::Cancelled,
                     "The command of \"Match exec\" did not end in time: " + command.toStdString(),
                     {}};
    }
    if (process.error() == QProcess::FailedToStart || process.exitStatus() != QProcess::NormalExit)
        return Error{Code::InvalidArgument,
                     "The command of \"Match exec\" could not be run: " + command.toStdString(),
                     {}};
    return process.exitCode() == 0;
}

} // namespace lockstep::ssh::detail
