// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "tests/support/agent_stub.h"

#include <QFile>
#include <QtEndian>

#include <sodium.h>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

namespace lockstep::support {

namespace {

const QByteArray kApplication = "ssh:";

QByteArray number(quint32 value) {
    QByteArray bytes(4, '\0');
    qToBigEndian(value, bytes.data());
    return bytes;
}

QByteArray string(const QByteArray& bytes) {
    return number(static_cast<quint32>(bytes.size())) + bytes;
}

QByteArray takeString(const QByteArray& bytes, qsizetype& at) {
    if (bytes.size() - at < 4)
        return {};
    const auto size = static_cast<qsizetype>(qFromBigEndian<quint32>(bytes.constData() + at));
    const QByteArray text = bytes.mid(at + 4, size);
    at += 4 + size;
    return text;
}

QByteArray typeName(AgentStub::Kind kind) {
    return kind == AgentStub::Kind::Ed25519 ? "ssh-ed25519" : "sk-ssh-ed25519@openssh.com";
}

const unsigned char* bytesOf(const QByteArray& bytes) {
    return reinterpret_cast<const unsigned char*>(bytes.constData());
}

unsigned char* bytesOf(QByteArray& bytes) {
    return reinterpret_cast<unsigned char*>(bytes.data());
}

QByteArray sha256(const QByteArray& bytes) {
    QByteArray hash(crypto_hash_sha256_BYTES, '\0');
    crypto_hash_sha256(bytesOf(hash), bytesOf(bytes),
                       static_cast<unsigned long long>(bytes.size()));
    return hash;
}

bool readFully(int fd, char* to, qsizetype size) {
    while (size > 0) {
        const ssize_t got = ::recv(fd, to, static_cast<std::size_t>(size), 0);
        if (got <= 0)
            return false;
        to += got;
        size -= got;
    }
    return true;
}

} // namespace

AgentStub::AgentStub() {
    const QByteArray path = QFile::encodeName(socketPath());
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.constData(), static_cast<std::size_t>(path.size()));
    m_stop = ::eventfd(0, EFD_CLOEXEC);
    m_listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (sodium_init() < 0 ||
        ::bind(m_listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(m_listener, 16) != 0)
        return;
    m_thread = std::thread([this] { serve(); });
}

AgentStub::~AgentStub() {
    const std::uint64_t one = 1;
    if (::write(m_stop, &one, sizeof one) == sizeof one && m_thread.joinable())
        m_thread.join();
    ::close(m_listener);
    ::close(m_stop);
}

QByteArray AgentStub::addKey(Kind kind, const QByteArray& comment) {
    QByteArray open(crypto_sign_PUBLICKEYBYTES, '\0');
    QByteArray secret(crypto_sign_SECRETKEYBYTES, '\0');
    crypto_sign_keypair(bytesOf(open), bytesOf(secret));
    QByteArray blob = string(typeName(kind)) + string(open);
    if (kind == Kind::SecurityKey)
        blob += string(kApplication);
    const std::lock_guard lock(m_mutex);
    m_keys.push_back({kind, blob, comment, secret});
    return typeName(kind) + ' ' + blob.toBase64() + ' ' + comment + '\n';
}

/// True when `fd` is readable in time; false at the time, or when the stub ends.
bool AgentStub::waits(int fd, std::chrono::milliseconds time) const {
    pollfd either[2] = {{m_stop, POLLIN, 0}, {fd, POLLIN, 0}};
    ::poll(either, fd >= 0 ? 2 : 1, static_cast<int>(time.count()));
    return (either[0].revents & POLLIN) == 0 && fd >= 0 && either[1].revents != 0;
}

void AgentStub::serve() {
    std::vector<int> clients;
    for (;;) {
        std::vector<pollfd> all{{m_stop, POLLIN, 0}, {m_listener, POLLIN, 0}};
        for (const int client : clients)
            all.push_back({client, POLLIN, 0});
        ::poll(all.data(), all.size(), -1);
        if (all[0].revents != 0)
            break;
        std::vector<int> left;
        for (std::size_t i = 2; i < all.size(); ++i)
            if (all[i].revents == 0 || serveOne(all[i].fd))
                left.push_back(all[i].fd);
            else
                ::close(all[i].fd);
        clients = std::move(left);
        if (all[1].revents != 0)
            clients.push_back(::accept4(m_listener, nullptr, nullptr, SOCK_CLOEXEC));
    }
    for (const int client : clients)
        ::close(client);
}

bool AgentStub::serveOne(int client) {
    char head[4];
    if (!readFully(client, head, sizeof head))
        return false;
    QByteArray request(static_cast<qsizetype>(qFromBigEndian<quint32>(head)), '\0');
    if (!readFully(client, request.data(), request.size()))
        return false;
    const QByteArray reply = string(answerTo(request));
    return ::send(client, reply.constData(), static_cast<std::size_t>(reply.size()),
                  MSG_NOSIGNAL) == reply.size();
}

QByteArray AgentStub::answerTo(const QByteArray& request) {
    constexpr char failure = 5;
    constexpr char requestIdentities = 11;
    constexpr char identities = 12;
    constexpr char signRequest = 13;
    constexpr char signResponse = 14;
    if (request.startsWith(requestIdentities)) {
        const std::lock_guard lock(m_mutex);
        QByteArray reply = QByteArray(1, identities) + number(static_cast<quint32>(m_keys.size()));
        for (const Key& key : m_keys)
            reply += string(key.blob) + string(key.comment);
        return reply;
    }
    if (!request.startsWith(signRequest))
        return QByteArray(1, failure);
    ++m_signatures;
    waits(-1, std::chrono::milliseconds(m_delay));
    qsizetype at = 1;
    const QByteArray blob = takeString(request, at);
    const QByteArray message = takeString(request, at);
    const std::lock_guard lock(m_mutex);
    for (const Key& key : m_keys)
        if (key.blob == blob && !m_refuses)
            return QByteArray(1, signResponse) + string(sign(key, message));
    return QByteArray(1, failure);
}

QByteArray AgentStub::sign(const Key& key, const QByteArray& message) {
    const QByteArray tail = QByteArray(1, '\x01') + number(7); // touched; a counter
    const QByteArray said =
        key.kind == Kind::Ed25519 ? message : sha256(kApplication) + tail + sha256(message);
    QByteArray signature(crypto_sign_BYTES, '\0');
    crypto_sign_detached(bytesOf(signature), nullptr, bytesOf(said),
                         static_cast<unsigned long long>(said.size()), bytesOf(key.secret));
    const QByteArray whole = string(typeName(key.kind)) + string(signature);
    return key.kind == Kind::Ed25519 ? whole : whole + tail;
}

} // namespace lockstep::support
