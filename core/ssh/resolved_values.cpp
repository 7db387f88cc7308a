// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/ssh/detail/resolved_values.h"

#include "core/ssh/detail/config_keywords.h"

#include <QFileInfo>

#include <algorithm>

namespace lockstep::ssh::detail {

namespace {

constexpr int kDefaultAlive = 15;
constexpr int kDefaultConnect = 15;

bool isNone(const QString& value) {
    return value.isEmpty() || value.compare(u"none", Qt::CaseInsensitive) == 0;
}

/// Fills one Resolved; each step may refuse.
class Filling {
public:
    Filling(const ConfigValues& values, const Destination& destination, const Account& account)
        : m_values(values)
        , m_destination(destination)
        , m_account(account) {}

    Result<Resolved> run() {
        LOCKSTEP_TRY(fillPlace());
        LOCKSTEP_TRY(fillWay());
        LOCKSTEP_TRY(fillIdentities());
        fillHostKeys();
        fillLogin();
        fillNotes();
        return std::move(m_out);
    }

private:
    QString first(const char16_t* keyword) const {
        return m_values.value(QString::fromUtf16(keyword)).value(0);
    }
    bool isYes(const char16_t* keyword) const {
        const QString value = first(keyword);
        return value == u"yes" || value == u"true";
    }
    void note(const QString& text) { m_out.notes += text; }
    Error refuse(const QString& message) const {
        return {Code::InvalidArgument, message.toStdString(), m_destination.text().toStdString()};
    }

    Status fillPlace();
    Status fillWay();
    Status fillJumps(const QString& value);
    Status checkShellWords() const;
    Status fillIdentities();
    void fillHostKeys();
    void fillLogin();
    void fillNotes();

