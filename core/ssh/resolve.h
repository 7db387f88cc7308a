// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// What a destination means to OpenSSH: the effective values of ~/.ssh/config, asked from `ssh -G`,
// so that a connection of ours goes where the user's own ssh would go (ssh_config(5)).

#include "core/ssh/destination.h"

#include <QByteArray>
#include <QList>
#include <QObject>
#include <QString>
#include <QStringList>

#include <chrono>
#include <functional>

namespace lockstep::ssh {

struct Resolved {
    QString hostname; ///< to connect to: a name or an address without brackets
    int port = 22;
    QString user;
    QStringList identityFiles; ///< that exist or were named; ~ expanded
    bool identitiesOnly = false;
    QString identityAgent; ///< a socket's path; empty: $SSH_AUTH_SOCK; "none": no agent
    QStringList userKnownHosts;
    QStringList globalKnownHosts;
    QString hostKeyAlias; ///< known under this name instead of hostname; often empty
    bool hashKnownHosts = false;
    QString proxyCommand;     ///< tokens expanded; empty: none
    QList<Destination> jumps; ///< in the order in which they are passed
    int aliveInterval = 15;   ///< seconds; 0 in the configuration means this default
    int aliveCountMax = 3;
    int connectTimeout = 15; ///< seconds
    bool publicKey = true;
    bool password = true;
    bool interactive = true;
    QStringList notes; ///< what a person should know: options of theirs that we do not follow

    /// "alice@n0:2222", the port only where it is not 22.
    QString text() const;
};

struct ResolveOptions {
    QString program = QStringLiteral("ssh");
    QString configFile; ///< empty: the user's and the system's
    std::chrono::milliseconds deadline{5000};
};

/// Runs `ssh -G` and calls `done` once, later, from the event loop of the calling thread; never
/// after `context` is gone. Errors: NotFound (no ssh program), InvalidArgument (the configuration's
/// own error, with file and line), TimedOut.
void resolve(const Destination& destination, const ResolveOptions& options, QObject* context,
             std::function<void(Result<Resolved>)> done);

/// The output of `ssh -G` as values.
Result<Resolved> parseResolved(const QByteArray& output, const Destination& destination);

} // namespace lockstep::ssh
