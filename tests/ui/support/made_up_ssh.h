// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Connections that lead to this machine's own /bin/sh, with a home folder of the test's, or to an
// error: what is sent over them is run for real.

#include "ui/models/ssh_access.h"

#include <QProcess>

#include <optional>

namespace lockstep::ui {

struct MadeUpHost {
    QString home;                ///< HOME of the shell
    QString shell;               ///< empty: /bin/sh
    std::optional<Error> refuse; ///< open() ends with this
    bool neverAnswers = false;   ///< open() never ends
    int opened = 0;
    int alive = 0; ///< connections that exist
};

class ShellChannel final : public ssh::Channel {
    Q_OBJECT
public:
    explicit ShellChannel(const MadeUpHost& host);
    ~ShellChannel() override;
    void write(const QByteArray& bytes) override;
    qint64 bytesToWrite() const override { return 0; }
    void closeWrite() override;
    void close() override;
    bool isClosed() const override { return m_isClosed; }

private:
    QProcess m_process;
    bool m_isClosed = false;
};

class MadeUpConnection final : public ssh::Connection {
    Q_OBJECT
public:
    MadeUpConnection(MadeUpHost* host, const ssh::Destination& destination);
    ~MadeUpConnection() override { --m_host->alive; }
    QString name() const override { return m_name; }
    State state() const override { return m_state; }
    void open(std::function<void(Status)> done) override;
    void close() override;
    std::unique_ptr<ssh::Channel> exec(const QByteArray& words) override;

private:
    void setState(State state);
    MadeUpHost* m_host;
    QString m_name;
    State m_state = State::Closed;
};

/// Everything resolves to `host`.lab.example at port 22.
SshAccess madeUpAccess(MadeUpHost* host);

} // namespace lockstep::ui
