// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// Logging in: keys of files, keys of the agent, the server's own questions, a password; in
// OpenSSH's order, and saying at the end what was tried.
#include "core/ssh/detail/session.h"

#include <QFile>
#include <QFileInfo>

namespace lockstep::ssh::detail {

namespace {

constexpr int kMostOffers = 5; ///< sshd's MaxAuthTries is 6, and a password needs one
constexpr int kRounds = 3;

bool isSecurityKey(ssh_key key) {
    const ssh_keytypes_e type = ssh_key_type(key);
    return type == SSH_KEYTYPE_SK_ECDSA || type == SSH_KEYTYPE_SK_ED25519;
}

} // namespace

void Session::authNone() {
    const int rc = ssh_userauth_none(m_session, nullptr);
    if (rc == SSH_AUTH_AGAIN)
        return;
    if (char* banner = ssh_get_issue_banner(m_session)) {
        Q_EMIT bannerReceived(QString::fromUtf8(banner));
        ssh_string_free_char(banner);
    }
    m_keysLeft = m_plan.where.identityFiles;
    Q_EMIT stateChanged(Connection::State::Authenticating);
    authResult(rc, {});
}

void Session::authResult(int rc, const QString& what) {
    switch (rc) {
    case SSH_AUTH_AGAIN:
        return;
    case SSH_AUTH_SUCCESS:
        return authenticated();
    case SSH_AUTH_PARTIAL:
        m_interactiveDone = false;
        m_rounds = 0;
        break;
    case SSH_AUTH_DENIED:
        if (!what.isEmpty())
            m_tried += what;
        break;
    default:
        return fail(
            {Code::Unauthenticated,
             "The login broke off: " + libraryError().toStdString() +
                 (m_tried.isEmpty() ? "." : ". Tried: " + m_tried.join(u"; ").toStdString() + "."),
             who()});
    }
    m_methods = ssh_userauth_list(m_session, nullptr);
    m_step = Step::AuthNext;
    armStep();
}

void Session::authNext() {
    const Resolved& where = m_plan.where;
    ssh_key_free(m_key);
    m_key = nullptr;
    if ((m_methods & SSH_AUTH_METHOD_PUBLICKEY) != 0 && where.publicKey) {
        while (!m_keysLeft.isEmpty() && m_offers < kMostOffers)
            if (nextKeyFile())
                return;
        if (!m_triedAgent && !where.identitiesOnly && where.identityAgent != u"none") {
            m_triedAgent = true;
            m_step = Step::Agent;
            return;
        }
    }
    if ((m_methods & SSH_AUTH_METHOD_INTERACTIVE) != 0 && where.interactive && !m_interactiveDone) {
        m_step = Step::Interactive;
        return;
    }
    if ((m_methods & SSH_AUTH_METHOD_PASSWORD) != 0 && where.password && m_rounds < kRounds) {
        Question question = questionOf(Question::Kind::Password);
        question.prompts = {{QStringLiteral("Password of %1").arg(where.text()), false}};
        question.round = ++m_rounds;
        m_step = Step::AskSecret;
        return ask(question);
    }
    QStringList wanted;
    const std::pair<int, QString> names[] = {
        {SSH_AUTH_METHOD_PUBLICKEY, QStringLiteral("a key")},
        {SSH_AUTH_METHOD_INTERACTIVE, QStringLiteral("keyboard-interactive")},
        {SSH_AUTH_METHOD_PASSWORD, QStringLiteral("a password")}};
    for (const auto& [bit, name] : names)
        if ((m_methods & bit) != 0)
            wanted += name;
    fail({Code::Unauthenticated,
          "The host let nobody in as " + where.user.toStdString() + ". It takes " +
              (wanted.isEmpty() ? "nothing that we know"
                                : wanted.join(QStringLiteral(" or ")).toStdString()) +
              "; tried: " +
              (m_tried.isEmpty() ? "nothing, for want of a key"
                                 : m_tried.join(u"; ").toStdString()) +
              ". Put your public key into ~/.ssh/authorized_keys there, or name the right key "
              "with IdentityFile in ~/.ssh/config.",
          who()});
}

/// Takes the next key file: offers its public half, or asks for the passphrase where only the
/// private half is there. False where this file cannot be used.
bool Session::nextKeyFile() {
    m_keyFile = m_keysLeft.takeFirst();
    const QByteArray path = QFile::encodeName(m_keyFile);
    if (ssh_pki_import_pubkey_file((path + ".pub").constData(), &m_key) != SSH_OK)
        m_key = nullptr;
    if (m_key && isSecurityKey(m_key)) {
        m_tried += QStringLiteral("%1 (a security key: load it into the agent with ssh-add)")
                       .arg(m_keyFile);
        ssh_key_free(std::exchange(m_key, nullptr));
        return false;
    }
    ++m_offers;
    m_rounds = 0;
    m_step = m_key ? Step::KeyOffer : Step::KeySign;
    return true;
}

void Session::keyOffer() {
    const int rc = ssh_userauth_try_publickey(m_session, nullptr, m_key);
    if (rc == SSH_AUTH_AGAIN)
        return;
    ssh_key_free(std::exchange(m_key, nullptr));
    if (rc == SSH_AUTH_SUCCESS) {
        m_step = Step::KeySign;
        return armStep();
    }
    authResult(rc, QStringLiteral("key %1").arg(m_keyFile));
}

void Session::keySign() {
    if (!m_key) {
        const QByteArray path = QFile::encodeName(m_keyFile);
        const bool hasSecret = !m_secret.isNull();
        const int rc = ssh_pki_import_privkey_file(
            path.constData(), hasSecret ? m_secret.constData() : nullptr, nullptr, nullptr, &m_key);
        std::fill(m_secret.begin(), m_secret.end(), '\0');
        m_secret = QByteArray();
        if (rc != SSH_OK) {
            m_key = nullptr;
            if (rc == SSH_EOF || !QFileInfo(m_keyFile).isReadable() || m_rounds >= kRounds) {
                m_tried +=
                    QStringLiteral("key %1 (%2)")
                        .arg(m_keyFile, m_rounds >= kRounds ? QStringLiteral("wrong passphrase")
                                                            : QStringLiteral("cannot be read"));
                m_rounds = 0;
                m_step = Step::AuthNext;
                return;
            }
            Question question = questionOf(Question::Kind::Passphrase);
            question.keyFile = m_keyFile;
            question.prompts = {{QStringLiteral("Passphrase of %1").arg(m_keyFile), false}};
            question.round = ++m_rounds;
            m_step = Step::AskSecret;
            return ask(question);
        }
        if (isSecurityKey(m_key)) {
            m_tried += QStringLiteral("%1 (a security key: load it into the agent with ssh-add)")
                           .arg(m_keyFile);
            m_step = Step::AuthNext;
            return;
        }
    }
    const int rc = ssh_userauth_publickey(m_session, nullptr, m_key);
    if (rc == SSH_AUTH_AGAIN)
        return;
    m_rounds = 0;
    authResult(rc, QStringLiteral("key %1").arg(m_keyFile));
}

void Session::agent() {
    const int rc = ssh_userauth_agent(m_session, nullptr);
    if (rc == SSH_AUTH_AGAIN)
        return;
    // Without an agent libssh says ERROR, though the session is well.
    const bool isBroken = rc == SSH_AUTH_ERROR && !ssh_is_connected(m_session);
    authResult(rc == SSH_AUTH_ERROR && !isBroken ? int{SSH_AUTH_DENIED} : rc,
               QStringLiteral("the agent's keys"));
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
        m_interactiveDone = rc != SSH_AUTH_DENIED || m_rounds >= kRounds || m_rounds == 0;
        return authResult(rc, m_rounds > 0 ? QStringLiteral("keyboard-interactive") : QString());
    }
    Question question = questionOf(Question::Kind::Interactive);
    question.title = QString::fromUtf8(ssh_userauth_kbdint_getname(m_session));
    question.instruction = QString::fromUtf8(ssh_userauth_kbdint_getinstruction(m_session));
    for (int i = 0; i < count; ++i) {
        char echo = 0;
        const char* text =
            ssh_userauth_kbdint_getprompt(m_session, static_cast<unsigned>(i), &echo);
        question.prompts += Question::Prompt{QString::fromUtf8(text), echo != 0};
    }
    question.round = ++m_rounds;
    m_step = Step::AskSecret;
    ask(question);
}

