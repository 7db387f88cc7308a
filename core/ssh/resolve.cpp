// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/ssh/resolve.h"

#include <QDir>
#include <QFileInfo>
#include <QHash>
#include <QProcess>
#include <QTimer>

#include <memory>

namespace lockstep::ssh {

namespace {

constexpr int kDefaultAlive = 15;
constexpr int kDefaultConnect = 15;

QString expandHome(const QString& path) {
    return path == u"~" || path.startsWith(u"~/") ? QDir::homePath() + path.mid(1) : path;
}

bool isNone(const QString& value) {
    return value.isEmpty() || value.compare(u"none", Qt::CaseInsensitive) == 0;
}

/// The tokens that ssh_config(5) allows in ProxyCommand.
QString expandTokens(const QString& text, const Resolved& values, const QString& typed) {
    QString out;
    for (qsizetype i = 0; i < text.size(); ++i) {
        if (text[i] != u'%' || i + 1 == text.size()) {
            out += text[i];
            continue;
        }
        const QChar token = text[++i];
        if (token == u'%')
            out += u'%';
        else if (token == u'h')
            out += values.hostname;
        else if (token == u'n')
            out += typed;
        else if (token == u'p')
            out += QString::number(values.port);
        else if (token == u'r')
            out += values.user;
        else
            out += QString(u'%') + token;
    }
    return out;
}

Result<QList<Destination>> parseJumps(const QString& value) {
    QList<Destination> jumps;
    if (isNone(value))
        return jumps;
    for (const QString& part : value.split(u',', Qt::SkipEmptyParts)) {
        const QString text = part.trimmed();
        // ProxyJump takes [user@]host[:port], where a plain destination has no port.
        auto jump =
            parseDestination(text.startsWith(u"ssh://") ? text : QStringLiteral("ssh://") + text);
        if (!jump)
            return jump.error();
        jumps += *jump;
    }
    return jumps;
}

Error failed(Code code, const std::string& message, const Destination& destination) {
    return {code, message, destination.text().toStdString()};
}

/// One `ssh -G` with its deadline.
class Query : public QObject {
public:
    Query(const Destination& destination, const ResolveOptions& options, QObject* context,
          std::function<void(Result<Resolved>)> done)
        : QObject(context)
        , m_destination(destination)
        , m_program(options.program)
        , m_done(std::move(done)) {
        m_deadline.setSingleShot(true);
        connect(&m_deadline, &QTimer::timeout, this, [this] {
            finish(failed(Code::TimedOut,
                          "ssh -G did not answer in time; a \"Match exec\" of the SSH "
                          "configuration may hang.",
                          m_destination));
        });
        connect(&m_process, &QProcess::finished, this, [this] { answered(); });
        connect(&m_process, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
            if (error == QProcess::FailedToStart)
                finish(failed(Code::NotFound,
                              "The OpenSSH client (" + m_program.toStdString() +
                                  ") could not be started; Lockstep asks it what the "
                                  "destination means. Install openssh-client.",
                              m_destination));
        });
        QStringList words{QStringLiteral("-G")};
        if (!options.configFile.isEmpty())
            words << QStringLiteral("-F") << options.configFile;
        if (!destination.user.isEmpty())
            words << QStringLiteral("-l") << destination.user;
        if (destination.port > 0)
            words << QStringLiteral("-p") << QString::number(destination.port);
        for (const QString& identity : destination.identities)
            words << QStringLiteral("-i") << identity;
        if (!destination.proxyJump.isEmpty())
            words << QStringLiteral("-J") << destination.proxyJump;
        words << QStringLiteral("--") << destination.host;
        m_deadline.start(options.deadline);
        m_process.setStandardInputFile(QProcess::nullDevice());
        m_process.start(m_program, words);
    }
    ~Query() override {
        m_process.disconnect(this);
        m_process.kill();
        m_process.waitForFinished(1000);
    }

private:
    void answered() {
        if (m_process.exitStatus() == QProcess::NormalExit && m_process.exitCode() == 0)
            return finish(parseResolved(m_process.readAllStandardOutput(), m_destination));
        const QByteArray text = m_process.readAllStandardError().trimmed();
        finish(failed(Code::InvalidArgument,
                      "ssh does not accept this destination or its configuration: " +
                          text.toStdString(),
                      m_destination));
    }
    void finish(Result<Resolved> result) {
        if (!m_done)
            return;
        deleteLater();
        std::exchange(m_done, nullptr)(std::move(result));
    }

