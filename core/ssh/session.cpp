// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/ssh/detail/session.h"

#include "core/ssh/detail/flow.h"

#include <libssh/server.h>

#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

namespace lockstep::ssh::detail {

namespace {

/// What tells one open socket from a later one with the same descriptor; 0: it is closed.
ino_t socketNumber(int fd) {
    struct stat facts {};
    return fd >= 0 && ::fstat(fd, &facts) == 0 ? facts.st_ino : 0;
}

} // namespace

QString plainText(const char* text) {
    constexpr qsizetype longest = 64 * 1024;
    QString plain;
    const QString all = QString::fromUtf8(text ? text : "").left(longest);
    for (const QChar c : all)
        if (c == u'\n' || c == u'\t' ||
            (c.category() != QChar::Other_Control && c.category() != QChar::Other_Format))
            plain += c;
    return plain;
}

void wipe(QByteArray& secret) {
    if (!secret.isEmpty())
        ::explicit_bzero(secret.data(), static_cast<std::size_t>(secret.size()));
    secret = QByteArray();
}

Session::Session(SessionPlan plan)
    : m_plan(std::move(plan))
    , m_deadline(this)
    , m_alive(this) {
    m_deadline.setSingleShot(true);
    connect(&m_deadline, &QTimer::timeout, this, &Session::tooLate);
    connect(&m_alive, &QTimer::timeout, this, &Session::checkAlive);
}

Session::~Session() {
    m_isEnding = true;
    m_dialer.reset();
    shutdown();
}

void Session::tooLate() {
    const std::string seconds = std::to_string(m_plan.stepTimeout.count() / 1000);
    if (m_step == Step::KeyList) { // as if there were no agent
        listKeys({}, QStringLiteral("the agent did not answer"));
        return advance();
    }
    std::string what = "The login was not answered in time: ";
    if (m_step == Step::Connect)
        what = "The connection was not made in time (" +
               (m_dialer ? m_dialer->tried().toStdString() : "") + "): ";
    else if (m_step == Step::KeyExchange)
        what = "The SSH server did not answer in time: ";
    fail({Code::TimedOut,
          what + seconds +
              " s without an answer. A firewall may drop the packets, or the host is overloaded or "
              "asleep.",
          who()});
}

void Session::start() {
    Q_EMIT stateChanged(Connection::State::Connecting);
    m_step = Step::Connect;
    armStep();
    if (m_plan.fd >= 0)
        return connected(std::exchange(m_plan.fd, -1));
    if (!m_plan.where.proxyCommand.isEmpty())
        return runProxyCommand();
    m_dialer = std::make_unique<Dialer>(m_plan.where.hostname, m_plan.where.port,
                                        m_plan.where.addressFamily);
    connect(m_dialer.get(), &Dialer::connected, this, [this](int fd) {
        dropDialer();
        connected(fd);
    });
    connect(m_dialer.get(), &Dialer::failed, this, [this](const QString& why) {
        fail({Code::Unreachable, why.toStdString(), who()});
    });
    m_dialer->start();
}

void Session::armStep() {
    m_deadline.start(m_plan.stepTimeout);
}

std::string Session::who() const {
    std::string text = m_plan.where.text().toStdString();
    if (m_plan.hops > 1)
        text += " (hop " + std::to_string(m_plan.hop) + " of " + std::to_string(m_plan.hops) + ")";
    return text;
}

QString Session::libraryError() const {
    return QString::fromUtf8(ssh_get_error(m_session)).trimmed();
}

/// Runs the steps until one has to wait for the other side or for a person.
void Session::advance() {
    if (m_isAdvancing)
        return;
    m_isAdvancing = true;
    for (Step before = Step::Idle; before != m_step;) {
        before = m_step;
        switch (m_step) {
        case Step::KeyExchange:
            keyExchange();
            break;
        case Step::AuthNone:
            authNone();
            break;
        case Step::AuthNext:
            authNext();
            break;
        case Step::KeyOffer:
            keyOffer();
            break;
        case Step::KeySign:
            keySign();
            break;
        case Step::AgentKey:
            agentKey();
            break;
        case Step::Interactive:
            interactive();
            break;
        case Step::Password:
            password();
            break;
        case Step::Open:
            collectFlows();
            break;
        case Step::Idle:
        case Step::Connect:
        case Step::HostKey:
        case Step::KeyList:
        case Step::AskSecret:
        case Step::Closed:
            break;
        }
    }
    m_isAdvancing = false;
    watch();
}

/// Which readiness of the socket wakes us. While a person is asked none does: a readable socket
/// that nobody reads would spin.
void Session::watch() {
    const bool isWaiting = m_step == Step::HostKey || m_step == Step::AskSecret ||
                           m_step == Step::KeyList || m_step == Step::Connect;
    if (!m_session || m_step == Step::Closed)
        return unwatch();
    const int fd = ssh_get_fd(m_session);
    if (fd < 0)
        return;
    if (!m_readable) {
        m_readable = std::make_unique<QSocketNotifier>(fd, QSocketNotifier::Read);
        connect(m_readable.get(), &QSocketNotifier::activated, this, &Session::advance);
        m_writable = std::make_unique<QSocketNotifier>(fd, QSocketNotifier::Write);
        connect(m_writable.get(), &QSocketNotifier::activated, this, &Session::advance);
    }
    m_readable->setEnabled(!isWaiting);
    m_writable->setEnabled(!isWaiting && (ssh_get_poll_flags(m_session) & SSH_WRITE_PENDING) != 0);
}

void Session::unwatch() {
    discard(m_readable);
    discard(m_writable);
}

/// Later, for we may be in its signal; at once where no later comes.
void Session::discard(std::unique_ptr<QSocketNotifier>& notifier) const {
    if (!notifier)
        return;
    notifier->setEnabled(false);
    if (m_isEnding)
        notifier.reset();
    else
        notifier.release()->deleteLater();
}

void Session::dropDialer() {
    if (!m_dialer)
        return;
    m_dialer->disconnect(this);
    m_dialer.release()->deleteLater(); // we may be in its signal
}

void Session::ask(const Question& question) {
    ++m_question;
    m_asked = question.kind;
    m_deadline.stop();
    Q_EMIT stateChanged(Connection::State::Asking);
    Q_EMIT asked(m_question, question);
}

/// sshd does so when a person thinks for longer than its LoginGraceTime.
bool Session::hasHungUp() const {
    char first = 0;
    return ::recv(ssh_get_fd(m_session), &first, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

Question Session::questionOf(Question::Kind kind) const {
    Question question;
    question.kind = kind;
    question.host = m_plan.where.text();
    question.destination = m_plan.destination;
    question.hop = m_plan.hop;
    question.hops = m_plan.hops;
    return question;
}

void Session::fail(Error error, bool isRetryable) {
    if (m_step == Step::Closed)
        return;
    const bool wasOpen = m_step == Step::Open;
    m_step = Step::Closed;
    m_deadline.stop();
    m_alive.stop();
    while (!m_flows.empty())
        endFlow(m_flows.begin()->first, error);
    releaseSession();
    Q_EMIT stateChanged(Connection::State::Closed);
    if (wasOpen)
        Q_EMIT lost(error);
    else
        Q_EMIT failed(error, isRetryable);
}

void Session::checkAlive() {
    if (m_step != Step::Open)
        return;
    if (m_traffic.in_bytes != m_lastBytes) {
        m_lastBytes = m_traffic.in_bytes;
        m_silences = 0;
        return;
    }
    if (++m_silences > m_plan.where.aliveCountMax) {
        const auto silence = m_plan.aliveInterval * m_silences;
        return fail({Code::Unreachable,
                     "The host gave no sign of life for " + std::to_string(silence.count() / 1000) +
                         " s; the connection is given up.",
                     who()});
    }
    ssh_send_keepalive(m_session);
    advance();
}

void Session::shutdown() {
    m_step = Step::Closed;
    m_deadline.stop();
    m_alive.stop();
    while (!m_flows.empty())
        endFlow(m_flows.begin()->first,
                Error{Code::Cancelled, "The connection was closed.", who()});
    releaseSession();
}

void Session::releaseSession() {
    unwatch();
    dropDialer();
    m_proxyTalks.reset();
    m_plan.agent->stop();
    wipe(m_secret);
    if (m_socket >= 0 && !m_session)
        ::close(m_socket);
    m_socket = -1;
    for (int* fd : {&m_plan.fd, &m_proxyErrors})
        if (*fd >= 0)
            ::close(std::exchange(*fd, -1));
    ssh_key_free(m_key);
    m_key = nullptr;
    if (m_event) {
        if (m_session)
            ssh_event_remove_session(m_event, m_session);
        ssh_event_free(m_event);
        m_event = nullptr;
    }
    if (m_session) {
        const int fd = ssh_get_fd(m_session);
        const auto before = socketNumber(fd);
        ssh_disconnect(m_session);
        ssh_free(m_session);
        m_session = nullptr;
        // libssh closes a socket that it was given after an error, and else leaves it to us.
        if (before != 0 && socketNumber(fd) == before)
            ::close(fd);
    }
    if (m_proxyPid > 0) {
        const auto pid = static_cast<pid_t>(std::exchange(m_proxyPid, 0));
        ::kill(-pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
    }
}

} // namespace lockstep::ssh::detail
