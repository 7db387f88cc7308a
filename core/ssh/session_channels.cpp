// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// Channels of an open session. libssh hands us what arrives by callbacks, so that no channel is
// left with data that was buffered while another was read.
#include "core/ssh/detail/flow.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace lockstep::ssh::detail {

namespace {

constexpr qsizetype kSocketPiece = 256 * 1024;
constexpr qsizetype kQueueLimit = 1 << 20; ///< of a forward, towards the far end
constexpr qsizetype kInboxPiece = 256 * 1024;
constexpr qint64 kUnreadLimit = 8 << 20; ///< what a receiver may lag behind
constexpr qsizetype kWindow = 4 << 20;
constexpr int kReadSlice = 20; ///< ms, before the event loop has its turn

} // namespace

Session::Flow::~Flow() {
    session->discard(readable);
    session->discard(writable);
    if (fd >= 0)
        ::close(fd);
    if (channel) {
        ssh_remove_channel_callbacks(channel, &callbacks);
        if (ssh_channel_is_open(channel))
            ssh_channel_close(channel);
        ssh_channel_free(channel);
    }
}

void Session::exec(ChannelId id, const QByteArray& words) {
    auto flow = std::make_unique<Flow>(this, id);
    flow->words = words;
    m_flows[id] = std::move(flow);
    if (m_step != Step::Open)
        return endFlow(id, Error{Code::Unreachable, "The connection is not open.", who()});
    advance();
}

void Session::forward(ChannelId id, const QString& host, int port, int fd) {
    auto flow = std::make_unique<Flow>(this, id);
    flow->host = host;
    flow->port = port;
    flow->fd = fd;
    m_flows[id] = std::move(flow);
    if (m_step != Step::Open)
        return endFlow(id, Error{Code::Unreachable, "The connection is not open.", who()});
    advance();
}

void Session::write(ChannelId id, const QByteArray& bytes) {
    const auto at = m_flows.find(id);
    if (at == m_flows.end())
        return;
    at->second->queue += bytes;
    advance();
}

void Session::closeWrite(ChannelId id) {
    const auto at = m_flows.find(id);
    if (at == m_flows.end())
        return;
    at->second->wantsEof = true;
    advance();
}

void Session::closeChannel(ChannelId id) {
    endFlow(id, Error{Code::Cancelled, "The channel was closed.", {}});
    advance();
}

void Session::consumed(ChannelId id, qint64 bytes) {
    const auto at = m_flows.find(id);
    if (at == m_flows.end())
        return;
    at->second->unread -= bytes;
    if (at->second->isHeld)
        advance();
}

void Session::collectFlows() {
    QElapsedTimer took;
    took.start();
    std::uint64_t before = 0;
    do { // libssh reads 4 KiB a call
        before = m_traffic.in_bytes;
        ssh_event_dopoll(m_event, 0);
    } while (m_traffic.in_bytes != before && took.elapsed() < kReadSlice);
    for (const auto& [id, flow] : m_flows)
        flow->widen();
    const bool isOver = (ssh_get_status(m_session) & (SSH_CLOSED | SSH_CLOSED_ERROR)) != 0;
    std::vector<ChannelId> ids;
    for (const auto& [id, flow] : m_flows)
        if (!isOver || flow->isRemoteClosed)
            ids.push_back(id);
    for (const ChannelId id : ids)
        if (const auto at = m_flows.find(id); at != m_flows.end())
            advanceFlow(*at->second);
    if (isOver)
        fail({Code::Unreachable,
              "The connection was closed by the other side: " + libraryError().toStdString() + ".",
              who()});
}

void Session::Flow::makeChannel() {
    channel = ssh_channel_new(session->m_session);
    ssh_callbacks_init(&callbacks);
    callbacks.userdata = this;
    callbacks.channel_data_function = [](ssh_session, ssh_channel, void* data, uint32_t size,
                                         int isError, void* user) {
        return static_cast<int>(
            static_cast<Flow*>(user)->take(static_cast<const char*>(data), size, isError != 0));
    };
    callbacks.channel_exit_status_function = [](ssh_session, ssh_channel, int status, void* user) {
        static_cast<Flow*>(user)->exitCode = status;
    };
    callbacks.channel_exit_signal_function = [](ssh_session, ssh_channel, const char* name, int,
                                                const char*, const char*, void* user) {
        static_cast<Flow*>(user)->signal = QString::fromUtf8(name);
    };
    callbacks.channel_close_function = [](ssh_session, ssh_channel, void* user) {
        static_cast<Flow*>(user)->isRemoteClosed = true;
    };
    ssh_set_channel_callbacks(channel, &callbacks);
}

