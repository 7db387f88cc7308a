// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "tests/ui/support/made_up_ssh.h"

#include <QProcessEnvironment>
#include <QTimer>

#include <utility>

namespace lockstep::ui {

ShellChannel::ShellChannel(const MadeUpHost& host) {
    auto environment = QProcessEnvironment::systemEnvironment();
    environment.insert(QStringLiteral("HOME"), host.home);
    m_process.setProcessEnvironment(environment);
    connect(&m_process, &QProcess::readyReadStandardOutput, this,
            [this] { Q_EMIT received(m_process.readAllStandardOutput()); });
    connect(&m_process, &QProcess::finished, this, [this](int code) {
        m_isClosed = true;
        Q_EMIT closed(ssh::Exit{code, {}});
    });
    m_process.start(host.shell.isEmpty() ? QStringLiteral("/bin/sh") : host.shell);
}

ShellChannel::~ShellChannel() {
    m_process.disconnect(this);
    m_process.kill();
    m_process.waitForFinished(5000);
}

void ShellChannel::write(const QByteArray& bytes) {
    m_process.write(bytes);
}

void ShellChannel::closeWrite() {
    m_process.closeWriteChannel();
}

void ShellChannel::close() {
    m_process.kill();
}

MadeUpConnection::MadeUpConnection(MadeUpHost* host, const ssh::Destination& destination)
    : m_host(host)
    , m_name(destination.text()) {
    ++m_host->alive;
}

void MadeUpConnection::setState(State state) {
    m_state = state;
    Q_EMIT stateChanged(state);
}

void MadeUpConnection::open(std::function<void(Status)> done) {
    ++m_host->opened;
    QTimer::singleShot(0, this, [this, done = std::move(done)] {
        setState(State::Connecting);
        if (m_host->neverAnswers)
            return;
        if (m_host->refuse)
            return done(*m_host->refuse);
        setState(State::Authenticating);
        setState(State::Open);
        Q_EMIT bannerReceived(m_name, QStringLiteral("Welcome.\nMaintenance on Sunday."));
        done({});
    });
}

void MadeUpConnection::close() {
    m_state = State::Closed;
}

std::unique_ptr<ssh::Channel> MadeUpConnection::exec(const QByteArray& words) {
    Q_ASSERT(words == "exec /bin/sh");
    Q_UNUSED(words);
    return std::make_unique<ShellChannel>(*m_host);
}

SshAccess madeUpAccess(MadeUpHost* host) {
    SshAccess access;
    access.connectionTo = [host](const ssh::Destination& destination) {
        return std::make_unique<MadeUpConnection>(host, destination);
    };
    access.resolve = [](const ssh::Destination& destination, QObject* context,
                        std::function<void(Result<ssh::Resolved>)> done) {
        ssh::Resolved where;
        where.hostname = destination.host + QStringLiteral(".lab.example");
        where.user = destination.user.isEmpty() ? QStringLiteral("alice") : destination.user;
        where.identityFiles = {QStringLiteral("/home/alice/.ssh/id_ed25519")};
        ssh::Destination gateway;
        gateway.host = QStringLiteral("gateway");
        where.jumps = {gateway};
        QTimer::singleShot(0, context, [done = std::move(done), where] { done(where); });
    };
    access.aliases = [] {
        return QStringList{QStringLiteral("n0"), QStringLiteral("n1"), QStringLiteral("n2"),
                           QStringLiteral("gpu-box")};
    };
    return access;
}

} // namespace lockstep::ui
