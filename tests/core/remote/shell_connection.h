// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// An ssh::Connection without SSH: its channels are login shells of this machine, started as sshd
// starts them (`$SHELL -c WORDS`), in a home folder of their own. It can break and stand still.

#include "core/ssh/connection.h"

#include <QPointer>
#include <QProcess>
#include <QProcessEnvironment>
#include <QTemporaryDir>

#include <vector>

namespace lockstep::remote {

class ShellConnection;

class ShellChannel : public ssh::Channel {
    Q_OBJECT
public:
    ShellChannel(ShellConnection& connection, const QByteArray& words);
    ~ShellChannel() override;

    void write(const QByteArray& bytes) override;
    qint64 bytesToWrite() const override { return m_process ? m_process->bytesToWrite() : 0; }
    void closeWrite() override;
    void close() override { end(Error{Code::Cancelled, "The channel was closed.", {}}); }
    bool isClosed() const override { return m_isClosed; }

    void end(const Result<ssh::Exit>& how);

private:
    QPointer<ShellConnection> m_connection;
    QProcess* m_process; ///< goes to the connection's care when the channel closes, as under sshd
    bool m_isClosed = false;
};

class ShellConnection : public ssh::Connection {
    Q_OBJECT
public:
    explicit ShellConnection(const QString& shell = QStringLiteral("/bin/sh"));
    ~ShellConnection() override;

    QString name() const override { return QStringLiteral("someone@test"); }
    State state() const override { return m_state; }
    void open(std::function<void(Status)> done) override;
    void close() override;
    std::unique_ptr<ssh::Channel> exec(const QByteArray& words) override;

    /// As when the network goes away.
    void breakOff();
    /// That many more bytes go to the far end before it breaks off; 0: never.
    void breakAfter(qint64 bytes) { m_left = bytes; }
    /// A person is asked on the next open(), until answer().
    void askOnOpen() { m_isAsking = true; }
    void answer();

    QString home() const { return m_home.path(); }
    QString write(const QString& name, const QByteArray& bytes); ///< in home; its path
    QProcessEnvironment& environment() { return m_environment; }
    /// Program and first arguments before the shell.
    void setPrefix(const QStringList& prefix) { m_prefix = prefix; }
    int opens = 0;
    int shells = 0;
    qint64 bytesSent = 0;

private:
    friend class ShellChannel;
    void setState(State state);

    QString m_shell;
    QTemporaryDir m_home;
    QProcessEnvironment m_environment;
    QStringList m_prefix;
    State m_state = State::Closed;
    qint64 m_left = 0;
    bool m_isAsking = false;
    bool m_isCut = false; ///< nothing gets through any more
    std::vector<std::function<void(Status)>> m_waiters;
    QList<ShellChannel*> m_channels;
};

} // namespace lockstep::remote