    Destination m_destination;
    QString m_program;
    std::function<void(Result<Resolved>)> m_done;
    QProcess m_process;
    QTimer m_deadline;
};

} // namespace

QString Resolved::text() const {
    return Destination{hostname, user, port == 22 ? 0 : port, {}, {}}.text();
}

Result<Resolved> parseResolved(const QByteArray& output, const Destination& destination) {
    QHash<QString, QStringList> values;
    for (const QByteArray& line : output.split('\n')) {
        const qsizetype space = line.indexOf(' ');
        if (space > 0)
            values[QString::fromUtf8(line.left(space)).toLower()] +=
                QString::fromUtf8(line.mid(space + 1)).trimmed();
    }
    const auto first = [&](const char16_t* key) {
        const QStringList all = values.value(QString::fromUtf16(key));
        return all.isEmpty() ? QString() : all.front();
    };
    const auto isYes = [&](const char16_t* key) {
        const QString value = first(key);
        return value == u"yes" || value == u"true";
    };
    const auto files = [&](const char16_t* key) {
        QStringList list;
        for (const QString& path : first(key).split(u' ', Qt::SkipEmptyParts))
            if (!isNone(path))
                list += expandHome(path);
        return list;
    };
    Resolved out;
    out.hostname = first(u"hostname");
    out.user = first(u"user");
    out.port = first(u"port").toInt();
    if (out.hostname.isEmpty() || out.user.isEmpty() || out.port < 1)
        return failed(Code::Corrupt, "ssh -G did not say host, user and port.", destination);
    for (const QString& file : values.value(QStringLiteral("identityfile"))) {
        const QString path = expandHome(file);
        if (!isNone(file) && QFileInfo::exists(path))
            out.identityFiles += path;
    }
    out.identitiesOnly = isYes(u"identitiesonly");
    const QString agent = first(u"identityagent");
    out.identityAgent = agent == u"SSH_AUTH_SOCK" ? QString() : expandHome(agent);
    out.userKnownHosts = files(u"userknownhostsfile");
    out.globalKnownHosts = files(u"globalknownhostsfile");
    out.hostKeyAlias = first(u"hostkeyalias");
    out.hashKnownHosts = isYes(u"hashknownhosts");
    if (const QString command = first(u"proxycommand"); !isNone(command))
        out.proxyCommand = expandTokens(command, out, destination.host);
    auto jumps = parseJumps(first(u"proxyjump"));
    if (!jumps)
        return jumps.error();
    out.jumps = std::move(*jumps);
    const int interval = first(u"serveraliveinterval").toInt();
    out.aliveInterval = interval > 0 ? interval : kDefaultAlive;
    out.aliveCountMax = std::max(1, first(u"serveralivecountmax").toInt());
    const int timeout = first(u"connecttimeout").toInt(); // "none" reads as 0
    out.connectTimeout = timeout > 0 ? timeout : kDefaultConnect;
    out.publicKey = isYes(u"pubkeyauthentication") || first(u"pubkeyauthentication").isEmpty() ||
                    first(u"pubkeyauthentication") == u"unbound" ||
                    first(u"pubkeyauthentication") == u"host-bound";
    out.password = isYes(u"passwordauthentication");
    out.interactive = isYes(u"kbdinteractiveauthentication");
    if (isYes(u"forwardagent"))
        out.notes += QStringLiteral("ForwardAgent is not followed: Lockstep never forwards your "
                                    "agent to a host.");
    if (const QString strict = first(u"stricthostkeychecking");
        strict == u"no" || strict == u"off" || strict == u"false" || strict == u"accept-new")
        out.notes += QStringLiteral("StrictHostKeyChecking %1 is not followed: an unknown host key "
                                    "is always shown first.")
                         .arg(strict);
    return out;
}

void resolve(const Destination& destination, const ResolveOptions& options, QObject* context,
             std::function<void(Result<Resolved>)> done) {
    new Query(destination, options, context, std::move(done));
}

} // namespace lockstep::ssh
