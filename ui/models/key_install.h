// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Puts this user's public key on a host that is still logged in to by password: makes a key where
// there is none, then adds one line to the host's authorized_keys. The host runs a fixed script;
// the key travels as data on its standard input. GUI thread.

#include "core/base/result.h"
#include "ui/models/ssh_access.h"

#include <QObject>
#include <QProcess>
#include <QTimer>

namespace lockstep::ui {

class KeyInstall final : public QObject {
    Q_OBJECT
public:
    enum class State { Idle, MakingKey, Connecting, Installing, Done, Failed, Cancelled };

    /// `folder` is where keys lie: ~/.ssh, but for tests.
    KeyInstall(SshAccess access, QString folder, QObject* parent = nullptr);
    ~KeyInstall() override;

    void start(const ssh::Destination& destination);
    void cancel();
    State state() const { return m_state; }
    bool isRunning() const { return m_state > State::Idle && m_state < State::Done; }
    QString words() const;
    const std::optional<Error>& error() const { return m_error; }
    /// The private key; its public part is in ".pub".
    QString keyFile() const;

Q_SIGNALS:
    void changed();

private:
    void setState(State state);
    void fail(const Error& error);
    void makeKey();
    void connectTo();
    void install();
    void received(const QByteArray& bytes);

    SshAccess m_access;
    QString m_folder;
    ssh::Destination m_destination;
    State m_state = State::Idle;
    std::optional<Error> m_error;
    QByteArray m_publicKey;
    std::unique_ptr<QObject> m_attempt;
    std::unique_ptr<QProcess> m_keygen;
    std::unique_ptr<ssh::Connection> m_connection;
    std::unique_ptr<ssh::Channel> m_channel;
    QByteArray m_output;
    bool m_isSent = false;
    bool m_wasThere = false;
    bool m_wasMade = false;
    QTimer m_deadline;
};

} // namespace lockstep::ui
