// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// The way to an encrypted line: addresses, TCP or ProxyCommand, key exchange, host key.
#include "core/ssh/detail/session.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <mutex>
#include <thread>

namespace lockstep::ssh::detail {

namespace {

/// Host key algorithms in the order in which we want them; an RSA key serves two.
QStringList algorithmsOf(const QString& keyType) {
    if (keyType == u"ssh-rsa")
        return {QStringLiteral("rsa-sha2-512"), QStringLiteral("rsa-sha2-256")};
    return {keyType};
}

/// Kinds that the host is known with come first, so that a known host is not taken for a new one.
QByteArray hostKeyAlgorithms(const QStringList& knownTypes) {
    static const QStringList usable{
        QStringLiteral("ssh-ed25519"),         QStringLiteral("ecdsa-sha2-nistp256"),
        QStringLiteral("ecdsa-sha2-nistp384"), QStringLiteral("ecdsa-sha2-nistp521"),
        QStringLiteral("rsa-sha2-512"),        QStringLiteral("rsa-sha2-256")};
    QStringList order;
    for (const QString& type : knownTypes)
        for (const QString& algorithm : algorithmsOf(type))
            if (usable.contains(algorithm) && !order.contains(algorithm))
                order += algorithm;
    for (const QString& algorithm : usable)
        if (!order.contains(algorithm))
            order += algorithm;
    return order.join(u',').toLatin1();
}

/// The key's own name for its kind: the first string of the blob.
QString typeOfBlob(const QByteArray& blob) {
    if (blob.size() < 4)
        return {};
    const auto at = [&](int i) { return static_cast<quint32>(static_cast<uchar>(blob[i])); };
    const quint32 size = at(0) << 24 | at(1) << 16 | at(2) << 8 | at(3);
    return QString::fromLatin1(blob.mid(4, std::min<quint32>(size, 64)));
}

} // namespace

/// Names are looked up on a thread that can be left behind: getaddrinfo cannot be interrupted.
struct Session::Lookup {
    std::mutex mutex;
    Session* session = nullptr; ///< null once nobody waits
    int error = 0;
    std::deque<QByteArray> addresses;
};

void Session::lookUp() {
    m_lookup = std::make_shared<Lookup>();
    m_lookup->session = this;
    const std::string host = m_plan.where.hostname.toStdString();
    const std::string port = std::to_string(m_plan.where.port);
    std::thread([lookup = m_lookup, host, port] {
        addrinfo hints{};
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
        if (lookup->session)
            QMetaObject::invokeMethod(
                lookup->session, [session = lookup->session] { session->connectNext(); },
                Qt::QueuedConnection);
    }).detach();
}

void Session::abandonLookup() {
    if (!m_lookup)
        return;
    const std::lock_guard lock(m_lookup->mutex);
    m_lookup->session = nullptr;
}

void Session::connectNext() {
    if (m_step != Step::Connect)
        return;
    if (m_lookup) {
        const std::lock_guard lock(m_lookup->mutex);
        m_lookup->session = nullptr;
        m_addresses = std::move(m_lookup->addresses);
        if (m_lookup->error != 0)
            return fail({Code::Unreachable,
                         "The name " + m_plan.where.hostname.toStdString() +
                             " is not known here: " + ::gai_strerror(m_lookup->error) +
                             ". Check the spelling, or give an address.",
                         who()});
    }
    m_lookup.reset();
    while (!m_addresses.empty()) {
        const QByteArray address = m_addresses.front();
        m_addresses.pop_front();
        const auto* target = reinterpret_cast<const sockaddr*>(address.constData());
        const int fd = ::socket(target->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (fd < 0)
            continue;
        if (::connect(fd, target, static_cast<socklen_t>(address.size())) == 0)
            return connected(fd);
        if (errno != EINPROGRESS) {
            m_connectErrors = std::strerror(errno);
            ::close(fd);
            continue;
        }
        m_socket = fd;
        m_writable = std::make_unique<QSocketNotifier>(fd, QSocketNotifier::Write);
        connect(m_writable.get(), &QSocketNotifier::activated, this, [this] {
            const int ready = std::exchange(m_socket, -1);
            m_writable.release()->deleteLater();
            int error = 0;
            socklen_t size = sizeof error;
            ::getsockopt(ready, SOL_SOCKET, SO_ERROR, &error, &size);
            if (error == 0)
                return connected(ready);
            m_connectErrors = std::strerror(error);
            ::close(ready);
            connectNext();
        });
        return;
    }
    fail({Code::Unreachable,
          "The SSH server cannot be reached at port " + std::to_string(m_plan.where.port) + ": " +
              m_connectErrors + ". Check that the host is up, and that sshd listens there.",
          who()});
}

void Session::runProxyCommand() {
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return fail({Code::Internal, "No socket pair can be made.", who()});
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, pair[1], 0);
    ::posix_spawn_file_actions_adddup2(&actions, pair[1], 1);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    // ssh_config(5): the command is run by the user's shell, so its text is the user's own.
    const std::string command = "exec " + m_plan.where.proxyCommand.toStdString();
    const char* words[] = {"/bin/sh", "-c", command.c_str(), nullptr};
    pid_t pid = 0;
    const int error = ::posix_spawn(&pid, words[0], &actions, &attributes,
                                    const_cast<char* const*>(words), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
    ::close(pair[1]);
    if (error != 0) {
        ::close(pair[0]);
        return fail({Code::Unreachable, "The ProxyCommand cannot be started.", who()});
    }
    m_proxyPid = pid;
    connected(pair[0]);
}

void Session::connected(int fd) {
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); // fails on a socket pair: fine
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
    m_socket = fd;
    beginKeyExchange();
    advance();
}

void Session::beginKeyExchange() {
    m_session = ssh_new();
    const auto known =
        KnownHosts::read(m_plan.where.userKnownHosts + m_plan.where.globalKnownHosts);
    if (!known)
        return fail(known.error());
    const QString name =
        m_plan.where.hostKeyAlias.isEmpty() ? m_plan.where.hostname : m_plan.where.hostKeyAlias;
    const QByteArray algorithms = hostKeyAlgorithms(
        known->typesOf(name, m_plan.where.hostKeyAlias.isEmpty() ? m_plan.where.port : 22));
    const QByteArray host = m_plan.where.hostname.toUtf8();
    const QByteArray user = m_plan.where.user.toUtf8();
    const int no = 0;
    const bool never = false;
    ssh_options_set(m_session, SSH_OPTIONS_PROCESS_CONFIG, &never);
    ssh_options_set(m_session, SSH_OPTIONS_HOST, host.constData());
    ssh_options_set(m_session, SSH_OPTIONS_PORT, &m_plan.where.port);
    ssh_options_set(m_session, SSH_OPTIONS_USER, user.constData());
    ssh_options_set(m_session, SSH_OPTIONS_FD, &m_socket);
    ssh_options_set(m_session, SSH_OPTIONS_HOSTKEYS, algorithms.constData());
    ssh_options_set(m_session, SSH_OPTIONS_GSSAPI_AUTH, &no);
    if (!m_plan.where.identityAgent.isEmpty())
        ssh_options_set(m_session, SSH_OPTIONS_IDENTITY_AGENT,
                        m_plan.where.identityAgent.toUtf8().constData());
    ssh_set_blocking(m_session, 0);
    ssh_set_counters(m_session, &m_traffic, nullptr);
    m_step = Step::KeyExchange;
    armStep();
}

void Session::keyExchange() {
    const int rc = ssh_connect(m_session);
    if (rc == SSH_AGAIN)
        return;
    if (rc == SSH_OK)
        return checkHostKey();
    const bool isSilent = ssh_get_serverbanner(m_session) == nullptr;
    fail({Code::Unreachable,
          isSilent ? "Something accepted the connection and hung up before it said that it is an "
                     "SSH server. sshd does so when too many connect at once (MaxStartups)."
                   : "The key exchange failed: " + libraryError().toStdString() + ".",
          who()},
         isSilent);
}

void Session::checkHostKey() {
    ssh_key key = nullptr;
    char* base64 = nullptr;
    if (ssh_get_server_publickey(m_session, &key) != SSH_OK ||
        ssh_pki_export_pubkey_base64(key, &base64) != SSH_OK) {
        ssh_key_free(key);
        return fail({Code::Internal, "The host key could not be read.", who()});
    }
    m_hostKey.blob = QByteArray::fromBase64(base64);
    m_hostKey.type = typeOfBlob(m_hostKey.blob);
    ssh_string_free_char(base64);
    ssh_key_free(key);

    const Resolved& where = m_plan.where;
    const QString name = where.hostKeyAlias.isEmpty() ? where.hostname : where.hostKeyAlias;
    const int port = where.hostKeyAlias.isEmpty() ? where.port : 22;
    const auto known = KnownHosts::read(where.userKnownHosts + where.globalKnownHosts);
    if (!known)
        return fail(known.error());
    const HostKeyCheck check = known->check(name, port, m_hostKey);
    const std::string at = check.line.file.toStdString() + ":" + std::to_string(check.line.line);
    const std::string offered = fingerprint(m_hostKey.blob).toStdString();
    switch (check.verdict) {
    case HostKeyCheck::Verdict::Match:
        m_step = Step::AuthNone;
        return armStep();
    case HostKeyCheck::Verdict::Revoked:
        return fail({Code::HostKeyChanged,
                     "The host key " + offered + " is marked as revoked in " + at +
                         ". Do not connect; ask who runs this host.",
                     who()});
    case HostKeyCheck::Verdict::Changed:
        return fail({Code::HostKeyChanged,
                     "The host key has changed. Known is " +
                         fingerprint(check.line.key.blob).toStdString() + " (" +
                         check.line.key.type.toStdString() + ") from " + at +
                         "; the host now shows " + offered +
                         ". Either it was installed anew, or someone stands in between. If you "
                         "are sure, remove the old line with: ssh-keygen -f \"" +
                         check.line.file.toStdString() + "\" -R \"" +
                         knownHostsName(name, port).toStdString() + "\"",
                     who()});
    case HostKeyCheck::Verdict::Unknown:
        break;
    }
    Question question = questionOf(Question::Kind::HostKey);
    question.keyType = m_hostKey.type;
    question.fingerprint = fingerprint(m_hostKey.blob);
    question.knownHosts = where.userKnownHosts.value(0);
    if (!check.otherTypes.isEmpty())
        question.notes += QStringLiteral("This host is known with another kind of key (%1).")
                              .arg(check.otherTypes.join(u", "));
    if (!check.otherNames.isEmpty())
        question.notes += QStringLiteral("The same key is known as %1: the same machine under "
                                         "another name, or a copy of it.")
                              .arg(check.otherNames.join(u", "));
    if (check.hasCertAuthority)
        question.notes += QStringLiteral("There is an @cert-authority line for this host; "
                                         "host certificates are not supported, so its key is "
                                         "asked for.");
    m_step = Step::HostKey;
    ask(question);
}

void Session::hostKeyAnswered(bool accepted) {
    if (!accepted)
        return fail({Code::HostKeyUnknown,
                     "The host key " + fingerprint(m_hostKey.blob).toStdString() + " (" +
                         m_hostKey.type.toStdString() +
                         ") is not known and was not accepted. Compare it with what "
                         "ssh-keygen -l says on the host, then connect once and accept it.",
                     who()});
    const Resolved& where = m_plan.where;
    const bool hasAlias = !where.hostKeyAlias.isEmpty();
    if (where.userKnownHosts.isEmpty())
        Q_EMIT bannerReceived(QStringLiteral("The host key is not kept: no UserKnownHostsFile."));
    else if (const Status added = addKnownHost(
                 where.userKnownHosts.front(), hasAlias ? where.hostKeyAlias : where.hostname,
                 hasAlias ? 22 : where.port, m_hostKey, where.hashKnownHosts);
             !added)
        return fail(added.error());
    m_step = Step::AuthNone;
    armStep();
}

} // namespace lockstep::ssh::detail
