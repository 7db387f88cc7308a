// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// The way to an encrypted line: addresses, TCP or ProxyCommand, key exchange, host key.
#include "core/ssh/detail/session.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mutex>

namespace lockstep::ssh::detail {

namespace {

/// Host key algorithms in the order in which we want them; an RSA key serves two.
QStringList algorithmsOf(const QString& keyType) {
    if (keyType == u"ssh-rsa")
        return {QStringLiteral("rsa-sha2-512"), QStringLiteral("rsa-sha2-256")};
    return {keyType};
}

/// Kinds that the host is known with come first, so that a known host is not taken for a new one;
/// `usable` are those of the configuration that we can check.
QByteArray hostKeyAlgorithms(const QStringList& knownTypes, const QStringList& usable) {
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

} // namespace

void Session::runProxyCommand() {
    int pair[2];
    int errors[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return fail({Code::Internal, "No socket pair can be made.", who()});
    m_socket = pair[0];
    if (::pipe2(errors, O_CLOEXEC | O_NONBLOCK) != 0) {
        ::close(pair[1]);
        return fail({Code::Internal, "No pipe can be made.", who()});
    }
    m_proxyErrors = errors[0];
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, pair[1], 0);
    ::posix_spawn_file_actions_adddup2(&actions, pair[1], 1);
    ::posix_spawn_file_actions_adddup2(&actions, errors[1], 2);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    sigset_t broken;
    ::sigemptyset(&broken);
    ::sigaddset(&broken, SIGPIPE); // we ignore it, the command shall not
    ::posix_spawnattr_setsigdefault(&attributes, &broken);
    // ssh_config(5): the command is run by the user's shell, so its text is the user's own.
    const std::string command = "exec " + m_plan.where.proxyCommand.toStdString();
    const char* words[] = {"/bin/sh", "-c", command.c_str(), nullptr};
    pid_t pid = 0;
    const int error = ::posix_spawn(&pid, words[0], &actions, &attributes,
                                    const_cast<char* const*>(words), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
    ::close(pair[1]);
    ::close(errors[1]);
    if (error != 0)
        return fail({Code::Unreachable, "The ProxyCommand cannot be started.", who()});
    m_proxyPid = pid;
    m_proxyTalks = std::make_unique<QSocketNotifier>(m_proxyErrors, QSocketNotifier::Read);
    connect(m_proxyTalks.get(), &QSocketNotifier::activated, this, [this] { proxyComplaint(); });
    connected(std::exchange(m_socket, -1));
}

/// What the ProxyCommand wrote to standard error so far, its last lines.
QString Session::proxyComplaint() {
    constexpr qsizetype kept = 2000;
    char piece[4096];
    while (m_proxyErrors >= 0) {
        const ssize_t got = ::read(m_proxyErrors, piece, sizeof piece);
        if (got <= 0) {
            if (got == 0 && m_proxyTalks)
                m_proxyTalks->setEnabled(false);
            break;
        }
        m_proxySaid = (m_proxySaid + QByteArray(piece, got)).right(kept);
    }
    return plainText(m_proxySaid.constData()).trimmed();
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
    const auto known =
        KnownHosts::read(m_plan.where.userKnownHosts + m_plan.where.globalKnownHosts);
    if (!known)
        return fail(known.error());
    const QStringList& usable = m_plan.where.hostKeyAlgorithms;
    if (usable.isEmpty())
        return fail({Code::Unsupported,
                     "HostKeyAlgorithms of the SSH configuration names no kind of host key that "
                     "can be checked here. Add ssh-ed25519, ecdsa-sha2-nistp256 or rsa-sha2-512.",
                     who()});
    m_session = ssh_new();
    const QString name =
        m_plan.where.hostKeyAlias.isEmpty() ? m_plan.where.hostname : m_plan.where.hostKeyAlias;
    const QByteArray algorithms = hostKeyAlgorithms(
        known->typesOf(name, m_plan.where.hostKeyAlias.isEmpty() ? m_plan.where.port : 22), usable);
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
    // The agent is reached through our relay only.
    ssh_options_set(m_session, SSH_OPTIONS_IDENTITY_AGENT, "/dev/null");
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
    if (isSilent && m_proxyPid > 0) {
        int status = 0;
        const auto pid = static_cast<pid_t>(m_proxyPid);
        const QString complaint = proxyComplaint();
        if (::waitpid(pid, &status, WNOHANG) == pid) {
            ::kill(-pid, SIGKILL); // what it left behind
            m_proxyPid = 0;
        }
        return fail({Code::Unreachable,
                     "The ProxyCommand \"" + m_plan.where.proxyCommand.toStdString() +
                         "\" ended before an SSH server answered" +
                         (complaint.isEmpty() ? "." : ": " + complaint.toStdString()),
                     who()});
    }
    fail({Code::Unreachable,
          isSilent ? "Something accepted the connection and hung up before it said that it is an "
                     "SSH server. sshd does so when too many connect at once (MaxStartups), and "
                     "other servers always: check the port."
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
    for (const KnownHostsLine& line : check.otherLines)
        question.notes +=
            QStringLiteral("This host is known with another kind of key: %1 %2, %3:%4.")
                .arg(line.key.type, fingerprint(line.key.blob), line.file)
                .arg(line.line);
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
    const QString name = hasAlias ? where.hostKeyAlias : where.hostname;
    const int port = hasAlias ? 22 : where.port;
    // Several connections may have asked for the same key; each reads and writes the whole file.
    static std::mutex writing;
    const std::lock_guard lock(writing);
    const auto known = KnownHosts::read(where.userKnownHosts);
    if (known && known->check(name, port, m_hostKey).verdict == HostKeyCheck::Verdict::Match) {
        m_step = Step::AuthNone;
        return;
    }
    if (where.userKnownHosts.isEmpty())
        Q_EMIT bannerReceived(QStringLiteral("The host key is not kept: no UserKnownHostsFile."));
    else if (const Status added = addKnownHost(where.userKnownHosts.front(), name, port, m_hostKey,
                                               where.hashKnownHosts);
             !added)
        return fail(added.error());
    m_step = Step::AuthNone;
    armStep();
}

} // namespace lockstep::ssh::detail
