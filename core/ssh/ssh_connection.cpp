// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/ssh/detail/ssh_connection.h"

#include <QRandomGenerator>
#include <QTimer>

#include <sys/socket.h>
#include <unistd.h>

namespace lockstep::ssh::detail {

namespace {

constexpr int kDeepest = 8; ///< jump hosts of jump hosts
constexpr int kRetryMilliseconds = 300;

} // namespace

// ---- SshChannel

SshChannel::SshChannel(SshConnection* connection, ChannelId id)
    : m_connection(connection)
    , m_id(id) {}

SshChannel::~SshChannel() {
    if (!m_connection)
        return;
    m_connection->forget(m_id);
    if (!m_isClosed)
        m_connection->inSession([id = m_id](Session& session) { session.closeChannel(id); });
}

void SshChannel::write(const QByteArray& bytes) {
    if (m_isClosed || !m_connection || bytes.isEmpty())
        return;
    m_queued += bytes.size();
    m_connection->inSession([id = m_id, bytes](Session& session) { session.write(id, bytes); });
}

void SshChannel::closeWrite() {
    if (m_connection)
        m_connection->inSession([id = m_id](Session& session) { session.closeWrite(id); });
}

void SshChannel::close() {
    if (m_connection)
        m_connection->inSession([id = m_id](Session& session) { session.closeChannel(id); });
}

void SshChannel::tellWritten(qint64 bytes) {
    m_queued -= bytes;
    Q_EMIT written(bytes);
}

void SshChannel::tellClosed(const Result<Exit>& end) {
    if (m_isClosed)
        return;
    m_isClosed = true;
    Q_EMIT closed(end);
}

// ---- SshConnection

SshConnection::SshConnection(SshClient::Private& client, Destination destination, Route route)
    : m_client(client)
    , m_destination(std::move(destination))
    , m_route(std::move(route)) {}

SshConnection::~SshConnection() {
    m_waiters.clear();
    dropSession(
        {Code::Cancelled, "The connection was closed.", SshConnection::name().toStdString()});
}

QString SshConnection::name() const {
    return m_where ? m_where->text() : m_destination.text();
}

void SshConnection::setState(State state) {
    if (m_state == state)
        return;
    m_state = state;
    Q_EMIT stateChanged(state);
}

void SshConnection::open(std::function<void(Status)> done) {
    m_waiters.push_back(std::move(done));
    if (m_state == State::Open) {
        QMetaObject::invokeMethod(
            this,
            [this] {
                if (m_state == State::Open)
                    answerAll({});
            },
            Qt::QueuedConnection);
        return;
    }
    if (m_state != State::Closed)
        return;
    m_attempts = 0;
    setState(State::Connecting);
    m_attempt = std::make_unique<QObject>();
    resolve(m_destination, m_client.options.resolve, m_attempt.get(),
            [this](const Result<Resolved>& where) { resolved(where); });
}

void SshConnection::answerAll(const Status& status) {
    const auto waiters = std::exchange(m_waiters, {});
    for (const auto& done : waiters)
        done(status);
}

void SshConnection::fail(const Error& error) {
    const QPointer<SshConnection> alive(this);
    dropSession(error);
    if (alive)
        m_gateway = {};
    if (alive)
        setState(State::Closed);
    if (alive)
        answerAll(error);
}

void SshConnection::resolved(const Result<Resolved>& where) {
    if (!where)
        return fail(where.error());
    m_where = *where;
    for (const QString& note : m_where->notes)
        Q_EMIT bannerReceived(m_where->text(), note);
    if (m_state == State::Closed)
        return; // by who heard it
    if (m_route.isGateway)
        m_where->jumps = m_route.via;
    if (!m_where->jumps.isEmpty() && m_route.depth >= kDeepest)
        return fail({Code::InvalidArgument,
                     "ProxyJump leads from jump host to jump host without an end. Look for hosts "
                     "that name each other in ~/.ssh/config.",
                     m_where->text().toStdString()});
    if (!m_where->jumps.isEmpty() && !m_where->proxyCommand.isEmpty())
        m_where->proxyCommand.clear(); // ssh_config(5): the first of the two wins; -G shows one
    begin();
}

/// One attempt, when its turn comes.
void SshConnection::begin() {
    m_attempt = std::make_unique<QObject>();
    m_forwardError.reset();
    ++m_attempts;
    const auto start = [this] {
        const QString gate = SshClient::Private::gatewayName(m_where->jumps);
        m_client.acquire(gate, m_attempt.get(), [this, gate] {
            m_slot = gate;
            m_where->jumps.isEmpty() ? startSession(-1) : reachThroughGateway();
        });
    };
    if (m_where->jumps.isEmpty())
        return start();
    const int hops = static_cast<int>(m_where->jumps.size()) + 1;
    m_gateway = m_client.gateway(
        m_where->jumps, m_route.destination.isEmpty() ? m_destination.text() : m_route.destination,
        hops, m_route.depth);
    m_gateway.connection->open(
        [this, start, context = QPointer<QObject>(m_attempt.get())](const Status& status) {
            if (!context)
                return;
            status ? start() : fail(status.error());
        });
}

void SshConnection::reachThroughGateway() {
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
        return fail({Code::Internal, "No socket pair can be made.", name().toStdString()});
    m_gateway.connection->forward(
        m_where->hostname, m_where->port, pair[0],
        [this, context = QPointer<QObject>(m_attempt.get())](const Result<Exit>& end) {
            if (context && !end)
                m_forwardError = end.error();
        });
    startSession(pair[1]);
}

void SshConnection::startSession(int fd) {
    SessionPlan plan;
    plan.where = *m_where;
    plan.destination = m_route.destination.isEmpty() ? m_destination.text() : m_route.destination;
    plan.hops = m_route.hops > 0 ? m_route.hops : static_cast<int>(m_where->jumps.size()) + 1;
    plan.hop = m_route.hop > 0 ? m_route.hop : plan.hops;
    plan.fd = fd;
    const auto& options = m_client.options;
    plan.stepTimeout = options.stepTimeout.count() > 0
                           ? options.stepTimeout
                           : std::chrono::seconds(m_where->connectTimeout);
    plan.aliveInterval = options.aliveInterval.count() > 0
                             ? options.aliveInterval
                             : std::chrono::seconds(m_where->aliveInterval);
    m_agent = plan.agent;
    m_thread = new QThread;
    m_thread->setObjectName(QStringLiteral("ssh ") + m_where->hostname);
    m_session = new Session(std::move(plan));
    m_session->moveToThread(m_thread);
    connect(m_thread, &QThread::finished, m_session, &QObject::deleteLater);
    connect(m_thread, &QThread::finished, m_thread, &QObject::deleteLater);
    m_client.adopt(m_thread);
    connectSession();
    m_thread->start();
    inSession([](Session& session) { session.start(); });
}

void SshConnection::connectSession() {
    QObject* context = m_attempt.get();
    connect(m_session, &Session::stateChanged, context, [this](State state) {
        if (state != State::Closed && state != State::Open)
            setState(state);
    });
    connect(m_session, &Session::bannerReceived, context,
            [this](const QString& text) { Q_EMIT bannerReceived(name(), text); });
    connect(m_session, &Session::asked, context,
            [this](quint64 id, const Question& question) { asked(id, question); });
    connect(m_session, &Session::opened, context, [this] {
        m_client.settle(name(), true);
        releaseSlot();
        setState(State::Open);
        answerAll({});
    });
    connect(m_session, &Session::failed, context,
            [this](const Error& error, bool isRetryable) { sessionFailed(error, isRetryable); });
    connect(m_session, &Session::touchWanted, context, [this](const Question& question) {
        m_touch = std::make_unique<QObject>();
        m_client.ask(question, m_touch.get(), [](const std::optional<Answer>&) {});
    });
    connect(m_session, &Session::touched, context, [this] { m_touch.reset(); });
    connect(m_session, &Session::lost, context, [this](const Error& error) {
        // The jump host's loss came before, and says more than the socket that was closed for it.
        const Error why = m_forwardError.value_or(error);
        const QPointer<SshConnection> alive(this);
        fail(why);
        if (alive)
            Q_EMIT lost(why);
    });
    connect(
        m_session, &Session::received, context,
        [this](ChannelId id, const QByteArray& bytes, bool isError) {
            inSession([id, size = bytes.size()](Session& session) { session.consumed(id, size); });
            if (SshChannel* channel = m_channels.value(id))
                isError ? Q_EMIT channel->errorReceived(bytes) : Q_EMIT channel->received(bytes);
        });
    connect(m_session, &Session::written, context, [this](ChannelId id, qint64 bytes) {
        if (SshChannel* channel = m_channels.value(id))
            channel->tellWritten(bytes);
    });
    connect(m_session, &Session::channelClosed, context,
            [this](ChannelId id, const Result<Exit>& end) {
                if (const auto ended = m_forwards.take(id))
                    ended(end);
                if (SshChannel* channel = m_channels.take(id))
                    channel->tellClosed(end);
            });
}

void SshConnection::asked(quint64 id, const Question& question) {
    // Others go on meanwhile, so that one dialog can show the keys of many hosts.
    if (question.kind == Question::Kind::HostKey)
        releaseSlot();
    m_client.ask(question, m_attempt.get(), [this, id](const std::optional<Answer>& answer) {
        inSession([id, answer](Session& session) { session.answer(id, answer); });
    });
}

void SshConnection::sessionFailed(const Error& error, bool isRetryable) {
    // The jump host's refusal came before: it says more than the socket that was closed for it.
    if (!isRetryable || m_forwardError || m_attempts >= m_client.options.attempts) {
        m_client.settle(name(), false);
        return fail(m_forwardError.value_or(error));
    }
    dropSession(error);
    m_attempt = std::make_unique<QObject>();
    const int pause = kRetryMilliseconds * m_attempts;
    QTimer::singleShot(pause + QRandomGenerator::global()->bounded(pause), m_attempt.get(),
                       [this] { begin(); });
}

void SshConnection::releaseSlot() {
    if (m_slot)
        m_client.release(*std::exchange(m_slot, std::nullopt));
}

void SshConnection::dropSession(const Error& why) {
    releaseSlot();
    m_touch.reset();
    m_attempt.reset();
    if (!m_session)
        return;
    if (m_agent)
        m_agent->cancel(); // its thread may wait there
    m_agent.reset();
    QMetaObject::invokeMethod(
        m_session, [session = m_session] { session->shutdown(); }, Qt::QueuedConnection);
    m_session = nullptr;
    std::exchange(m_thread, nullptr)->quit();
    // Who hears of it may destroy this, or other channels.
    const auto forwards = std::exchange(m_forwards, {});
    const auto channels = std::exchange(m_channels, {});
    Error lost = why;
    if (why.code == Code::Cancelled)
        lost.message = "The connection to the jump host was closed.";
    for (const auto& ended : forwards)
        ended(lost);
    for (const QPointer<SshChannel>& channel : channels)
        if (channel)
            channel->tellClosed(why);
}

void SshConnection::close() {
    if (m_state == State::Closed)
        return;
    fail({Code::Cancelled, "The connection was closed.", name().toStdString()});
}

std::unique_ptr<Channel> SshConnection::exec(const QByteArray& words) {
    const ChannelId id = ++m_lastChannel;
    auto channel = std::make_unique<SshChannel>(this, id);
    if (m_state != State::Open) {
        QMetaObject::invokeMethod(
            channel.get(),
            [channel = channel.get()] {
                channel->tellClosed(Error{Code::Unreachable, "The connection is not open.", {}});
            },
            Qt::QueuedConnection);
        return channel;
    }
    m_channels[id] = channel.get();
    inSession([id, words](Session& session) { session.exec(id, words); });
    return channel;
}

void SshConnection::forward(const QString& host, int port, int fd,
                            std::function<void(const Result<Exit>&)> ended) {
    const ChannelId id = ++m_lastChannel;
    if (m_state != State::Open) {
        ::close(fd);
        return ended(
            Error{Code::Unreachable, "The jump host is not connected.", name().toStdString()});
    }
    m_forwards[id] = std::move(ended);
    // A session that ends first never sees the call, which then closes the socket.
    const std::shared_ptr<int> owned(new int(fd), [](int* kept) {
        if (*kept >= 0)
            ::close(*kept);
        delete kept;
    });
    inSession([id, host, port, owned](Session& session) {
        session.forward(id, host, port, std::exchange(*owned, -1));
    });
}

} // namespace lockstep::ssh::detail