void Session::advanceFlow(Flow& flow) {
    if (!flow.channel)
        flow.makeChannel();
    if (flow.stage == Flow::Stage::Opening && !openFlow(flow))
        return;
    if (flow.isAbandoned) {
        m_flows.erase(flow.id);
        return;
    }
    if (flow.stage == Flow::Stage::Requesting) {
        const int rc = ssh_channel_request_exec(flow.channel, flow.words.constData());
        if (rc == SSH_AGAIN)
            return;
        if (rc != SSH_OK)
            return endFlow(flow.id, Error{Code::PermissionDenied,
                                          "The host refuses to start a shell for this account: " +
                                              libraryError().toStdString() + ".",
                                          who()});
        flow.stage = Flow::Stage::Running;
    }
    pump(flow);
    flow.takeHeld();
    flow.deliver();
    if (!flow.isRemoteClosed || flow.isHeld || !flow.toSocket.isEmpty())
        return;
    Exit exit;
    exit.exitCode = flow.exitCode.value_or(-1);
    exit.signal = flow.signal;
    if (flow.isForward() || flow.exitCode || !flow.signal.isEmpty())
        return endFlow(flow.id, exit);
    endFlow(flow.id, Error{Code::Unreachable, "The program ended without saying how.", who()});
}

/// False while the far end has not answered, and where it refused (the flow is gone then).
bool Session::openFlow(Flow& flow) {
    const QByteArray host = flow.host.toUtf8();
    const int rc = flow.isForward() ? ssh_channel_open_forward(flow.channel, host.constData(),
                                                               flow.port, "127.0.0.1", 0)
                                    : ssh_channel_open_session(flow.channel);
    if (rc == SSH_AGAIN)
        return false;
    if (rc == SSH_OK) {
        flow.stage = flow.isForward() ? Flow::Stage::Running : Flow::Stage::Requesting;
        if (flow.isForward() && !flow.isAbandoned)
            flow.watchSocket();
        return true;
    }
    if (flow.isAbandoned) {
        m_flows.erase(flow.id);
        return false;
    }
    const QString reason = libraryError();
    // RFC 4254, 5.1: reason 1 is SSH_OPEN_ADMINISTRATIVELY_PROHIBITED.
    const bool isForbidden = reason.contains(QStringLiteral("error (1)"));
    const std::string target = flow.host.toStdString() + ":" + std::to_string(flow.port);
    Error error{Code::Unreachable, {}, who()};
    if (!flow.isForward()) {
        error.message = "No session could be opened: " + reason.toStdString() +
                        ". sshd takes 10 at a time for one connection (MaxSessions).";
    } else if (isForbidden) {
        error.code = Code::PermissionDenied;
        error.message = "This host does not pass connections on to " + target +
                        ": its sshd forbids it (administratively prohibited). Set "
                        "AllowTcpForwarding yes in its sshd_config, or use another jump host.";
    } else {
        error.message = "This host cannot reach " + target + ": " + reason.toStdString() +
                        ". Check that it is up, and that sshd listens there.";
    }
    endFlow(flow.id, error);
    return false;
}

bool Session::Flow::hasRoom() const {
    return isForward() ? toSocket.size() < kQueueLimit : unread + inbox.size() < kUnreadLimit;
}

qsizetype Session::Flow::take(const char* data, qsizetype size, bool isError) {
    isHeld = isHeld || !hasRoom();
    if (isHeld)
        return 0;
    keep(data, size, isError);
    return size;
}

/// libssh keeps a window of 1.25 MiB, which is 0.5 Gbit/s at a round trip of 20 ms; it widens it
/// for who asks for more at once. Before flows are served, since this may take data of any of them.
void Session::Flow::widen() {
    if (sinceWidened < kWindow / 4 || isHeld || isRemoteClosed || stage != Stage::Running)
        return;
    sinceWidened = 0;
    if (session->m_scratch.isEmpty())
        session->m_scratch = QByteArray(kWindow, Qt::Uninitialized);
    const int got = ssh_channel_read_timeout(channel, session->m_scratch.data(), kWindow, 0, 0);
    if (got > 0)
        keep(session->m_scratch.constData(), got, false);
}

void Session::Flow::keep(const char* data, qsizetype size, bool isError) {
    if (isAbandoned || (isForward() && isError))
        return;
    sinceWidened += size;
    if (isForward()) {
        toSocket.append(data, size);
        return writeSocket();
    }
    if (isError) {
        deliver();
        unread += size;
        Q_EMIT session->received(id, QByteArray(data, size), true);
        return;
    }
    inbox.append(data, size);
    if (inbox.size() >= kInboxPiece)
        deliver();
}

