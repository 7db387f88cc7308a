// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// Logging in, in OpenSSH's order: keys (session_keys.cpp), the server's own questions, a password;
// as many factors as the server wants, and saying at the end what was tried.
#include "core/ssh/detail/session.h"

namespace lockstep::ssh::detail {

namespace {

constexpr int kRounds = 3;

} // namespace

void Session::authNone() {
    const int rc = ssh_userauth_none(m_session, nullptr);
    if (rc == SSH_AUTH_AGAIN)
        return;
    if (char* banner = ssh_get_issue_banner(m_session)) {
        Q_EMIT bannerReceived(plainText(banner));
        ssh_string_free_char(banner);
    }
    Q_EMIT stateChanged(Connection::State::Authenticating);
    authResult(rc, {});
}

void Session::authResult(int rc, const QString& what) {
    switch (rc) {
    case SSH_AUTH_AGAIN:
        return;
    case SSH_AUTH_SUCCESS:
        return authenticated();
    case SSH_AUTH_PARTIAL: // one factor of several
        m_isInteractiveOver = false;
        m_interactiveRounds = m_interactiveDenials = m_passwordRounds = 0;
        break;
    case SSH_AUTH_DENIED:
        if (!what.isEmpty())
            m_tried += what;
        break;
    default:
        if (!what.isEmpty())
            m_tried += what;
        return fail(
            {Code::Unauthenticated,
             "The login broke off: " + libraryError().toStdString() + "." +
                 (m_tried.isEmpty() ? "" : " Tried: " + m_tried.join(u"; ").toStdString() + "."),
             who()});
    }
    m_methods = ssh_userauth_list(m_session, nullptr);
    m_step = Step::AuthNext;
    armStep();
}

void Session::authNext() {
    const Resolved& where = m_plan.where;
    ssh_key_free(std::exchange(m_key, nullptr));
    if ((m_methods & SSH_AUTH_METHOD_PUBLICKEY) != 0 && where.publicKey) {
        if (!m_areKeysListed)
            startAgent();
        while (m_step == Step::AuthNext && nextKey()) {
        }
        if (m_step != Step::AuthNext)
            return;
    }
    if ((m_methods & SSH_AUTH_METHOD_INTERACTIVE) != 0 && where.interactive &&
        !m_isInteractiveOver) {
        m_step = Step::Interactive;
        return;
    }
    if (!askPassword())
        fail(refused());
}

bool Session::askPassword() {
    if ((m_methods & SSH_AUTH_METHOD_PASSWORD) == 0 || !m_plan.where.password ||
        m_passwordRounds >= kRounds)
        return false;
    Question question = questionOf(Question::Kind::Password);
    question.prompts = {{QStringLiteral("Password of %1").arg(m_plan.where.text()), false}};
    question.round = ++m_passwordRounds;
    m_step = Step::AskSecret;
    ask(question);
    return true;
}

Error Session::refused() const {
    QStringList wanted;
    const std::pair<int, QString> names[] = {
        {SSH_AUTH_METHOD_PUBLICKEY, QStringLiteral("a key")},
        {SSH_AUTH_METHOD_INTERACTIVE, QStringLiteral("keyboard-interactive")},
        {SSH_AUTH_METHOD_PASSWORD, QStringLiteral("a password")}};
    for (const auto& [bit, name] : names)
        if ((m_methods & bit) != 0)
            wanted += name;
    return {
        Code::Unauthenticated,
        "The host let nobody in as " + m_plan.where.user.toStdString() + ". It takes " +
            (wanted.isEmpty() ? "nothing that we know"
                              : wanted.join(QStringLiteral(" or ")).toStdString()) +
            "; tried: " +
            (m_tried.isEmpty() ? "nothing, for want of a key" : m_tried.join(u"; ").toStdString()) +
            ". Put your public key into ~/.ssh/authorized_keys there, or name the right key "
            "with IdentityFile in ~/.ssh/config.",
        who()};
}

void Session::interactive() {
    int rc = SSH_AUTH_INFO;
    int count = 0;
    while (rc == SSH_AUTH_INFO && count == 0) { // a message without a question goes on by itself
        rc = ssh_userauth_kbdint(m_session, nullptr, nullptr);
        if (rc == SSH_AUTH_AGAIN)
            return;
        count = rc == SSH_AUTH_INFO ? ssh_userauth_kbdint_getnprompts(m_session) : 0;
    }
    if (rc != SSH_AUTH_INFO) {
        const bool wasAsked = m_interactiveRounds > 0;
        if (rc == SSH_AUTH_DENIED)
            m_isInteractiveOver = ++m_interactiveDenials >= kRounds || !wasAsked;
        return authResult(rc, wasAsked ? QStringLiteral("keyboard-interactive") : QString());
    }
    Question question = questionOf(Question::Kind::Interactive);
    question.title = plainText(ssh_userauth_kbdint_getname(m_session));
    question.instruction = plainText(ssh_userauth_kbdint_getinstruction(m_session));
    for (int i = 0; i < count; ++i) {
        char echo = 0;
        const char* text =
            ssh_userauth_kbdint_getprompt(m_session, static_cast<unsigned>(i), &echo);
        question.prompts += Question::Prompt{plainText(text), echo != 0};
    }
    question.round = ++m_interactiveRounds;
    m_step = Step::AskSecret;
    ask(question);
}

void Session::password() {
    const int rc = ssh_userauth_password(m_session, nullptr, m_secret.constData());
    if (rc == SSH_AUTH_AGAIN)
        return;
    wipe(m_secret);
    authResult(rc, QStringLiteral("password"));
}

void Session::answer(quint64 question, const std::optional<Answer>& answer) {
    if (question != m_question || (m_step != Step::HostKey && m_step != Step::AskSecret))
        return;
    Q_EMIT stateChanged(m_step == Step::HostKey ? Connection::State::Connecting
                                                : Connection::State::Authenticating);
    armStep();
    if (m_step == Step::HostKey)
        hostKeyAnswered(answer.has_value());
    else if (!answer)
        return fail({Code::Unauthenticated,
                     "The host asked for a secret and got no answer, so nobody logged in.", who()});
    if (m_step != Step::Closed && hasHungUp())
        return fail({Code::Unreachable,
                     "The host hung up while it waited for an answer (LoginGraceTime).", who()},
                    true);
    if (m_step == Step::AskSecret)
        useAnswer(*answer);
    advance();
}

void Session::useAnswer(const Answer& answer) {
    if (m_asked != Question::Kind::Interactive) {
        m_secret = answer.replies.value(0).toUtf8();
        m_step = m_asked == Question::Kind::Password ? Step::Password : Step::KeySign;
        return;
    }
    for (int i = 0; i < answer.replies.size(); ++i) {
        QByteArray reply = answer.replies[i].toUtf8();
        ssh_userauth_kbdint_setanswer(m_session, static_cast<unsigned>(i), reply.constData());
        wipe(reply);
    }
    m_step = Step::Interactive;
}

void Session::authenticated() {
    m_deadline.stop();
    m_tried.clear();
    ssh_key_free(std::exchange(m_key, nullptr));
    m_plan.agent->stop();
    m_step = Step::Open;
    m_event = ssh_event_new();
    ssh_event_add_session(m_event, m_session);
    m_lastBytes = m_traffic.in_bytes;
    m_alive.start(m_plan.aliveInterval);
    Q_EMIT stateChanged(Connection::State::Open);
    Q_EMIT opened();
}

} // namespace lockstep::ssh::detail
