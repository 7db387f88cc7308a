// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Where a user wants to connect to, as typed. What it means follows from ~/.ssh/config (resolve.h).
// Plain data: no thread rules.

#include "core/base/result.h"

#include <QString>
#include <QStringList>

namespace lockstep::ssh {

struct Destination {
    QString host;           ///< a name, an address (no brackets) or an alias of ~/.ssh/config
    QString user;           ///< empty: the configuration's
    int port = 0;           ///< 0: the configuration's
    QStringList identities; ///< private key files to try first; empty: the configuration's
    QString proxyJump;      ///< as ssh -J takes it; empty: the configuration's

    /// "alice@n0:2222": what is set, for people and as a key.
    QString text() const;
    bool operator==(const Destination&) const = default;
};

/// "n0", "alice@n0", "ssh://alice@n0:2222", "alice@fd00::2", "ssh://[fd00::2]:2022".
/// InvalidArgument says what is wrong with it; an option ("-oProxyCommand=…") is refused.
Result<Destination> parseDestination(const QString& text);

} // namespace lockstep::ssh
