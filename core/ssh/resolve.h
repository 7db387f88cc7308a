// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// What a destination means to OpenSSH: the effective values of ~/.ssh/config, asked from `ssh -G`,
// so that a connection of ours goes where the user's own ssh would go (ssh_config(5)). Without an
// OpenSSH client our own parser reads the files (config_parser.h) and gives the same.

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
    QStringList hostKeyAlgorithms; ///< that we can check, in the configuration's order
    QString strictHostKeyChecking = QStringLiteral("ask"); ///< told only: we are always strict
    QString addressFamily;                                 ///< "any", "inet" or "inet6"
    QString proxyCommand; ///< a line for a shell, tokens expanded; empty: none
    /// In the order in which they are passed, with the jump hosts of jump hosts: the first of them
    /// is reached directly (or by its own ProxyCommand).
    QList<Destination> jumps;
    int aliveInterval = 15; ///< seconds; 0 in the configuration means this default
    int aliveCountMax = 3;
    int connectTimeout = 15; ///< seconds
    bool publicKey = true; ///< these three are false also where PreferredAuthentications omits them
    bool password = true;
    bool interactive = true;
    QStringList preferredAuthentications; ///< empty: OpenSSH's order
    QStringList notes; ///< what a person should know: options of theirs that we do not follow

    /// "alice@n0:2222", the port only where it is not 22.
    QString text() const;
    bool operator==(const Resolved&) const = default;
};

struct ResolveOptions {
    QString program = QStringLiteral("ssh");  ///< empty: our own parser
    QString configFile;                       ///< empty: the user's and the system's
    std::chrono::milliseconds deadline{5000}; ///< for each host of the way
};

/// Asks `ssh -G`, or our own parser where there is no such program, for the destination and for
/// every jump host, and calls `done` once, later, from the event loop of the calling thread; never
/// after `context` is gone. Errors: InvalidArgument (the configuration's own error, with file and
/// line; jump hosts that lead in a circle), Unsupported, TimedOut.
void resolve(const Destination& destination, const ResolveOptions& options, QObject* context,
             std::function<void(Result<Resolved>)> done);

/// The output of `ssh -G` as values; `jumps` are only those that it names.
Result<Resolved> parseResolved(const QByteArray& output, const Destination& destination);

} // namespace lockstep::ssh