void Session::password() {
    const int rc = ssh_userauth_password(m_session, nullptr, m_secret.constData());
    if (rc == SSH_AUTH_AGAIN)
        return;
    std::fill(m_secret.begin(), m_secret.end(), '\0');
    m_secret = QByteArray();
    authResult(rc, QStringLiteral("password"));
}

void Session::answer(quint64 question, const std::optional<Answer>& answer) {
    if (question != m_question || (m_step != Step::HostKey && m_step != Step::AskSecret))
        return;
    Q_EMIT stateChanged(m_step == Step::HostKey ? Connection::State::Connecting
                                                : Connection::State::Authenticating);
    armStep();
    if (m_step == Step::HostKey) {
        hostKeyAnswered(answer.has_value());
        return advance();
    }
    if (!answer)
        return fail(
            {Code::Unauthenticated, "The question was not answered, so nobody logged in.", who()});
    if (m_asked == Question::Kind::Passphrase || m_asked == Question::Kind::Password) {
        m_secret = answer->replies.value(0).toUtf8();
        m_step = m_asked == Question::Kind::Password ? Step::Password : Step::KeySign;
    } else {
        for (int i = 0; i < answer->replies.size(); ++i)
            ssh_userauth_kbdint_setanswer(m_session, static_cast<unsigned>(i),
                                          answer->replies[i].toUtf8().constData());
        m_step = Step::Interactive;
    }
    advance();
}

void Session::authenticated() {
    m_deadline.stop();
    m_tried.clear();
    m_step = Step::Open;
    m_event = ssh_event_new();
    ssh_event_add_session(m_event, m_session);
    m_lastBytes = m_traffic.in_bytes;
    m_alive.start(m_plan.aliveInterval);
    Q_EMIT stateChanged(Connection::State::Open);
    Q_EMIT opened();
}

} // namespace lockstep::ssh::detail
