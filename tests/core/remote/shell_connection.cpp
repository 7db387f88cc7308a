// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "shell_connection.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QTimer>

namespace lockstep::remote {

ShellChannel::ShellChannel(ShellConnection& connection, const QByteArray& words)
    : m_connection(&connection)
    , m_process(new QProcess(&connection)) {
    connection.m_channels += this;
    QStringList command = connection.m_prefix;
    command += {connection.m_shell, QStringLiteral("-c"), QString::fromUtf8(words)};
    m_process->setProgram(command.takeFirst());
    m_process->setArguments(command);
    m_process->setProcessEnvironment(connection.m_environment);
    m_process->setWorkingDirectory(connection.home());
    connect(m_process, &QProcess::readyReadStandardOutput, this, [this] {
        const QByteArray bytes = m_process->readAllStandardOutput();
        if (!m_isClosed && !bytes.isEmpty())
            Q_EMIT received(bytes);
    });
    connect(m_process, &QProcess::readyReadStandardError, this, [this] {
        const QByteArray bytes = m_process->readAllStandardError();
        if (!m_isClosed && !bytes.isEmpty())
            Q_EMIT errorReceived(bytes);
    });
    connect(m_process, &QProcess::bytesWritten, this, [this](qint64 bytes) {
        if (!m_isClosed)
            Q_EMIT written(bytes);
    });
    connect(m_process, &QProcess::finished, this, [this](int code, QProcess::ExitStatus how) {
        end(how == QProcess::NormalExit ? ssh::Exit{code, {}}
                                        : ssh::Exit{0, QStringLiteral("KILL")});
    });
    m_process->start();
}

ShellChannel::~ShellChannel() {
    end(Error{Code::Cancelled, "The channel is gone.", {}});
}

void ShellChannel::write(const QByteArray& bytes) {
    if (m_isClosed || !m_connection || m_connection->m_isCut)
        return;
    ShellConnection& line = *m_connection;
    line.bytesSent += bytes.size();
    if (line.m_left > 0 && bytes.size() >= line.m_left) {
        m_process->write(bytes.left(line.m_left));
        line.m_left = 0;
        line.m_isCut = true;
        // What the far end took of it, it has.
        while (m_process->bytesToWrite() > 0 && m_process->waitForBytesWritten(5000)) {
        }
        QMetaObject::invokeMethod(
            &line, [&line] { line.breakOff(); }, Qt::QueuedConnection);
        return;
    }
    if (line.m_left > 0)
        line.m_left -= bytes.size();
    m_process->write(bytes);
}

void ShellChannel::closeWrite() {
    if (!m_isClosed)
        m_process->closeWriteChannel();
}

void ShellChannel::end(const Result<ssh::Exit>& how) {
    if (m_isClosed)
        return;
    m_isClosed = true;
    m_process->disconnect(this);
    // sshd closes the pipes; the program ends by itself.
    if (m_process->state() == QProcess::NotRunning) {
        m_process->deleteLater();
    } else {
        m_process->closeWriteChannel();
        m_process->closeReadChannel(QProcess::StandardOutput);
        m_process->closeReadChannel(QProcess::StandardError);
        QObject::connect(m_process, &QProcess::finished, m_process, &QObject::deleteLater);
    }
    if (m_connection)
        m_connection->m_channels.removeAll(this);
    Q_EMIT closed(how);
}

ShellConnection::ShellConnection(const QString& shell)
    : m_shell(shell)
    , m_home(QStringLiteral("/var/tmp/lockstep-home-XXXXXX")) { // tests cover /tmp
    m_environment.insert(QStringLiteral("HOME"), home());
    m_environment.insert(QStringLiteral("SHELL"), shell);
    m_environment.insert(QStringLiteral("PATH"), QStringLiteral("/usr/bin:/bin"));
    m_environment.insert(QStringLiteral("LC_ALL"), QStringLiteral("C"));
    // sshd's bash reads ~/.bashrc because its input is a socket; a pipe's does not.
    m_environment.insert(QStringLiteral("BASH_ENV"), home() + QStringLiteral("/.bashrc"));
}

ShellConnection::~ShellConnection() {
    const auto processes = findChildren<QProcess*>();
    for (ShellChannel* channel : QList<ShellChannel*>(m_channels))
        channel->end(Error{Code::Cancelled, "The connection is gone.", {}});
    for (QProcess* process : processes)
        if (process->state() != QProcess::NotRunning)
            process->waitForFinished(5000);
}

void ShellConnection::setState(State state) {
    if (m_state == state)
        return;
    m_state = state;
    Q_EMIT stateChanged(state);
}

void ShellConnection::open(std::function<void(Status)> done) {
    m_waiters.push_back(std::move(done));
    if (m_state != State::Closed && m_state != State::Open)
        return;
    if (m_state == State::Closed) {
        ++opens;
        setState(State::Connecting);
        if (m_isAsking)
            return setState(State::Asking);
    }
    QMetaObject::invokeMethod(
        this, [this] { answer(); }, Qt::QueuedConnection);
}

void ShellConnection::answer() {
    m_isAsking = false;
    m_isCut = false;
    setState(State::Open);
    for (const auto& done : std::exchange(m_waiters, {}))
        done({});
}

void ShellConnection::close() {
    setState(State::Closed);
    for (ShellChannel* channel : QList<ShellChannel*>(m_channels))
        channel->end(Error{Code::Cancelled, "The connection was closed.", {}});
}

void ShellConnection::breakOff() {
    const Error why{Code::Unreachable, "The network went away.", "test"};
    for (ShellChannel* channel : QList<ShellChannel*>(m_channels))
        channel->end(why);
    setState(State::Closed);
    Q_EMIT lost(why);
}

std::unique_ptr<ssh::Channel> ShellConnection::exec(const QByteArray& words) {
    ++shells;
    auto channel = std::make_unique<ShellChannel>(*this, words);
    if (m_state != State::Open)
        QMetaObject::invokeMethod(
            channel.get(),
            [channel = channel.get()] {
                channel->end(Error{Code::Unreachable, "The connection is not open.", {}});
            },
            Qt::QueuedConnection);
    return channel;
}

QString ShellConnection::write(const QString& name, const QByteArray& bytes) {
    const QString path = home() + u'/' + name;
    QDir().mkpath(QFileInfo(path).path());
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size())
        qFatal("cannot write %s", qPrintable(path));
    return path;
}

} // namespace lockstep::remote
