// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Our own reading of ssh_config(5), for machines without an OpenSSH client, and the list of hosts
// that a user's configuration names. What it does not understand it refuses: passing over an
// unknown condition would widen its block, and traffic would take another way than the user's own
// ssh. Blocking (small files, and the commands of "Match exec" up to the deadline); any thread.

#include "core/base/result.h"
#include "core/ssh/destination.h"

#include <QHash>
#include <QString>
#include <QStringList>

#include <atomic>
#include <chrono>

namespace lockstep::ssh {

/// Keywords in lower case and what the configuration says, in the words of `ssh -G`.
using ConfigValues = QHash<QString, QStringList>;

struct ConfigRequest {
    Destination destination;
    QString configFile; ///< as ssh -F takes it; empty: the user's and the system's
    QString systemFile = QStringLiteral("/etc/ssh/ssh_config");
    std::chrono::milliseconds deadline{5000};       ///< for all commands of "Match exec" together
    const std::atomic<bool>* isCancelled = nullptr; ///< looked at while a command runs
};

/// The values in force for a destination, with OpenSSH's defaults for those that decide where a
/// connection goes. Errors have "file:line" as their place: InvalidArgument (not understood),
/// PermissionDenied, Unsupported (Match canonical and the like), TimedOut, Cancelled.
Result<ConfigValues> readConfig(const ConfigRequest& request);

/// The plain names of all Host lines, included files too, in their order: hosts that a person may
/// tick. `configFile` empty: ~/.ssh/config; none there is an empty list. Lines that are wrong are
/// passed over; an Error only where the file cannot be read.
Result<QStringList> hostAliases(const QString& configFile = {});

} // namespace lockstep::ssh
