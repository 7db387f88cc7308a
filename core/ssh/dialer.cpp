// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/ssh/detail/dialer.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>

namespace lockstep::ssh::detail {

namespace {

constexpr std::chrono::milliseconds kStagger{250}; ///< RFC 8305, 5

const sockaddr* socketAddress(const QByteArray& address) {
    return reinterpret_cast<const sockaddr*>(address.constData());
}

QString nameOf(const QByteArray& address) {
    char text[NI_MAXHOST] = "";
    ::getnameinfo(socketAddress(address), static_cast<socklen_t>(address.size()), text, sizeof text,
                  nullptr, 0, NI_NUMERICHOST);
    return QString::fromLatin1(text);
}

/// The two families by turns, each in the resolver's order, beginning with the first one's.
std::deque<QByteArray> interleaved(const std::deque<QByteArray>& addresses) {
    std::deque<QByteArray> first;
    std::deque<QByteArray> second;
    for (const QByteArray& address : addresses)
        (socketAddress(address)->sa_family == socketAddress(addresses.front())->sa_family ? first
                                                                                          : second)
            .push_back(address);
    std::deque<QByteArray> all;
    while (!first.empty() || !second.empty())
        for (auto* from : {&first, &second})
            if (!from->empty()) {
                all.push_back(from->front());
                from->pop_front();
            }
    return all;
}

} // namespace

/// Names are looked up on a thread that can be left behind: getaddrinfo cannot be interrupted.
struct Dialer::Lookup {
    std::mutex mutex;
    Dialer* dialer = nullptr; ///< null once nobody waits
    int error = 0;
    std::deque<QByteArray> addresses;
};

Dialer::Dialer(const QString& host, int port, const QString& family)
    : m_host(host)
    , m_port(port)
    , m_family(family == u"inet"    ? AF_INET
               : family == u"inet6" ? AF_INET6
                                    : AF_UNSPEC)
    , m_stagger(this) {
    m_stagger.setInterval(kStagger);
    connect(&m_stagger, &QTimer::timeout, this, &Dialer::next);
}

Dialer::~Dialer() {
    if (m_lookup) {
        const std::lock_guard lock(m_lookup->mutex);
        m_lookup->dialer = nullptr;
    }
    for (Attempt& attempt : m_attempts) {
        attempt.ready.reset();
        ::close(attempt.fd);
    }
}

void Dialer::start() {
    m_lookup = std::make_shared<Lookup>();
    m_lookup->dialer = this;
    std::thread([lookup = m_lookup, host = m_host.toStdString(), port = std::to_string(m_port),
                 family = m_family] {
        addrinfo hints{};
        hints.ai_family = family;
        hints.ai_socktype = SOCK_STREAM;
        hints.ai_flags = AI_NUMERICSERV;
        addrinfo* found = nullptr;
        const int error = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
        const std::lock_guard lock(lookup->mutex);
        lookup->error = error;
        for (const addrinfo* each = found; each; each = each->ai_next)
            lookup->addresses.emplace_back(reinterpret_cast<const char*>(each->ai_addr),
                                           static_cast<qsizetype>(each->ai_addrlen));
        if (found)
            ::freeaddrinfo(found);
        if (lookup->dialer)
            QMetaObject::invokeMethod(
                lookup->dialer, [dialer = lookup->dialer] { dialer->found(); },
                Qt::QueuedConnection);
    }).detach();
}

void Dialer::found() {
    int error = 0;
    {
        const std::lock_guard lock(m_lookup->mutex);
        error = m_lookup->error;
        m_addresses = interleaved(m_lookup->addresses);
    }
    if (error != 0) {
        Q_EMIT failed(QStringLiteral("The name %1 is not known here: %2. Check the spelling, or "
                                     "give an address.")
                          .arg(m_host, QString::fromLocal8Bit(::gai_strerror(error))));
        return;
    }
    next();
}

void Dialer::next() {
    m_stagger.stop();
    while (!m_addresses.empty()) {
        const QByteArray address = m_addresses.front();
        m_addresses.pop_front();
        const QString name = nameOf(address);
        const int fd = ::socket(socketAddress(address)->sa_family,
                                SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (fd < 0 ||
            (::connect(fd, socketAddress(address), static_cast<socklen_t>(address.size())) != 0 &&
             errno != EINPROGRESS)) {
            const int error = errno;
            m_answers += name + QStringLiteral(": ") + QString::fromLocal8Bit(std::strerror(error));
            if (fd >= 0)
                ::close(fd);
            continue;
        }
        auto ready = std::make_unique<QSocketNotifier>(fd, QSocketNotifier::Write);
        connect(ready.get(), &QSocketNotifier::activated, this, [this, fd] { answered(fd); });
        m_attempts.push_back({fd, name, std::move(ready)});
        if (!m_addresses.empty())
            m_stagger.start();
        return;
    }
    giveUpIfDone();
}

void Dialer::answered(int fd) {
    const auto at = std::find_if(m_attempts.begin(), m_attempts.end(),
                                 [fd](const Attempt& attempt) { return attempt.fd == fd; });
    if (at == m_attempts.end())
        return;
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    at->ready->setEnabled(false);
    at->ready.release()->deleteLater(); // we are in its signal
    const QString name = at->name;
    m_attempts.erase(at);
    if (error == 0) {
        m_stagger.stop();
        m_addresses.clear();
        Q_EMIT connected(fd);
        return;
    }
    ::close(fd);
    m_answers += name + QStringLiteral(": ") + QString::fromLocal8Bit(std::strerror(error));
    next();
}

void Dialer::giveUpIfDone() {
    if (m_attempts.empty() && m_addresses.empty())
        Q_EMIT failed(QStringLiteral("The SSH server cannot be reached at port %1 (%2). Check that "
                                     "the host is up, and that sshd listens there.")
                          .arg(m_port)
                          .arg(m_answers.join(u"; ")));
}

QString Dialer::tried() const {
    QStringList all = m_answers;
    for (const Attempt& attempt : m_attempts)
        all += attempt.name + QStringLiteral(": no answer");
    if (all.isEmpty())
        all += QStringLiteral("the name %1 is still being looked up").arg(m_host);
    return all.join(u"; ");
}

} // namespace lockstep::ssh::detail
