// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// One look at one host: what its destination means, whether it can be logged in to, and what it is.
// Each step in words, cancellable at any time; the deadline rests while a person is asked.
// GUI thread.

#include "core/base/result.h"
#include "ui/models/ssh_access.h"

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>

#include <optional>

namespace lockstep::ui {

struct HostFact {
    QString name;
    QString value;         ///< made safe to show
    bool isAmount = false; ///< measured: differs everywhere and says nothing by that
    bool operator==(const HostFact&) const = default;
};

class ConnectionTest final : public QObject {
    Q_OBJECT
public:
    enum class State {
        Idle,
        Resolving,
        Connecting,
        LoggingIn,
        Asking, ///< a person has a dialog before them
        Looking,
        Passed,
        Failed,
        Cancelled,
    };

    explicit ConnectionTest(SshAccess access, QObject* parent = nullptr);
    ~ConnectionTest() override;

    void start(const ssh::Destination& destination);
    void cancel();

    State state() const { return m_state; }
    bool isRunning() const;
    const ssh::Destination& destination() const { return m_destination; }
    /// What it does now, or how it ended, as a sentence.
    QString words() const;
    /// Of a failure.
    const std::optional<Error>& error() const { return m_error; }
    /// What the destination means to OpenSSH; empty until known.
    const QList<HostFact>& resolved() const { return m_resolved; }
    /// What the host said about itself; empty until known.
    const QList<HostFact>& facts() const { return m_facts; }
    /// Login banners, by hop: untrusted, made safe to show.
    const QList<HostFact>& banners() const { return m_banners; }

Q_SIGNALS:
    void changed();

private:
    void setState(State state);
    void fail(const Error& error);
    void connectTo();
    void look();
    void read(const QByteArray& output);

    SshAccess m_access;
    ssh::Destination m_destination;
    State m_state = State::Idle;
    std::optional<Error> m_error;
    QList<HostFact> m_resolved;
    QList<HostFact> m_facts;
    QList<HostFact> m_banners;
    std::unique_ptr<QObject> m_attempt; ///< context of answers; gone with a cancel
    std::unique_ptr<ssh::Connection> m_connection;
    std::unique_ptr<ssh::Channel> m_channel;
    QByteArray m_output;
    QTimer m_deadline; ///< of the look, when no person is asked
    QElapsedTimer m_clock;
    double m_seconds = 0;
};

/// The lines between the marks of the script that is run on a host, as facts; text before the marks
/// is a start-up file's. Nothing where the marks are not there.
std::optional<QList<HostFact>> readHostFacts(const QByteArray& output);

} // namespace lockstep::ui
