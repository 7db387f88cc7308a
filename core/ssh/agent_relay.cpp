// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/ssh/detail/agent_relay.h"

#include <QFile>
#include <qendian.h>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace lockstep::ssh::detail {

namespace {

constexpr char kFailure = 5;
constexpr char kRequestIdentities = 11;
constexpr char kIdentities = 12;
constexpr char kSignRequest = 13;
constexpr char kSignResponse = 14;
constexpr quint32 kLargestMessage = 256 * 1024; ///< OpenSSH's own limit

QByteArray number(quint32 value) {
    QByteArray bytes(4, '\0');
    qToBigEndian(value, bytes.data());
    return bytes;
}

QByteArray string(const QByteArray& bytes) {
    return number(static_cast<quint32>(bytes.size())) + bytes;
}

/// Takes a string of the protocol from `bytes` at `at`.
std::optional<QByteArray> takeString(const QByteArray& bytes, qsizetype& at) {
    if (bytes.size() - at < 4)
        return std::nullopt;
    const auto size = qFromBigEndian<quint32>(bytes.constData() + at);
    if (static_cast<quint64>(bytes.size() - at - 4) < size)
        return std::nullopt;
    const QByteArray text = bytes.mid(at + 4, size);
    at += 4 + static_cast<qsizetype>(size);
    return text;
}

int connectTo(const QString& path) {
    const QByteArray name = QFile::encodeName(path);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (name.isEmpty() || static_cast<std::size_t>(name.size()) >= sizeof address.sun_path)
        return -1;
    std::memcpy(address.sun_path, name.constData(), static_cast<std::size_t>(name.size()));
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 &&
        ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        ::close(fd);
        return -1;
    }
    return fd;
}

} // namespace

QString typeOfBlob(const QByteArray& blob) {
    qsizetype at = 0;
    return QString::fromLatin1(takeString(blob, at).value_or(QByteArray()).left(64));
}

std::optional<QList<AgentKey>> parseAgentKeys(const QByteArray& message) {
    if (message.size() < 5 || message[0] != kIdentities)
        return std::nullopt;
    QList<AgentKey> keys;
    const auto count = qFromBigEndian<quint32>(message.constData() + 1);
    qsizetype at = 5;
    for (quint32 i = 0; i < count; ++i) {
        const auto blob = takeString(message, at);
        const auto comment = takeString(message, at);
        if (!blob || !comment)
            return std::nullopt;
        keys += {*blob, QString::fromUtf8(*comment)};
    }
    return keys;
}

AgentRelay::~AgentRelay() {
    stop();
    if (const int fd = m_outer.exchange(-1); fd >= 0)
        ::close(fd);
    if (m_inner >= 0)
        ::close(m_inner);
    if (m_stopped >= 0)
        ::close(m_stopped);
}

void AgentRelay::start(const QString& path, Callbacks callbacks) {
    m_callbacks = std::move(callbacks);
    int pair[2] = {-1, -1};
    m_stopped = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (m_stopped < 0 || ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return m_callbacks.listed({}, QStringLiteral("no socket can be made"));
    m_inner = pair[0];
    m_outer = pair[1];
    if (m_isCancelled)
        cancel();
    m_thread = std::thread([this, path] { run(path); });
}

int AgentRelay::takeSocket() {
    return m_outer.exchange(-1);
}

void AgentRelay::show(const AgentKey& key) {
    const std::lock_guard lock(m_mutex);
    m_shown = key;
}

void AgentRelay::cancel() {
    m_isCancelled = true;
    const std::uint64_t one = 1;
    if (m_stopped >= 0 && ::write(m_stopped, &one, sizeof one) < 0)
        return; // it is set already
}

void AgentRelay::stop() {
    cancel();
    if (m_thread.joinable())
        m_thread.join();
}

void AgentRelay::run(const QString& path) {
    const int agent = connectTo(path);
    QByteArray message;
    std::optional<QList<AgentKey>> keys;
    if (agent >= 0 && send(agent, QByteArray(1, kRequestIdentities)) && receive(agent, message))
        keys = parseAgentKeys(message);
    m_callbacks.listed(keys.value_or(QList<AgentKey>()),
                       keys         ? QString()
                       : agent >= 0 ? QStringLiteral("the agent at %1 does not answer").arg(path)
                                    : QStringLiteral("no agent at %1").arg(path));
    while (keys && receive(m_inner, message))
        if (!send(m_inner, answerTo(message, agent)))
            break;
    ::shutdown(m_inner, SHUT_RDWR); // libssh waits no longer
    if (agent >= 0)
        ::close(agent);
}

QByteArray AgentRelay::answerTo(const QByteArray& request, int agent) {
    const char kind = request.isEmpty() ? '\0' : request[0];
    if (kind == kRequestIdentities) {
        const std::lock_guard lock(m_mutex);
        return QByteArray(1, kIdentities) + number(1) + string(m_shown.blob) +
               string(m_shown.comment.toUtf8());
    }
    if (kind != kSignRequest)
        return QByteArray(1, kFailure);
    qsizetype at = 1;
    const QString type = typeOfBlob(takeString(request, at).value_or(QByteArray()));
    const bool isTouched = type.startsWith(u"sk-");
    ++m_signatures;
    if (isTouched)
        m_callbacks.touch(true);
    QByteArray reply;
    if (!send(agent, request) || !receive(agent, reply) || !reply.startsWith(kSignResponse)) {
        ++m_refusals;
        reply = QByteArray(1, kFailure);
    }
    if (isTouched)
        m_callbacks.touch(false);
    return reply;
}

bool AgentRelay::readFully(int fd, char* to, qsizetype size) const {
    while (size > 0) {
        pollfd waits[2] = {{fd, POLLIN, 0}, {m_stopped, POLLIN, 0}};
        if ((::poll(waits, 2, -1) < 0 && errno != EINTR) || m_isCancelled)
            return false;
        const ssize_t got = ::recv(fd, to, static_cast<std::size_t>(size), MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
            return false;
        if (got > 0) {
            to += got;
            size -= got;
        }
    }
    return true;
}

bool AgentRelay::writeFully(int fd, const QByteArray& bytes) const {
    qsizetype sent = 0;
    while (sent < bytes.size()) {
        pollfd waits[2] = {{fd, POLLOUT, 0}, {m_stopped, POLLIN, 0}};
        if ((::poll(waits, 2, -1) < 0 && errno != EINTR) || m_isCancelled)
            return false;
        const ssize_t put =
            ::send(fd, bytes.constData() + sent, static_cast<std::size_t>(bytes.size() - sent),
                   MSG_DONTWAIT | MSG_NOSIGNAL);
        if (put < 0 && errno != EAGAIN && errno != EINTR)
            return false;
        sent += std::max<ssize_t>(put, 0);
    }
    return true;
}

bool AgentRelay::receive(int fd, QByteArray& message) const {
    char head[4];
    if (!readFully(fd, head, sizeof head))
        return false;
    const auto size = qFromBigEndian<quint32>(head);
    if (size == 0 || size > kLargestMessage)
        return false;
    message.resize(size);
    return readFully(fd, message.data(), size);
}

bool AgentRelay::send(int fd, const QByteArray& message) const {
    return writeFully(fd, string(message));
}

} // namespace lockstep::ssh::detail
