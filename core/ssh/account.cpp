// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/ssh/detail/account.h"

#include <QDir>
#include <QSysInfo>

#include <pwd.h>
#include <unistd.h>

#include <vector>

namespace lockstep::ssh::detail {

Account Account::current() {
    Account account{qEnvironmentVariable("USER"), QDir::homePath(), QString::number(::getuid()),
                    QSysInfo::machineHostName()};
    std::vector<char> buffer(16384);
    passwd entry{};
    passwd* found = nullptr;
    if (::getpwuid_r(::getuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found) {
        account.user = QString::fromLocal8Bit(found->pw_name);
        account.home = QString::fromLocal8Bit(found->pw_dir);
    }
    return account;
}

QString expandHome(const QString& path, const QString& home) {
    return path == u"~" || path.startsWith(u"~/") ? home + path.mid(1) : path;
}

Result<QString> expandTokens(const QString& text, const Tokens& tokens, const QString& keyword) {
    QString out;
    for (qsizetype i = 0; i < text.size(); ++i) {
        if (text[i] != u'%') {
            out += text[i];
            continue;
        }
        const QChar token = ++i < text.size() ? text[i] : QChar();
        const auto value = tokens.constFind(token);
        if (token == u'%')
            out += u'%';
        else if (value != tokens.constEnd())
            out += *value;
        else
            return Error{Code::InvalidArgument,
                         QStringLiteral("%1 %2 has %%3, which means nothing there; a plain %% is "
                                        "written %%%.")
                             .arg(keyword, text, token.isNull() ? QString() : QString(token))
                             .toStdString(),
                         {}};
    }
    return out;
}

Result<QString> expandEnvironment(const QString& text, const QString& keyword) {
    QString out;
    qsizetype at = 0;
    for (;;) {
        const qsizetype begin = text.indexOf(u"${", at);
        const qsizetype end = begin < 0 ? -1 : text.indexOf(u'}', begin);
        if (end < 0)
            return out + text.mid(at);
        const QString name = text.mid(begin + 2, end - begin - 2);
        if (!qEnvironmentVariableIsSet(name.toLocal8Bit().constData()))
            return Error{
                Code::InvalidArgument,
                QStringLiteral("%1 %2 needs the environment variable %3, which is not set.")
                    .arg(keyword, text, name)
                    .toStdString(),
                {}};
        out += text.mid(at, begin - at) + qEnvironmentVariable(name.toLocal8Bit().constData());
        at = end + 1;
    }
}

} // namespace lockstep::ssh::detail
