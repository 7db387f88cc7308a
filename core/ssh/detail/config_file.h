// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The lines of an ssh_config file and their words, split as OpenSSH splits them. Blocking reads of
// small files; any thread.

#include "core/base/result.h"

#include <QList>
#include <QString>
#include <QStringList>

#include <optional>

namespace lockstep::ssh::detail {

struct ConfigLine {
    QString keyword; ///< lower case
    QString rest;    ///< after the keyword and one "=", trimmed
    QString file;
    int number = 0; ///< 1-based

    /// InvalidArgument with the line as its place.
    Error error(const QString& message) const;
};

enum class Ownership {
    Any,
    Checked, ///< refuse files that others may write, as OpenSSH does for ~/.ssh/config
};

/// Nothing where there is no such file (or a folder); empty lines and comments are left out.
Result<std::optional<QList<ConfigLine>>> readConfigFile(const QString& path, Ownership ownership);

/// The words of a line's rest: quotes and backslashes undone, a comment dropped.
Result<QStringList> splitWords(const ConfigLine& line);

/// The words of a Match line: split at spaces and "=", only double quotes.
Result<QStringList> splitMatch(const ConfigLine& line);

enum class ConfigOwner { User, System };

/// The files that an Include's pattern names: ~ and globs expanded, sorted; relative ones lie in
/// ~/.ssh or /etc/ssh. Here ~ is $HOME, as in OpenSSH, which leaves it to glob(3).
Result<QStringList> includedFiles(const ConfigLine& line, const QString& pattern,
                                  ConfigOwner owner);

} // namespace lockstep::ssh::detail
