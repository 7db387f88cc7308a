// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/ssh/config_parser.h"

#include "core/ssh/detail/account.h"
#include "core/ssh/detail/config_file.h"
#include "core/ssh/detail/config_keywords.h"
#include "core/ssh/detail/match_command.h"
#include "core/ssh/detail/patterns.h"

#include <QFileInfo>

namespace lockstep::ssh {

using namespace detail;

namespace {

constexpr int kDeepestInclude = 16; ///< as in OpenSSH

const QString kHost = QStringLiteral("host");
const QString kHostName = QStringLiteral("hostname");
const QString kMatch = QStringLiteral("match");
const QString kInclude = QStringLiteral("include");
const QString kUser = QStringLiteral("user");
const QString kPort = QStringLiteral("port");
const QString kIdentity = QStringLiteral("identityfile");
const QString kProxyCommand = QStringLiteral("proxycommand");
const QString kProxyJump = QStringLiteral("proxyjump");

enum class Reading {
    Applied,
    Inactive, ///< an Include inside a block that does not match: looked at, never applied
};

/// One pass over the files for one destination. The first value of a keyword wins.
class Parser {
public:
    explicit Parser(const ConfigRequest& request)
        : m_request(request)
        , m_account(Account::current())
        , m_commands(request.deadline, request.isCancelled) {}

    Result<ConfigValues> run();

private:
    Status readFile(const QString& path, ConfigOwner owner, Ownership ownership, Reading reading,
                    int depth);
    Status apply(const ConfigLine& line, ConfigOwner owner, Reading reading, int depth);
    Status applyHost(const ConfigLine& line);
    Status applyMatch(const ConfigLine& line, Reading reading);
    Result<bool> meets(const ConfigLine& line, const QString& criterion, const QString& argument,
                       bool isDecided);
    Status applyInclude(const ConfigLine& line, ConfigOwner owner, int depth);
    Status applyValue(const ConfigLine& line);
    Status applyList(const ConfigLine& line);
    void set(const QString& keyword, const QStringList& values);
    Result<QString> hostName() const;
    Result<Tokens> tokens() const;
    Status fillDefaults();

    QString first(const QString& keyword) const { return m_values.value(keyword).value(0); }

