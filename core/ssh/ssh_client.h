// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Makes SSH connections and keeps what they share: jump hosts, the number of handshakes at a time,
// secrets that a person gave. Thread: one, with an event loop; every connection does its work on a
// thread of its own. Must outlive its connections.

#include "core/ssh/connection.h"
#include "core/ssh/destination.h"
#include "core/ssh/prompter.h"
#include "core/ssh/resolve.h"

#include <QObject>
#include <QString>

#include <chrono>
#include <memory>

namespace lockstep::ssh {

struct SshOptions {
    ResolveOptions resolve;
    /// One step of a handshake that waits for the other side, not for a person. Zero: the
    /// configuration's ConnectTimeout.
    std::chrono::milliseconds stepTimeout{0};
    /// Silence after which a sign of life is asked for. Zero: ServerAliveInterval.
    std::chrono::milliseconds aliveInterval{0};
    int handshakesAtOnce = 6; ///< per jump host, and for direct connections
    int attempts = 5;         ///< where sshd hangs up before its banner (MaxStartups)
};

class SshClient : public QObject {
    Q_OBJECT
public:
    /// `prompter` may be null: every question is declined.
    SshClient(SshOptions options, Prompter* prompter, QObject* parent = nullptr);
    ~SshClient() override;

    std::unique_ptr<Connection> connectionTo(const Destination& destination);

    class Private;

private:
    std::unique_ptr<Private> m_d;
};

} // namespace lockstep::ssh
