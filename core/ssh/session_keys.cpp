// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// Logging in with keys: those of the configuration first, then the agent's, at most five in all.
// Whatever the agent holds is signed there, so that no passphrase is asked for it.
#include "core/ssh/detail/session.h"

#include <QFile>
#include <QFileInfo>

namespace lockstep::ssh::detail {

namespace {

constexpr int kMostOffers = 5; ///< sshd's MaxAuthTries is 6, and a password needs one
constexpr int kRounds = 3;

bool isSecurityKey(const QByteArray& blob) {
    return typeOfBlob(blob).startsWith(u"sk-");
}

QByteArray blobOf(ssh_key key) {
    char* base64 = nullptr;
    if (ssh_pki_export_pubkey_base64(key, &base64) != SSH_OK)
        return {};
    const QByteArray blob = QByteArray::fromBase64(base64);
    ssh_string_free_char(base64);
    return blob;
}

/// From the file beside it, or from the key file itself: OpenSSH's own format shows it.
QByteArray publicHalf(const QString& file) {
    ssh_key key = nullptr;
    for (const QString& each : {file + QStringLiteral(".pub"), file}) {
        if (ssh_pki_import_pubkey_file(QFile::encodeName(each).constData(), &key) != SSH_OK)
            continue;
        const QByteArray blob = blobOf(key);
        ssh_key_free(key);
        return blob;
    }
    return {};
}

} // namespace

QString Session::Candidate::label() const {
    if (!file.isEmpty())
        return QStringLiteral("key %1").arg(file);
    return QStringLiteral("agent key %1 (%2)").arg(inAgent.comment, fingerprint(inAgent.blob));
}

void Session::startAgent() {
    const QString& named = m_plan.where.identityAgent;
    m_step = Step::KeyList;
    const QString path = named.isEmpty() ? qEnvironmentVariable("SSH_AUTH_SOCK") : named;
    if (path == u"none" || path.isEmpty() || !m_plan.where.publicKey)
        return listKeys({}, {});
    AgentRelay::Callbacks callbacks;
    callbacks.listed = [this](const QList<detail::AgentKey>& keys, const QString& complaint) {
        QMetaObject::invokeMethod(
            this,
            [this, keys, complaint] {
                listKeys(keys, complaint);
                advance();
            },
            Qt::QueuedConnection);
    };
    // This thread waits in libssh meanwhile, so the agent's own thread tells.
    Question question = questionOf(Question::Kind::Touch);
    callbacks.touch = [this, question](bool isWaiting) {
        if (!isWaiting) {
            Q_EMIT stateChanged(Connection::State::Authenticating);
            Q_EMIT touched();
            return;
        }
        Q_EMIT stateChanged(Connection::State::Asking);
        Q_EMIT touchWanted(question);
    };
    m_plan.agent->start(path, callbacks);
}

void Session::listKeys(const QList<detail::AgentKey>& agentKeys, const QString& complaint) {
    if (m_step != Step::KeyList)
        return;
    m_areKeysListed = true;
    if (!complaint.isEmpty() && !m_plan.where.identityAgent.isEmpty())
        m_tried += complaint;
    QList<detail::AgentKey> others = agentKeys;
    QList<Candidate> sealed;
    for (const QString& file : m_plan.where.identityFiles)
        addKeyFile(file, others, sealed);
    if (!m_plan.where.identitiesOnly)
        for (const detail::AgentKey& key : others)
            m_keysLeft += Candidate{{}, key, key.blob};
    m_keysLeft += sealed;
    if (const int fd = m_plan.agent->takeSocket(); fd >= 0)
        ssh_set_agent_socket(m_session, fd);
    m_step = Step::AuthNext;
    armStep();
}

void Session::addKeyFile(const QString& file, QList<detail::AgentKey>& agentKeys,
                         QList<Candidate>& sealed) {
    Candidate candidate{file, {}, publicHalf(file)};
    const auto held =
        std::find_if(agentKeys.begin(), agentKeys.end(), [&](const detail::AgentKey& key) {
            return !candidate.blob.isEmpty() && key.blob == candidate.blob;
        });
    if (held != agentKeys.end()) {
        candidate.inAgent = *held;
        agentKeys.erase(held);
    } else if (isSecurityKey(candidate.blob)) {
        m_tried += QStringLiteral("key %1 (a security key: load it into the agent with ssh-add %1)")
                       .arg(file);
        return;
    } else if (!QFileInfo(file).isReadable()) {
        m_tried += QStringLiteral("key %1 (%2)")
                       .arg(file, QFileInfo::exists(file) ? QStringLiteral("cannot be read")
                                                          : QStringLiteral("does not exist"));
        return;
    } else if (candidate.blob.isEmpty()) {
        ssh_key key = nullptr;
        const QByteArray path = QFile::encodeName(file);
        if (ssh_pki_import_privkey_file(path.constData(), nullptr, nullptr, nullptr, &key) !=
            SSH_OK) {
            sealed += candidate;
            return;
        }
        candidate.blob = blobOf(key);
        ssh_key_free(key);
    }
    m_keysLeft += candidate;
}

/// Takes the next key; false where there is none or enough were offered.
bool Session::nextKey() {
    if (m_keysLeft.isEmpty())
        return false;
    if (m_offers >= kMostOffers) {
        m_tried += QStringLiteral("%1 more were not offered, for sshd takes only so many: name the "
                                  "right one with IdentityFile")
                       .arg(m_keysLeft.size());
        m_keysLeft.clear();
        return false;
    }
    m_candidate = m_keysLeft.takeFirst();
    ++m_offers;
    m_phraseRounds = 0;
    if (m_candidate.blob.isEmpty()) {
        m_step = Step::KeySign;
    } else if (ssh_pki_import_pubkey_base64(
                   m_candidate.blob.toBase64().constData(),
                   ssh_key_type_from_name(typeOfBlob(m_candidate.blob).toLatin1().constData()),
                   &m_key) == SSH_OK) {
        m_step = Step::KeyOffer;
    } else {
        m_key = nullptr;
        m_tried += m_candidate.label() + QStringLiteral(" (a kind that is not supported)");
    }
    return true;
}

void Session::keyOffer() {
    const int rc = ssh_userauth_try_publickey(m_session, nullptr, m_key);
    if (rc == SSH_AUTH_AGAIN)
        return;
    ssh_key_free(std::exchange(m_key, nullptr));
    if (rc != SSH_AUTH_SUCCESS)
        return authResult(rc, m_candidate.label());
    armStep();
    m_step = Step::KeySign;
    if (m_candidate.inAgent.blob.isEmpty())
        return;
    m_plan.agent->show(m_candidate.inAgent);
    m_refusals = m_plan.agent->refusals();
    m_step = Step::AgentKey;
}

/// Reads the private key; false while a passphrase is asked for, or where it is of no use.
bool Session::openKey() {
    const QByteArray path = QFile::encodeName(m_candidate.file);
    const int rc = ssh_pki_import_privkey_file(path.constData(),
                                               m_secret.isNull() ? nullptr : m_secret.constData(),
                                               nullptr, nullptr, &m_key);
    wipe(m_secret);
    if (rc == SSH_OK && !isSecurityKey(blobOf(m_key)))
        return true;
    if (rc == SSH_OK) {
        m_tried += QStringLiteral("%1 (a security key: load it into the agent with ssh-add)")
                       .arg(m_candidate.label());
        m_step = Step::AuthNext;
        return false;
    }
    m_key = nullptr;
    if (rc == SSH_EOF || m_phraseRounds >= kRounds) {
        m_tried += m_candidate.label() + (rc == SSH_EOF ? QStringLiteral(" (cannot be read)")
                                                        : QStringLiteral(" (wrong passphrase)"));
        m_step = Step::AuthNext;
        return false;
    }
    Question question = questionOf(Question::Kind::Passphrase);
    question.keyFile = m_candidate.file;
    question.prompts = {{QStringLiteral("Passphrase of %1").arg(m_candidate.file), false}};
    question.round = ++m_phraseRounds;
    m_step = Step::AskSecret;
    ask(question);
    return false;
}

void Session::keySign() {
    if (!m_key && !openKey())
        return;
    const int rc = ssh_userauth_publickey(m_session, nullptr, m_key);
    if (rc == SSH_AUTH_AGAIN)
        return;
    authResult(rc, m_candidate.label());
}

/// A key of the agent that the host would take: libssh offers it again and waits here until the
/// agent has signed. No time is taken meanwhile: a person may have to touch a key. (Not for keys
/// that may be refused: libssh 0.10 leaks a list of keys with each.)
void Session::agentKey() {
    const int signatures = m_plan.agent->signatures();
    int rc = ssh_userauth_agent(m_session, nullptr);
    if (m_plan.agent->signatures() != signatures)
        armStep();
    if (rc == SSH_AUTH_AGAIN)
        return;
    const bool hasRefused = m_plan.agent->refusals() != m_refusals;
    if (rc == SSH_AUTH_ERROR && hasRefused && ssh_is_connected(m_session))
        rc = SSH_AUTH_DENIED; // libssh's error; the session is well
    authResult(rc, m_candidate.label() + (hasRefused
                                              ? QStringLiteral(" (the agent did not sign: the key "
                                                               "was not touched, or not allowed)")
                                              : QString()));
}

} // namespace lockstep::ssh::detail