/// What libssh kept when it could not be taken.
void Session::Flow::takeHeld() {
    if (!isHeld)
        return;
    QByteArray piece(kInboxPiece, Qt::Uninitialized);
    for (const int isError : {0, 1})
        for (int got = 1; got > 0;) {
            if (!hasRoom())
                return;
            got = ssh_channel_read_nonblocking(channel, piece.data(),
                                               static_cast<uint32_t>(piece.size()), isError);
            if (got > 0)
                keep(piece.constData(), got, isError != 0);
        }
    isHeld = false;
}

void Session::Flow::deliver() {
    if (inbox.isEmpty())
        return;
    unread += inbox.size();
    Q_EMIT session->received(id, std::exchange(inbox, QByteArray()), false);
}

void Session::Flow::watchSocket() {
    readable = std::make_unique<QSocketNotifier>(fd, QSocketNotifier::Read);
    QObject::connect(
        readable.get(), &QSocketNotifier::activated, session, [owner = session, number = id] {
            if (const auto at = owner->m_flows.find(number); at != owner->m_flows.end())
                at->second->readSocket();
            owner->advance();
        });
    writable = std::make_unique<QSocketNotifier>(fd, QSocketNotifier::Write);
    writable->setEnabled(false);
    QObject::connect(
        writable.get(), &QSocketNotifier::activated, session, [owner = session, number = id] {
            if (const auto at = owner->m_flows.find(number); at != owner->m_flows.end())
                at->second->writeSocket();
            owner->advance();
        });
}

/// Hands queued bytes to libssh as far as the far end's window goes.
void Session::pump(Flow& flow) {
    qint64 sent = 0;
    while (sent < flow.queue.size() && !flow.isRemoteClosed) {
        const auto room = static_cast<qsizetype>(ssh_channel_window_size(flow.channel));
        const qsizetype piece = std::min(room, flow.queue.size() - sent);
        if (piece == 0)
            break;
        const int rc = ssh_channel_write(flow.channel, flow.queue.constData() + sent,
                                         static_cast<uint32_t>(piece));
        if (rc <= 0)
            break;
        sent += rc;
    }
    if (sent > 0) {
        flow.queue.remove(0, sent);
        if (!flow.isForward())
            Q_EMIT written(flow.id, sent);
        else if (flow.readable && !flow.wantsEof)
            flow.readable->setEnabled(flow.queue.size() < kQueueLimit);
    }
    if (flow.wantsEof && !flow.sentEof && flow.queue.isEmpty() && !flow.isRemoteClosed) {
        flow.sentEof = true;
        ssh_channel_send_eof(flow.channel);
    }
}

void Session::Flow::readSocket() {
    QByteArray bytes(kSocketPiece, Qt::Uninitialized);
    const ssize_t got = ::recv(fd, bytes.data(), static_cast<std::size_t>(bytes.size()), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        // Our side is gone: nobody reads what may still come.
        session->endFlow(id, Exit{});
        return;
    }
    queue.append(bytes.constData(), got);
    readable->setEnabled(queue.size() < kQueueLimit);
}

void Session::Flow::writeSocket() {
    while (!toSocket.isEmpty()) {
        const ssize_t put = ::send(fd, toSocket.constData(),
                                   static_cast<std::size_t>(toSocket.size()), MSG_NOSIGNAL);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0 && errno != EAGAIN)
            toSocket.clear(); // nobody reads any more; readSocket() finds out
        if (put <= 0)
            break;
        toSocket.remove(0, put);
    }
    if (writable)
        writable->setEnabled(!toSocket.isEmpty());
}

void Session::endFlow(ChannelId id, Result<Exit> end) {
    const auto at = m_flows.find(id);
    if (at == m_flows.end() || (at->second->isAbandoned && m_step == Step::Open))
        return;
    if (at->second->isAbandoned) {
        m_flows.erase(at);
        return;
    }
    if (at->second->stage == Flow::Stage::Opening && at->second->channel && m_step == Step::Open &&
        !end.ok() && end.error().code == Code::Cancelled) {
        // The far end would keep what it is about to open.
        at->second->isAbandoned = true;
        if (at->second->fd >= 0)
            ::close(std::exchange(at->second->fd, -1));
        Q_EMIT channelClosed(id, end);
        return;
    }
    const auto flow = std::move(at->second);
    m_flows.erase(at);
    flow->deliver();
    Q_EMIT channelClosed(id, end);
}

} // namespace lockstep::ssh::detail
