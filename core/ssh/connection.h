// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// One SSH connection and the programs that run over it, as those who use it see it. What happens on
// the wire is the business of a thread of its own (ssh_client.h).
// Threads: lives in the caller's thread, which needs an event loop; nothing here blocks it. Signals
// and callbacks come later, from the event loop.

#include "core/base/result.h"

#include <QByteArray>
#include <QObject>
#include <QString>

#include <functional>
#include <memory>

namespace lockstep::ssh {

/// How the program at the other end of a channel ended.
struct Exit {
    int exitCode = 0; ///< valid where signal is empty
    QString signal;   ///< "KILL", "TERM", … or empty
};

/// A program at the far end. Destroying it closes the channel.
class Channel : public QObject {
    Q_OBJECT
public:
    using QObject::QObject;

    /// Queues bytes for the program's standard input; written() tells when they left.
    virtual void write(const QByteArray& bytes) = 0;
    /// Bytes queued and not yet on the wire. Callers keep this below a few MiB.
    virtual qint64 bytesToWrite() const = 0;
    /// End of file on the program's standard input, after what is queued.
    virtual void closeWrite() = 0;
    /// Closes the channel; closed(Cancelled) follows.
    virtual void close() = 0;
    virtual bool isClosed() const = 0;

Q_SIGNALS:
    void received(const QByteArray& bytes);
    void errorReceived(const QByteArray& bytes);
    void written(qint64 bytes);
    /// Once, last: how the program ended, or why the channel could not be opened or broke.
    void closed(const lockstep::Result<lockstep::ssh::Exit>& end);
};

class Connection : public QObject {
    Q_OBJECT
public:
    enum class State {
        Closed,
        Connecting,     ///< name, TCP, jump hosts, key exchange
        Authenticating, ///< host key known
        Asking,         ///< a person is asked: deadlines rest
        Open,
    };
    Q_ENUM(State)
    using QObject::QObject;

    /// For people: "alice@n0:2222".
    virtual QString name() const = 0;
    virtual State state() const = 0;

    /// Connects and authenticates. `done` once; at once-later success where it is open already. A
    /// second call while one is under way gets the same answer. After a loss it may be opened again
    /// (secrets that were given are kept in memory for that).
    virtual void open(std::function<void(Status)> done) = 0;
    /// Ends everything within a second; open() answers Cancelled, channels are closed(Cancelled).
    virtual void close() = 0;

    /// Starts the login shell with these words (no user data ever; callers pass "exec /bin/sh").
    /// Needs State::Open, else the channel is closed with Unreachable.
    virtual std::unique_ptr<Channel> exec(const QByteArray& words) = 0;

Q_SIGNALS:
    void stateChanged(lockstep::ssh::Connection::State state);
    /// A hop's login banner, untrusted text: for details, never parsed.
    void bannerReceived(const QString& hop, const QString& text);
    /// An open connection broke (keep-alive unanswered, reset, far end gone). Channels close first.
    void lost(const lockstep::Error& error);
};

} // namespace lockstep::ssh