    const ConfigValues& m_values;
    const Destination& m_destination;
    const Account& m_account;
    Resolved m_out;
    Tokens m_tokens;
};

Status Filling::fillPlace() {
    m_out.hostname = first(u"hostname");
    m_out.user = first(u"user");
    m_out.port = first(u"port").toInt();
    if (m_out.hostname.isEmpty() || m_out.user.isEmpty() || m_out.port < 1)
        return Error{Code::Corrupt,
                     "ssh -G did not say host, user and port. Try it by hand, and look whether "
                     "another program is called ssh.",
                     m_destination.text().toStdString()};
    m_out.addressFamily = first(u"addressfamily");
    m_out.hostKeyAlias = first(u"hostkeyalias");
    m_tokens = connectionTokens({m_out.hostname, m_destination.host, m_out.user,
                                 QString::number(m_out.port), m_out.hostKeyAlias,
                                 isNone(first(u"proxyjump")) ? QString() : first(u"proxyjump")},
                                m_account);
    return {};
}

/// A ProxyCommand is a line for a shell, so what stands for %h and %r must be none for it.
Status Filling::checkShellWords() const {
    static const QString shell = QStringLiteral("'`\"$\\;&<>|(){}");
    for (const QString& word : {m_out.hostname, m_destination.host, m_out.user})
        if (word.startsWith(u'-') || std::any_of(word.begin(), word.end(), [](QChar c) {
                return shell.contains(c) || c.isSpace() || c.category() == QChar::Other_Control;
            }))
            return refuse(QStringLiteral("\"%1\" cannot go through a ProxyCommand: a shell would "
                                         "read it as more than a name.")
                              .arg(word));
    return {};
}

Status Filling::fillWay() {
    if (const QString command = first(u"proxycommand"); !isNone(command)) {
        LOCKSTEP_TRY(checkShellWords());
        Tokens tokens;
        for (const char16_t letter : {u'h', u'k', u'n', u'p', u'r'})
            tokens[letter] = m_tokens.value(letter);
        const auto expanded = expandTokens(command, tokens, QStringLiteral("ProxyCommand"));
        if (!expanded)
            return refuse(QString::fromStdString(expanded.error().message));
        m_out.proxyCommand = *expanded;
        if (isYes(u"proxyusefdpass"))
            return Error{Code::Unsupported,
                         "ProxyUseFdpass is not supported. Use a ProxyCommand that carries the "
                         "bytes itself (ProxyUseFdpass no).",
                         m_destination.text().toStdString()};
    }
    return fillJumps(first(u"proxyjump"));
}

Status Filling::fillJumps(const QString& value) {
    if (isNone(value))
        return {};
    for (const QString& part : value.split(u',', Qt::SkipEmptyParts)) {
        const QString text = part.trimmed();
        // ProxyJump takes [user@]host[:port], where a plain destination has no port.
        const auto jump =
            parseDestination(text.startsWith(u"ssh://") ? text : QStringLiteral("ssh://") + text);
        if (!jump)
            return refuse(QStringLiteral("ProxyJump \"%1\" is not understood: %2")
                              .arg(text, QString::fromStdString(jump.error().message)));
        m_out.jumps += *jump;
    }
    const Destination& last = m_out.jumps.back(); // as OpenSSH looks
    if (last.host == m_out.hostname && (last.port == 0 ? 22 : last.port) == m_out.port &&
        (last.user.isEmpty() || last.user == m_out.user))
        return refuse(
            QStringLiteral("ProxyJump leads from %1 to itself. Give the jump host a "
                           "\"ProxyJump none\" of its own, before the line for all hosts.")
                .arg(last.text()));
    return {};
}

Status Filling::fillIdentities() {
    const QStringList usual = defaultIdentities();
    QStringList files;
    for (const QString& file : m_destination.identities)
        if (!m_values.value(QStringLiteral("identityfile")).contains(file))
            files += file; // ssh -i passes over a file that is not there; a person wants to know
    files += m_values.value(QStringLiteral("identityfile"));
    for (const QString& file : files) {
        if (isNone(file))
            continue;
        auto path = expandTokens(expandHome(file, m_account.home), m_tokens,
                                 QStringLiteral("IdentityFile"));
        if (path)
            path = expandEnvironment(*path, QStringLiteral("IdentityFile"));
        if (!path)
            return refuse(QString::fromStdString(path.error().message));
        // The private half may be in the agent alone.
        if (QFileInfo::exists(*path) || QFileInfo::exists(*path + QStringLiteral(".pub")))
            m_out.identityFiles += *path;
        else if (!usual.contains(file))
            note(QStringLiteral("The key file %1 does not exist.").arg(*path));
    }
    m_out.identityFiles.removeDuplicates();
    m_out.identitiesOnly = isYes(u"identitiesonly");
    const QString agent = first(u"identityagent");
    if (agent.startsWith(u'$')) // $NAME: the variable holds the path; unset, there is no agent
        m_out.identityAgent =
            qEnvironmentVariable(agent.mid(1).toLocal8Bit().constData(), QStringLiteral("none"));
    else if (agent != u"SSH_AUTH_SOCK")
        m_out.identityAgent = expandHome(agent, m_account.home);
    return {};
}

void Filling::fillHostKeys() {
    const auto paths = [&](const char16_t* keyword) {
        // `ssh -G` parts the files with spaces and quotes nothing: what is no start of a path goes
        // on with the file before.
        QStringList list;
        for (const QString& each : m_values.value(QString::fromUtf16(keyword))
                                       .join(u' ')
                                       .split(u' ', Qt::SkipEmptyParts)) {
            const bool isStart =
                list.isEmpty() || each.startsWith(u'/') || each.startsWith(u'~') || isNone(each);
            if (isStart)
                list += each;
            else
                list.back() += u' ' + each;
        }
        list.removeIf([](const QString& each) { return isNone(each); });
        for (QString& each : list)
            each = expandHome(each, m_account.home);
        return list;
    };
    m_out.userKnownHosts = paths(u"userknownhostsfile");
    m_out.globalKnownHosts = paths(u"globalknownhostsfile");
    m_out.hashKnownHosts = isYes(u"hashknownhosts");
    for (const QString& name : first(u"hostkeyalgorithms").split(u',', Qt::SkipEmptyParts))
        if (usableHostKeyAlgorithms().contains(name) && !m_out.hostKeyAlgorithms.contains(name))
            m_out.hostKeyAlgorithms += name;
    const QString strict = first(u"stricthostkeychecking");
    if (strict == u"no" || strict == u"off" || strict == u"false")
        m_out.strictHostKeyChecking = QStringLiteral("no");
    else if (strict == u"yes" || strict == u"true")
        m_out.strictHostKeyChecking = QStringLiteral("yes");
    else if (!strict.isEmpty())
        m_out.strictHostKeyChecking = strict;
}

void Filling::fillLogin() {
    const int interval = first(u"serveraliveinterval").toInt();
    m_out.aliveInterval = interval > 0 ? interval : kDefaultAlive;
    m_out.aliveCountMax = std::max(1, first(u"serveralivecountmax").toInt());
    const int timeout = first(u"connecttimeout").toInt(); // "none" reads as 0
    m_out.connectTimeout = timeout > 0 ? timeout : kDefaultConnect;
    const QString publicKey = first(u"pubkeyauthentication");
    m_out.publicKey = publicKey != u"no" && publicKey != u"false";
    m_out.password = isYes(u"passwordauthentication");
    m_out.interactive = isYes(u"kbdinteractiveauthentication");
    m_out.preferredAuthentications =
        first(u"preferredauthentications").split(u',', Qt::SkipEmptyParts);
    if (m_out.preferredAuthentications.isEmpty())
        return;
    const auto isPreferred = [&](const char16_t* method) {
        return m_out.preferredAuthentications.contains(QString::fromUtf16(method));
    };
    m_out.publicKey = m_out.publicKey && isPreferred(u"publickey");
    m_out.password = m_out.password && isPreferred(u"password");
    m_out.interactive = m_out.interactive && isPreferred(u"keyboard-interactive");
}

/// What a person's own ssh would do and we do not.
void Filling::fillNotes() {
    if (const QString agent = first(u"forwardagent"); !agent.isEmpty() && agent != u"no")
        note(QStringLiteral("ForwardAgent is not followed: Lockstep never forwards your agent to a "
                            "host, where its administrators could use it."));
    if (m_out.strictHostKeyChecking == u"no" || m_out.strictHostKeyChecking == u"accept-new")
        note(QStringLiteral("StrictHostKeyChecking %1 is not followed: an unknown host key is "
                            "always shown first, a changed one never accepted.")
                 .arg(m_out.strictHostKeyChecking));
    const std::pair<const char16_t*, const char16_t*> others[] = {
        {u"revokedhostkeys", u"RevokedHostKeys %1 is not read; mark revoked keys with @revoked in "
                             u"known_hosts."},
        {u"knownhostscommand", u"KnownHostsCommand \"%1\" is not run; host keys come from files."},
        {u"certificatefile", u"CertificateFile %1 is not offered; only plain keys are."},
        {u"bindaddress", u"BindAddress %1 is not followed."},
        {u"bindinterface", u"BindInterface %1 is not followed."}};
    for (const auto& [keyword, text] : others)
        if (const QString value = first(keyword); !isNone(value))
            note(QString::fromUtf16(text).arg(value));
}

} // namespace

ConfigValues parseClientOutput(const QByteArray& output) {
    ConfigValues values;
    for (const QByteArray& line : output.split('\n')) {
        const qsizetype space = line.indexOf(' ');
        if (space > 0)
            values[QString::fromUtf8(line.left(space)).toLower()] +=
                QString::fromUtf8(line.mid(space + 1)).trimmed();
    }
    return values;
}

Result<Resolved> resolvedFrom(const ConfigValues& values, const Destination& destination,
                              const Account& account) {
    return Filling(values, destination, account).run();
}

} // namespace lockstep::ssh::detail
