// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// OpenSSH's patterns (ssh_config(5), "PATTERNS"): * and ?, nothing else. Any thread.

#include <QStringView>

namespace lockstep::ssh::detail {

bool matchesPattern(QStringView text, QStringView pattern,
                    Qt::CaseSensitivity sensitivity = Qt::CaseSensitive);

enum class ListMatch { None, Taken, TakenBack };

/// "a,*.lab,!n0.lab": ! takes back, wherever it stands.
ListMatch matchPatternList(QStringView text, QStringView list,
                           Qt::CaseSensitivity sensitivity = Qt::CaseSensitive);

} // namespace lockstep::ssh::detail
