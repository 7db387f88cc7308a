// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/ssh/detail/session.h"

#include "core/ssh/detail/flow.h"

#include <libssh/server.h>

#include <signal.h>
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

Session::Session(SessionPlan plan)
    : m_plan(std::move(plan))
    , m_deadline(this)
    , m_alive(this) {
    m_deadline.setSingleShot(true);
    connect(&m_deadline, &QTimer::timeout, this, [this] {
        const char* what = m_step == Step::Connect       ? "The connection was not made in time: "
                           : m_step == Step::KeyExchange ? "The SSH server did not answer in time: "
                                                         : "The login was not answered in time: ";
        fail({Code::TimedOut,
              what + std::to_string(m_plan.stepTimeout.count() / 1000) +
                  " s without an answer. A firewall may drop the packets, or the host is "
                  "overloaded or asleep.",
              who()});
    });
    connect(&m_alive, &QTimer::timeout, this, &Session::checkAlive);
}

Session::~Session() {
    shutdown();
    std::fill(m_secret.begin(), m_secret.end(), '\0');
}

void Session::start() {
    Q_EMIT stateChanged(Connection::State::Connecting);
    m_step = Step::Connect;
    armStep();
    if (m_plan.fd >= 0)
        return connected(std::exchange(m_plan.fd, -1));
    if (!m_plan.where.proxyCommand.isEmpty())
        return runProxyCommand();
    lookUp();
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

void Session::wake() {
    advance();
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
        case Step::Agent:
            agent();
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
    const bool isWaiting =
        m_step == Step::HostKey || m_step == Step::AskSecret || m_step == Step::Connect;
    if (!m_session || m_step == Step::Closed || isWaiting) {
        m_readable.reset();
        m_writable.reset();
        return;
    }
    const int fd = ssh_get_fd(m_session);
    if (fd < 0)
        return;
    if (!m_readable) {
        m_readable = std::make_unique<QSocketNotifier>(fd, QSocketNotifier::Read);
        connect(m_readable.get(), &QSocketNotifier::activated, this, &Session::wake);
        m_writable = std::make_unique<QSocketNotifier>(fd, QSocketNotifier::Write);
        connect(m_writable.get(), &QSocketNotifier::activated, this, &Session::wake);
    }
    m_writable->setEnabled((ssh_get_poll_flags(m_session) & SSH_WRITE_PENDING) != 0);
}

void Session::ask(const Question& question) {
    ++m_question;
    m_asked = question.kind;
    m_deadline.stop();
    Q_EMIT stateChanged(Connection::State::Asking);
    Q_EMIT asked(m_question, question);
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
    m_readable.reset();
    m_writable.reset();
    abandonLookup();
    if (m_socket >= 0 && !m_session)
        ::close(m_socket);
    m_socket = -1;
    if (m_plan.fd >= 0)
        ::close(std::exchange(m_plan.fd, -1));
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
