// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/models/run_session.h"

#include <utility>

namespace lockstep::ui {

void RunLibrary::setEntries(QList<RunEntry> entries, const QString& failure) {
    m_entries = std::move(entries);
    m_failure = failure;
    m_isLoaded = true;
    Q_EMIT entriesChanged();
}

} // namespace lockstep::ui
