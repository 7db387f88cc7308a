// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The workers of a run with their states, in rank order: the run's places, and who reported in.
// Pulled by refresh(). GUI thread.

#include "ui/models/run_session.h"
#include "ui/models/run_words.h"

#include <QAbstractListModel>

namespace lockstep::ui {

class RunWorkersModel final : public QAbstractListModel {
    Q_OBJECT
public:
    enum Role {
        TaskRole = Qt::DisplayRole,
        HostRole = Qt::UserRole,
        AddressRole,
        StateRole, ///< words
        MoodRole,  ///< int of Mood
        IsChiefRole,
        IsMissingRole, ///< while joining: somebody waits for it
    };

    explicit RunWorkersModel(QObject* parent = nullptr);
    void setSession(const RunSession* session);
    /// Compares with what was shown; only rows that differ change.
    void refresh();

    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;

private:
    struct Row {
        QString task;
        QString host;
        QString address;
        Words words;
        bool isMissing = false;
        bool operator==(const Row&) const = default;
    };
    QList<Row> read() const;

    const RunSession* m_session = nullptr;
    QList<Row> m_rows;
};

} // namespace lockstep::ui