    const ConfigRequest& m_request;
    Account m_account;
    MatchCommands m_commands;
    ConfigValues m_values;
    bool m_isActive = true;
};

Result<ConfigValues> Parser::run() {
    const Destination& destination = m_request.destination;
    if (!destination.user.isEmpty())
        set(kUser, {destination.user});
    if (destination.port > 0)
        set(kPort, {QString::number(destination.port)});
    if (!destination.proxyJump.isEmpty())
        set(kProxyJump, {destination.proxyJump});
    for (const QString& file : destination.identities)
        if (QFileInfo::exists(expandHome(file, m_account.home))) // ssh -i leaves out the others
            m_values[kIdentity] += file;
    if (m_request.configFile.isEmpty()) {
        LOCKSTEP_TRY(readFile(m_account.home + QStringLiteral("/.ssh/config"), ConfigOwner::User,
                              Ownership::Checked, Reading::Applied, 0));
        LOCKSTEP_TRY(readFile(m_request.systemFile, ConfigOwner::System, Ownership::Any,
                              Reading::Applied, 0));
    } else if (m_request.configFile != u"none") {
        const auto lines = readConfigFile(m_request.configFile, Ownership::Any);
        if (lines && !lines.value())
            return Error{Code::NotFound, "There is no such SSH configuration.",
                         m_request.configFile.toStdString()};
        LOCKSTEP_TRY(
            readFile(m_request.configFile, ConfigOwner::User, Ownership::Any, Reading::Applied, 0));
    }
    LOCKSTEP_TRY(fillDefaults());
    return m_values;
}

Status Parser::readFile(const QString& path, ConfigOwner owner, Ownership ownership,
                        Reading reading, int depth) {
    const auto lines = readConfigFile(path, ownership);
    if (!lines)
        return lines.error();
    if (!lines.value())
        return {};
    if (depth == 0)
        m_isActive = true;
    for (ConfigLine line : *lines.value()) {
        line.keyword = presentName(line.keyword);
        LOCKSTEP_TRY(apply(line, owner, reading, depth));
    }
    return {};
}

Status Parser::apply(const ConfigLine& line, ConfigOwner owner, Reading reading, int depth) {
    const KeywordKind kind = kindOf(line.keyword);
    if (kind == KeywordKind::Unknown) {
        const QString ignored = first(QStringLiteral("ignoreunknown")).toLower();
        if (matchPatternList(line.keyword, ignored) == ListMatch::Taken)
            return {};
        return line.error(QStringLiteral("The keyword %1 is not known, and what it would change "
                                         "cannot be guessed. Correct it, name it in IgnoreUnknown, "
                                         "or install openssh-client.")
                              .arg(line.keyword));
    }
    if (kind == KeywordKind::Irrelevant)
        return {};
    if (line.rest.isEmpty())
        return line.error(QStringLiteral("The value of %1 is missing.").arg(line.keyword));
    if (line.keyword == kHost) {
        LOCKSTEP_TRY(applyHost(line));
        m_isActive = m_isActive && reading == Reading::Applied;
        return {};
    }
    if (line.keyword == kMatch)
        return applyMatch(line, reading);
    if (line.keyword == kInclude)
        return applyInclude(line, owner, depth);
    return kind == KeywordKind::List ? applyList(line) : applyValue(line);
}

Status Parser::applyHost(const ConfigLine& line) {
    const auto words = splitWords(line);
    if (!words)
        return words.error();
    m_isActive = false;
    for (const QString& word : *words) {
        if (word.isEmpty())
            return line.error(QStringLiteral("A pattern of Host is empty."));
        const bool isNot = word.startsWith(u'!');
        if (!matchesPattern(m_request.destination.host, isNot ? word.mid(1) : word))
            continue;
        m_isActive = !isNot;
        if (isNot)
            break;
    }
    return {};
}

Status Parser::applyMatch(const ConfigLine& line, Reading reading) {
    const auto words = splitMatch(line);
    if (!words)
        return words.error();
    bool matches = reading == Reading::Applied;
    int criteria = 0;
    for (qsizetype i = 0; i < words->size();) {
        QString criterion = words->at(i++).toLower();
        const bool isNot = criterion.startsWith(u'!');
        criterion.remove(0, isNot ? 1 : 0);
        if (criterion == u"all") {
            if (criteria > 1 || i < words->size())
                return line.error(
                    QStringLiteral("\"all\" cannot be combined with other conditions of Match."));
            m_isActive = matches && !isNot;
            return {};
        }
        ++criteria;
        static const QStringList known{kHost, QStringLiteral("originalhost"), kUser,
                                       QStringLiteral("localuser"), QStringLiteral("exec")};
        if (!known.contains(criterion)) {
            Error error = line.error(
                QStringLiteral("The condition \"%1\" of Match is not understood without the "
                               "OpenSSH client, and passing over it would widen the block. "
                               "Install openssh-client.")
                    .arg(criterion));
            error.code = Code::Unsupported;
            return error;
        }
        if (i >= words->size())
            return line.error(
                QStringLiteral("The value of the condition \"%1\" is missing.").arg(criterion));
        const auto met = meets(line, criterion, words->at(i++), !matches);
        if (!met)
            return met.error();
        matches = matches && *met != isNot;
    }
    if (criteria == 0)
        return line.error(QStringLiteral("Match has no condition."));
    m_isActive = matches;
    return {};
}

Result<bool> Parser::meets(const ConfigLine& line, const QString& criterion,
                           const QString& argument, bool isDecided) {
    const auto values = tokens();
    if (!values)
        return line.error(QString::fromStdString(values.error().message));
    const auto isIn = [&](const QString& text, Qt::CaseSensitivity sensitivity) {
        return matchPatternList(text, argument, sensitivity) == ListMatch::Taken;
    };
    if (criterion == kHost)
        return isIn(values->value(u'h'), Qt::CaseInsensitive);
    if (criterion == u"originalhost")
        return isIn(m_request.destination.host, Qt::CaseInsensitive);
    if (criterion == kUser)
        return isIn(values->value(u'r'), Qt::CaseSensitive);
    if (criterion == u"localuser")
        return isIn(m_account.user, Qt::CaseSensitive);
    const auto command = expandTokens(argument, *values, QStringLiteral("Match exec"));
    if (!command)
        return line.error(QString::fromStdString(command.error().message));
    if (isDecided)
        return false; // as in OpenSSH, the command is not run where it can change nothing
    auto ended = m_commands.run(*command);
    if (ended)
        return ended;
    return Error{ended.error().code, ended.error().message, line.error({}).where};
}

Status Parser::applyInclude(const ConfigLine& line, ConfigOwner owner, int depth) {
    const auto words = splitWords(line);
    if (!words)
        return words.error();
    if (depth + 1 > kDeepestInclude)
        return line.error(QStringLiteral("Include goes deeper than %1 files; one of them probably "
                                         "includes itself.")
                              .arg(kDeepestInclude));
    const bool wasActive = m_isActive;
    for (const QString& pattern : *words) {
        const auto files = includedFiles(line, pattern, owner);
        if (!files)
            return files.error();
        for (const QString& file : *files) {
            LOCKSTEP_TRY(readFile(file, owner, Ownership::Checked,
                                  wasActive ? Reading::Applied : Reading::Inactive, depth + 1));
            m_isActive = wasActive; // a Host in there ends with its file
        }
    }
    return {};
}

Status Parser::applyValue(const ConfigLine& line) {
    const KeywordKind kind = kindOf(line.keyword);
    if (kind == KeywordKind::Command) {
        if (line.keyword == kProxyCommand && m_values.contains(kProxyJump) &&
            first(kProxyJump).compare(u"none", Qt::CaseInsensitive) != 0)
            return {};
        set(line.keyword, {line.rest});
        return {};
    }
    const auto words = splitWords(line);
    if (!words)
        return words.error();
    if (words->isEmpty() || words->front().isEmpty())
        return line.error(QStringLiteral("The value of %1 is missing.").arg(line.keyword));
    if (words->size() > 1)
        return line.error(QStringLiteral("%1 takes one value; \"%2\" is too much.")
                              .arg(line.keyword, words->at(1)));
    const auto value = normalValue(line.keyword, words->front());
    if (!value)
        return line.error(QString::fromStdString(value.error().message));
    if (line.keyword == kProxyJump && m_values.contains(kProxyCommand))
        return {};
    if (kind == KeywordKind::Several) {
        if (m_isActive && !m_values[line.keyword].contains(*value))
            m_values[line.keyword] += *value;
        return {};
    }
    set(line.keyword, {*value});
    return {};
}

Status Parser::applyList(const ConfigLine& line) {
    const auto words = splitWords(line);
    if (!words)
        return words.error();
    if (words->isEmpty())
        return line.error(QStringLiteral("The value of %1 is missing.").arg(line.keyword));
    set(line.keyword, *words);
    return {};
}

void Parser::set(const QString& keyword, const QStringList& values) {
    if (m_isActive && !m_values.contains(keyword))
        m_values[keyword] = values;
}

Result<QString> Parser::hostName() const {
    const QString& typed = m_request.destination.host;
    return m_values.contains(kHostName)
               ? expandTokens(first(kHostName), {{u'h', typed}}, QStringLiteral("HostName"))
               : Result<QString>(typed);
}

/// As far as the values are known by now.
Result<Tokens> Parser::tokens() const {
    const auto host = hostName();
    if (!host)
        return host.error();
    const QString user = first(kUser);
    const QString port = first(kPort);
    const QString alias = first(QStringLiteral("hostkeyalias"));
    return connectionTokens({*host,
                             m_request.destination.host,
                             user.isEmpty() ? m_account.user : user,
                             port.isEmpty() ? QStringLiteral("22") : port,
                             alias,
                             {}},
                            m_account);
}

Status Parser::fillDefaults() {
    auto host = hostName();
    if (!host)
        return host.error();
    m_isActive = true;
    m_values[kHostName] = {host->contains(u':') ? *host : host->toLower()}; // IPv6 as written
    set(kUser, {m_account.user});
    set(kPort, {QStringLiteral("22")});
    if (m_values.value(kIdentity).isEmpty())
        m_values[kIdentity] = defaultIdentities();
    for (const auto& [keyword, value] : defaultValues())
        set(keyword, value);
    if (first(kProxyCommand).compare(u"none", Qt::CaseInsensitive) == 0)
        m_values.remove(kProxyCommand);
    if (first(kProxyJump).compare(u"none", Qt::CaseInsensitive) == 0)
        m_values.remove(kProxyJump);

    const auto values = tokens();
    if (!values)
        return values.error();
    for (const QString& keyword :
         {QStringLiteral("userknownhostsfile"), QStringLiteral("identityagent")}) {
        for (QString& path : m_values[keyword]) {
            auto expanded = expandTokens(expandHome(path, m_account.home), *values, keyword);
            if (expanded)
                expanded = expandEnvironment(*expanded, keyword);
            if (!expanded)
                return expanded.error();
            path = *expanded;
        }
    }
    return {};
}

/// Collects names; passes over whatever is wrong and over files that were read before.
void collectAliases(const QString& path, QStringList& seen, QStringList& names) {
    if (seen.contains(path))
        return;
    seen += path;
    const auto lines = readConfigFile(path, Ownership::Any);
    if (!lines || !lines.value())
        return;
    for (const ConfigLine& line : *lines.value()) {
        const auto words = splitWords(line);
        if (!words || (line.keyword != kHost && line.keyword != kInclude))
            continue;
        for (const QString& word : *words) {
            if (line.keyword == kInclude) {
                const auto files = includedFiles(line, word, ConfigOwner::User);
                for (const QString& file : files ? *files : QStringList())
                    collectAliases(file, seen, names);
            } else if (!word.startsWith(u'!') && !word.contains(u'*') && !word.contains(u'?') &&
                       !names.contains(word) && parseDestination(word).ok()) {
                names += word;
            }
        }
    }
}

} // namespace

Result<ConfigValues> readConfig(const ConfigRequest& request) {
    return Parser(request).run();
}

Result<QStringList> hostAliases(const QString& configFile) {
    const QString home = Account::current().home;
    const QString path = configFile.isEmpty() ? home + QStringLiteral("/.ssh/config") : configFile;
    if (const auto lines = readConfigFile(path, Ownership::Any); !lines)
        return lines.error();
    QStringList seen;
    QStringList names;
    collectAliases(path, seen, names);
    return names;
}

} // namespace lockstep::ssh
