// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/ssh/detail/config_keywords.h"

#include "core/ssh/detail/patterns.h"

#include <QCryptographicHash>
#include <QHash>

#include <limits>

namespace lockstep::ssh::detail {

namespace {

enum class Form { Text, Port, Count, Time, Flag, PublicKey, Strict, Family, Algorithms, Refused };

struct Keyword {
    KeywordKind kind;
    Form form = Form::Text;
};

/// Those that we follow, and one that would lead to another host than we think.
const QHash<QString, Keyword>& followed() {
    using K = KeywordKind;
    static const QHash<QString, Keyword> all{
        {QStringLiteral("host"), {K::List}},
        {QStringLiteral("match"), {K::List}},
        {QStringLiteral("include"), {K::List}},
        {QStringLiteral("hostname"), {K::Single}},
        {QStringLiteral("user"), {K::Single}},
        {QStringLiteral("port"), {K::Single, Form::Port}},
        {QStringLiteral("identityfile"), {K::Several}},
        {QStringLiteral("certificatefile"), {K::Several}},
        {QStringLiteral("identitiesonly"), {K::Single, Form::Flag}},
        {QStringLiteral("identityagent"), {K::Single}},
        {QStringLiteral("userknownhostsfile"), {K::List}},
        {QStringLiteral("globalknownhostsfile"), {K::List}},
        {QStringLiteral("hostkeyalias"), {K::Single}},
        {QStringLiteral("hostkeyalgorithms"), {K::Single, Form::Algorithms}},
        {QStringLiteral("stricthostkeychecking"), {K::Single, Form::Strict}},
        {QStringLiteral("hashknownhosts"), {K::Single, Form::Flag}},
        {QStringLiteral("revokedhostkeys"), {K::Single}},
        {QStringLiteral("knownhostscommand"), {K::Command}},
        {QStringLiteral("proxycommand"), {K::Command}},
        {QStringLiteral("proxyjump"), {K::Single}},
        {QStringLiteral("proxyusefdpass"), {K::Single, Form::Flag}},
        {QStringLiteral("serveraliveinterval"), {K::Single, Form::Time}},
        {QStringLiteral("serveralivecountmax"), {K::Single, Form::Count}},
        {QStringLiteral("connecttimeout"), {K::Single, Form::Time}},
        {QStringLiteral("preferredauthentications"), {K::Single}},
        {QStringLiteral("pubkeyauthentication"), {K::Single, Form::PublicKey}},
        {QStringLiteral("passwordauthentication"), {K::Single, Form::Flag}},
        {QStringLiteral("kbdinteractiveauthentication"), {K::Single, Form::Flag}},
        {QStringLiteral("addressfamily"), {K::Single, Form::Family}},
        {QStringLiteral("bindaddress"), {K::Single}},
        {QStringLiteral("bindinterface"), {K::Single}},
        {QStringLiteral("forwardagent"), {K::Single}},
        {QStringLiteral("ignoreunknown"), {K::Single}},
        {QStringLiteral("canonicalizehostname"), {K::Single, Form::Refused}},
    };
    return all;
}

/// Those of OpenSSH that change nothing for us: we have no terminal and forward nothing.
bool isIrrelevant(const QString& keyword) {
    static const QStringList all =
        QStringLiteral(
            "addkeystoagent afstokenpassing batchmode canonicaldomains canonicalizefallbacklocal "
            "canonicalizemaxdots canonicalizepermittedcnames casignaturealgorithms channeltimeout "
            "checkhostip cipher ciphers clearallforwardings compression compressionlevel "
            "connectionattempts controlmaster controlpath controlpersist dsaauthentication "
            "dynamicforward enableescapecommandline enablesshkeysign escapechar "
            "exitonforwardfailure fallbacktorsh fingerprinthash forkafterauthentication forwardx11 "
            "forwardx11timeout forwardx11trusted gatewayports globalknownhostsfile2 "
            "gssapiauthentication gssapiclientidentity gssapidelegatecredentials "
            "gssapikexalgorithms gssapikeyexchange gssapirenewalforcesrekey gssapiserveridentity "
            "gssapitrustdns hostbasedacceptedalgorithms hostbasedauthentication hostbasedkeytypes "
            "ipqos kbdinteractivedevices kerberosauthentication kerberostgtpassing kexalgorithms "
            "localcommand localforward loglevel logverbose macs nohostauthenticationforlocalhost "
            "numberofpasswordprompts obscurekeystroketiming permitlocalcommand permitremoteopen "
            "pkcs11provider protocol protocolkeepalives pubkeyacceptedalgorithms "
            "pubkeyacceptedkeytypes rekeylimit remotecommand remoteforward requesttty "
            "requiredrsasize rhostsauthentication rhostsrsaauthentication rsaauthentication "
            "securitykeyprovider sendenv sessiontype setenv setuptimeout smartcarddevice stdinnull "
            "streamlocalbindmask streamlocalbindunlink syslogfacility tag tcpkeepalive tunnel "
            "tunneldevice updatehostkeys useblacklistedkeys useprivilegedport userknownhostsfile2 "
            "useroaming usersh verifyhostkeydns versionaddendum visualhostkey warnweakcrypto "
            "xauthlocation")
            .split(u' ');
    return all.contains(keyword);
}

Error unlike(const QString& keyword, const QString& value, const QString& expected) {
    return {
        Code::InvalidArgument,
        QStringLiteral("%1 is \"%2\"; expected %3.").arg(keyword, value, expected).toStdString(),
        {}};
}

/// sshd_config(5), "TIME FORMATS": 90, 1m30s. -1 where it is none.
int seconds(const QString& text) {
    qint64 total = 0;
    qint64 number = -1;
    for (const QChar c : text.toLower()) {
        if (c >= u'0' && c <= u'9') {
            number = std::max<qint64>(number, 0) * 10 + c.digitValue();
            if (number > std::numeric_limits<int>::max())
                return -1;
            continue;
        }
        static const QHash<QChar, int> units{
            {u's', 1}, {u'm', 60}, {u'h', 3600}, {u'd', 86400}, {u'w', 604800}};
        if (number < 0 || !units.contains(c))
            return -1;
        total += number * units.value(c);
        number = -1;
    }
    total += std::max<qint64>(number, 0);
    return text.isEmpty() || total > std::numeric_limits<int>::max() ? -1 : static_cast<int>(total);
}

Result<QString> oneOf(const QString& keyword, const QString& value,
                      const QHash<QString, QString>& words) {
    const auto found = words.constFind(value.toLower());
    if (found != words.constEnd())
        return *found;
    QStringList names = words.keys();
    names.sort();
    return unlike(keyword, value, names.join(u", "));
}

Result<QString> number(const QString& keyword, const QString& value, int least, int most) {
    bool ok = false;
    const int parsed = value.toInt(&ok);
    if (ok && parsed >= least && parsed <= most)
        return QString::number(parsed);
    return unlike(keyword, value, QStringLiteral("a number from %1 to %2").arg(least).arg(most));
}

/// +, - and ^ change the default list.
QString algorithms(const QString& value) {
    const QStringList& usual = usableHostKeyAlgorithms();
    const QChar sign = value[0];
    if (sign == u'-') {
        QStringList left;
        for (const QString& name : usual)
            if (matchPatternList(name, value.mid(1)) != ListMatch::Taken)
                left += name;
        return left.join(u',');
    }
    QStringList named = value.mid(sign == u'+' || sign == u'^' ? 1 : 0).split(u',');
    QStringList all = sign == u'+' ? usual + named : sign == u'^' ? named + usual : named;
    all.removeDuplicates();
    return all.join(u',');
}

} // namespace

QString presentName(const QString& keyword) {
    static const QHash<QString, QString> old{
        {QStringLiteral("challengeresponseauthentication"),
         QStringLiteral("kbdinteractiveauthentication")},
        {QStringLiteral("skeyauthentication"), QStringLiteral("kbdinteractiveauthentication")},
        {QStringLiteral("tisauthentication"), QStringLiteral("kbdinteractiveauthentication")},
        {QStringLiteral("identityfile2"), QStringLiteral("identityfile")},
    };
    return old.value(keyword, keyword);
}

KeywordKind kindOf(const QString& keyword) {
    const auto found = followed().constFind(keyword);
    if (found != followed().constEnd())
        return found->kind;
    return isIrrelevant(keyword) ? KeywordKind::Irrelevant : KeywordKind::Unknown;
}

Result<QString> normalValue(const QString& keyword, const QString& value) {
    const auto self = [](const char16_t* word) { return QString::fromUtf16(word); };
    const QHash<QString, QString> flag{{self(u"yes"), self(u"yes")},
                                       {self(u"true"), self(u"yes")},
                                       {self(u"no"), self(u"no")},
                                       {self(u"false"), self(u"no")}};
    switch (followed().value(keyword).form) {
    case Form::Text:
        return keyword == u"hostkeyalias" ? value.toLower() : value;
    case Form::Port:
        return number(keyword, value, 1, 65535);
    case Form::Count:
        return number(keyword, value, 0, std::numeric_limits<int>::max());
    case Form::Time:
        if (value == u"none")
            return value;
        if (const int time = seconds(value); time >= 0)
            return QString::number(time);
        return unlike(keyword, value, QStringLiteral("a time like 90 or 1m30s"));
    case Form::Flag:
        return oneOf(keyword, value, flag);
    case Form::PublicKey: {
        auto words = flag;
        words.insert(self(u"unbound"), self(u"unbound"));
        words.insert(self(u"host-bound"), self(u"host-bound"));
        return oneOf(keyword, value, words);
    }
    case Form::Strict: {
        auto words = flag;
        words.insert(self(u"off"), self(u"no"));
        words.insert(self(u"ask"), self(u"ask"));
        words.insert(self(u"accept-new"), self(u"accept-new"));
        return oneOf(keyword, value, words);
    }
    case Form::Family:
        return oneOf(keyword, value,
                     {{self(u"any"), self(u"any")},
                      {self(u"inet"), self(u"inet")},
                      {self(u"inet6"), self(u"inet6")}});
    case Form::Algorithms:
        return algorithms(value);
    case Form::Refused:
        if (value.compare(u"no", Qt::CaseInsensitive) == 0)
            return value;
        return unlike(keyword, value,
                      QStringLiteral("no: without the OpenSSH client names are not made canonical; "
                                     "install openssh-client"));
    }
    return value;
}

const QStringList& usableHostKeyAlgorithms() {
    static const QStringList all{
        QStringLiteral("ssh-ed25519"),         QStringLiteral("ecdsa-sha2-nistp256"),
        QStringLiteral("ecdsa-sha2-nistp384"), QStringLiteral("ecdsa-sha2-nistp521"),
        QStringLiteral("rsa-sha2-512"),        QStringLiteral("rsa-sha2-256")};
    return all;
}

QList<std::pair<QString, QStringList>> defaultValues() {
    const auto entry = [](const char16_t* keyword, const char16_t* values) {
        return std::pair(QString::fromUtf16(keyword), QString::fromUtf16(values).split(u' '));
    };
    return {entry(u"userknownhostsfile", u"~/.ssh/known_hosts ~/.ssh/known_hosts2"),
            entry(u"globalknownhostsfile", u"/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2"),
            entry(u"identitiesonly", u"no"),
            entry(u"stricthostkeychecking", u"ask"),
            entry(u"hashknownhosts", u"no"),
            entry(u"serveraliveinterval", u"0"),
            entry(u"serveralivecountmax", u"3"),
            entry(u"connecttimeout", u"none"),
            entry(u"pubkeyauthentication", u"yes"),
            entry(u"passwordauthentication", u"yes"),
            entry(u"kbdinteractiveauthentication", u"yes"),
            entry(u"addressfamily", u"any"),
            entry(u"forwardagent", u"no"),
            {QStringLiteral("hostkeyalgorithms"), {usableHostKeyAlgorithms().join(u',')}}};
}

QStringList defaultIdentities() {
    return QStringLiteral("~/.ssh/id_rsa ~/.ssh/id_ecdsa ~/.ssh/id_ecdsa_sk ~/.ssh/id_ed25519 "
                          "~/.ssh/id_ed25519_sk ~/.ssh/id_xmss ~/.ssh/id_dsa")
        .split(u' ');
}

Tokens connectionTokens(const ConnectionNames& names, const Account& account) {
    const QString hashed = account.hostName + names.host + names.port + names.user + names.jump;
    return {
        {u'C', QString::fromLatin1(
                   QCryptographicHash::hash(hashed.toUtf8(), QCryptographicHash::Sha1).toHex())},
        {u'd', account.home},
        {u'h', names.host},
        {u'i', account.uid},
        {u'j', names.jump},
        {u'k', names.alias.isEmpty() ? names.typed : names.alias},
        {u'L', account.hostName.section(u'.', 0, 0)},
        {u'l', account.hostName},
        {u'n', names.typed},
        {u'p', names.port},
        {u'r', names.user},
        {u'u', account.user},
    };
}

} // namespace lockstep::ssh::detail
