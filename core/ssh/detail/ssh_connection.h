// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// A Connection whose work is done by a Session on a thread of its own. Thread: the caller's.

#include "core/ssh/detail/client_private.h"
#include "core/ssh/detail/session.h"

#include <QHash>
#include <QPointer>

#include <vector>

namespace lockstep::ssh::detail {

class SshConnection;

class SshChannel : public Channel {
    Q_OBJECT
public:
    SshChannel(SshConnection* connection, ChannelId id);
    ~SshChannel() override;

    void write(const QByteArray& bytes) override;
    qint64 bytesToWrite() const override { return m_queued; }
    void closeWrite() override;
    void close() override;
    bool isClosed() const override { return m_isClosed; }

    void tellWritten(qint64 bytes);
    void tellClosed(const Result<Exit>& end);

private:
    QPointer<SshConnection> m_connection;
    ChannelId m_id;
    qint64 m_queued = 0;
    bool m_isClosed = false;
};

/// Where a connection goes through.
struct Route {
    QList<Destination> via; ///< jump hosts; empty: those of the configuration
    bool isGateway = false; ///< its own jump hosts are `via`, not the configuration's
    QString destination;    ///< what the person wants in the end
    int hop = 0;            ///< 0: the last one
    int hops = 0;
    int depth = 0; ///< of jump hosts that have jump hosts
};

class SshConnection : public Connection {
    Q_OBJECT
public:
    SshConnection(SshClient::Private& client, Destination destination, Route route);
    ~SshConnection() override;

    QString name() const override;
    State state() const override { return m_state; }
    void open(std::function<void(Status)> done) override;
    void close() override;
    std::unique_ptr<Channel> exec(const QByteArray& words) override;

    /// Carries a connection from the far end to host:port over `fd` (owned).
    void forward(const QString& host, int port, int fd,
                 std::function<void(const Result<Exit>&)> ended);

    // For its channels.
    template <class F>
    void inSession(F f) {
        if (m_session)
            QMetaObject::invokeMethod(
                m_session, [session = m_session, f] { f(*session); }, Qt::QueuedConnection);
    }
    void forget(ChannelId id) { m_channels.remove(id); }

private:
    void resolved(const Result<Resolved>& where);
    void begin();
    void reachThroughGateway();
    void startSession(int fd);
    void connectSession();
    void dropSession(const Error& why);
    void releaseSlot();
    void sessionFailed(const Error& error, bool isRetryable);
    void asked(quint64 id, const Question& question);
    void answerAll(const Status& status);
    void setState(State state);
    void fail(const Error& error);

    SshClient::Private& m_client;
    Destination m_destination;
    Route m_route;
    State m_state = State::Closed;
    std::unique_ptr<QObject> m_attempt; ///< context of everything that belongs to this attempt
    std::optional<Resolved> m_where;
    SshClient::Private::Gateway m_gateway;
    std::shared_ptr<AgentRelay> m_agent; ///< of the session, to cut off its wait
    std::unique_ptr<QObject> m_touch;    ///< while a person is asked to touch a key
    std::optional<Error> m_forwardError;
    Session* m_session = nullptr; ///< lives in m_thread
    QThread* m_thread = nullptr;
    std::optional<QString> m_slot; ///< of the handshakes at a time
    int m_attempts = 0;
    ChannelId m_lastChannel = 0;
    QHash<ChannelId, QPointer<SshChannel>> m_channels;
    QHash<ChannelId, std::function<void(const Result<Exit>&)>> m_forwards;
    std::vector<std::function<void(Status)>> m_waiters;
};

} // namespace lockstep::ssh::detail
