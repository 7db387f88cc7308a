// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// What we know of ssh_config(5)'s keywords: which decide where and how a connection goes, the form
// of their values, OpenSSH's defaults. Any thread.

#include "core/base/result.h"
#include "core/ssh/detail/account.h"

#include <QList>
#include <QString>
#include <QStringList>

#include <utility>

namespace lockstep::ssh::detail {

enum class KeywordKind {
    Unknown,
    Irrelevant, ///< forwarding, terminals and the like: changes nothing for us
    Single,     ///< one value, the first wins
    Several,    ///< one value a line, all count
    List,       ///< many values in one line, the first line wins
    Command,    ///< the rest of the line as it stands
};

/// Today's name of a keyword; OpenSSH keeps some from earlier times.
QString presentName(const QString& keyword);
/// `keyword` in lower case, today's name.
KeywordKind kindOf(const QString& keyword);

/// A value as `ssh -G` prints it ("1m" becomes "60"); an error says what was expected.
Result<QString> normalValue(const QString& keyword, const QString& value);

/// OpenSSH's defaults of the keywords that we follow.
QList<std::pair<QString, QStringList>> defaultValues();
QStringList defaultIdentities();

/// Host key algorithms that we can check, the best first.
const QStringList& usableHostKeyAlgorithms();

struct ConnectionNames {
    QString host;  ///< HostName
    QString typed; ///< as the person wrote it
    QString user;
    QString port;
    QString alias; ///< HostKeyAlias, may be empty
    QString jump;  ///< ProxyJump's last host, may be empty
};

/// %C %d %h %i %j %k %L %l %n %p %r %u
Tokens connectionTokens(const ConnectionNames& names, const Account& account);

} // namespace lockstep::ssh::detail
