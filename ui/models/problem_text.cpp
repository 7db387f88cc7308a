// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/models/problem_text.h"

#include "ui/models/format.h"

#include <QObject>

namespace lockstep::ui {

QString sentenceOf(const Problem& problem) {
    QString text = QString::fromStdString(problem.message);
    if (!problem.expected.empty()) {
        QString expected = QString::fromStdString(problem.expected);
        if (expected.endsWith(QLatin1Char('.')))
            expected.chop(1);
        text += QLatin1Char(' ') + QObject::tr("Expected %1.").arg(expected);
    }
    if (!problem.hint.empty())
        text += QLatin1Char(' ') + QString::fromStdString(problem.hint);
    return plainText(text, 1000);
}

} // namespace lockstep::ui
