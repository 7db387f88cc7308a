// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Who runs this program, as OpenSSH sees it, and the texts of its configuration in which %h and the
// like stand for something. Any thread.

#include "core/base/result.h"

#include <QHash>
#include <QString>

namespace lockstep::ssh::detail {

struct Account {
    QString user; ///< login name
    QString home; ///< of the password database, not $HOME: so does OpenSSH
    QString uid;
    QString hostName; ///< of this machine

    static Account current();
};

/// "~" and "~/x" of this account.
QString expandHome(const QString& path, const QString& home);

using Tokens = QHash<QChar, QString>;

/// Replaces %h and the like; %% is %. InvalidArgument names a token that has no meaning here.
Result<QString> expandTokens(const QString& text, const Tokens& tokens, const QString& keyword);
/// Replaces ${NAME}; InvalidArgument where the variable is not set.
Result<QString> expandEnvironment(const QString& text, const QString& keyword);

} // namespace lockstep::ssh::detail
