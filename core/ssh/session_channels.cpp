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

} // namespace

Session::Flow::~Flow() {
    readable.reset();
    writable.reset();
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

void Session::collectFlows() {
    ssh_event_dopoll(m_event, 0);
    if ((ssh_get_status(m_session) & (SSH_CLOSED | SSH_CLOSED_ERROR)) != 0)
        return fail(
            {Code::Unreachable,
             "The connection was closed by the other side: " + libraryError().toStdString() + ".",
             who()});
    std::vector<ChannelId> ids;
    for (const auto& [id, flow] : m_flows)
        ids.push_back(id);
    for (const ChannelId id : ids)
        if (const auto at = m_flows.find(id); at != m_flows.end())
            advanceFlow(*at->second);
}

void Session::advanceFlow(Flow& flow) {
    if (!flow.channel) {
        flow.channel = ssh_channel_new(m_session);
        ssh_callbacks_init(&flow.callbacks);
        flow.callbacks.userdata = &flow;
        flow.callbacks.channel_data_function = [](ssh_session, ssh_channel, void* data,
                                                  uint32_t size, int isError, void* user) {
            auto* self = static_cast<Flow*>(user);
            const QByteArray bytes(static_cast<const char*>(data), size);
            if (self->isForward() && isError == 0) {
                self->toSocket += bytes;
                self->writeSocket();
            } else if (!self->isForward()) {
                Q_EMIT self->session->received(self->id, bytes, isError != 0);
            }
            return static_cast<int>(size);
        };
        flow.callbacks.channel_exit_status_function = [](ssh_session, ssh_channel, int status,
                                                         void* user) {
            static_cast<Flow*>(user)->exitCode = status;
        };
        flow.callbacks.channel_exit_signal_function =
            [](ssh_session, ssh_channel, const char* name, int, const char*, const char*,
               void* user) { static_cast<Flow*>(user)->signal = QString::fromUtf8(name); };
        flow.callbacks.channel_close_function = [](ssh_session, ssh_channel, void* user) {
            static_cast<Flow*>(user)->isRemoteClosed = true;
        };
        ssh_set_channel_callbacks(flow.channel, &flow.callbacks);
    }
    if (flow.stage == Flow::Stage::Opening) {
        const QByteArray host = flow.host.toUtf8();
        const int rc = flow.isForward() ? ssh_channel_open_forward(flow.channel, host.constData(),
                                                                   flow.port, "127.0.0.1", 0)
                                        : ssh_channel_open_session(flow.channel);
        if (rc == SSH_AGAIN)
            return;
        if (rc != SSH_OK) {
            const std::string reason = libraryError().toStdString();
            // RFC 4254, 5.1: reason 1 is SSH_OPEN_ADMINISTRATIVELY_PROHIBITED.
            const bool isForbidden = libraryError().contains(QStringLiteral("error (1)"));
            return endFlow(
                flow.id,
                flow.isForward()
                    ? Error{isForbidden ? Code::PermissionDenied : Code::Unreachable,
                            isForbidden
                                ? "This host does not pass connections on to " +
                                      flow.host.toStdString() + ":" + std::to_string(flow.port) +
                                      ": its sshd forbids it (administratively prohibited). Set "
                                      "AllowTcpForwarding yes in its sshd_config, or use another "
                                      "jump host."
                                : "This host cannot reach " + flow.host.toStdString() + ":" +
                                      std::to_string(flow.port) + ": " + reason + ".",
                            who()}
                    : Error{Code::Unreachable, "No session could be opened: " + reason + ".",
                            who()});
        }
        flow.stage = flow.isForward() ? Flow::Stage::Running : Flow::Stage::Requesting;
        if (flow.isForward()) {
            flow.readable = std::make_unique<QSocketNotifier>(flow.fd, QSocketNotifier::Read);
            connect(flow.readable.get(), &QSocketNotifier::activated, this, [this, id = flow.id] {
                if (const auto at = m_flows.find(id); at != m_flows.end())
                    at->second->readSocket();
                advance();
            });
            flow.writable = std::make_unique<QSocketNotifier>(flow.fd, QSocketNotifier::Write);
            flow.writable->setEnabled(false);
            connect(flow.writable.get(), &QSocketNotifier::activated, this, [this, id = flow.id] {
                if (const auto at = m_flows.find(id); at != m_flows.end())
                    at->second->writeSocket();
            });
        }
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
    if (!flow.isRemoteClosed)
        return;
    Exit exit;
    exit.exitCode = flow.exitCode.value_or(-1);
    exit.signal = flow.signal;
    if (flow.isForward() || flow.exitCode || !flow.signal.isEmpty())
        return endFlow(flow.id, exit);
    endFlow(flow.id, Error{Code::Unreachable, "The program ended without saying how.", who()});
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
        wantsEof = true;
        isRemoteClosed = isRemoteClosed || got < 0;
        readable->setEnabled(false);
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
        if (put <= 0)
            break;
        toSocket.remove(0, put);
    }
    if (writable)
        writable->setEnabled(!toSocket.isEmpty());
}

void Session::endFlow(ChannelId id, Result<Exit> end) {
    const auto at = m_flows.find(id);
    if (at == m_flows.end())
        return;
    const auto flow = std::move(at->second);
    m_flows.erase(at);
    Q_EMIT channelClosed(id, end);
}

} // namespace lockstep::ssh::detail
