// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/ssh/detail/patterns.h"

#include <QList>

namespace lockstep::ssh::detail {

bool matchesPattern(QStringView text, QStringView pattern, Qt::CaseSensitivity sensitivity) {
    const auto isSame = [&](qsizetype t, qsizetype p) {
        return pattern[p] == u'?' ||
               (sensitivity == Qt::CaseSensitive ? pattern[p] == text[t]
                                                 : pattern[p].toLower() == text[t].toLower());
    };
    qsizetype t = 0, p = 0, star = -1, mark = 0;
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == u'*') {
            star = p++;
            mark = t;
        } else if (p < pattern.size() && isSame(t, p)) {
            ++p;
            ++t;
        } else if (star >= 0) { // the star takes one character more
            p = star + 1;
            t = ++mark;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == u'*')
        ++p;
    return p == pattern.size();
}

ListMatch matchPatternList(QStringView text, QStringView list, Qt::CaseSensitivity sensitivity) {
    ListMatch found = ListMatch::None;
    for (const QStringView pattern : list.split(u',', Qt::SkipEmptyParts)) {
        const bool isNot = pattern.startsWith(u'!');
        if (!matchesPattern(text, isNot ? pattern.mid(1) : pattern, sensitivity))
            continue;
        if (isNot)
            return ListMatch::TakenBack;
        found = ListMatch::Taken;
    }
    return found;
}

} // namespace lockstep::ssh::detail
