// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The history of runs as a table, newest first. GUI thread.

#include "ui/models/run_session.h"

#include <QAbstractTableModel>

namespace lockstep::ui {

class RunsModel final : public QAbstractTableModel {
    Q_OBJECT
public:
    enum class Column { Name, Status, Started, Duration, Workers, Loss, Curve, Count };
    enum Role {
        IdRole = Qt::UserRole,
        SortRole,
        CurveRole, ///< QList<double>
        MoodRole,  ///< int of Mood
    };

    explicit RunsModel(RunLibrary* library, QObject* parent = nullptr);
    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
    const RunEntry* entry(int row) const;
    int rowOf(const QString& runId) const;

private:
    void sync();
    QVariant display(const RunEntry& run, Column column) const;
    RunLibrary* m_library;
    QList<RunEntry> m_runs;
};

} // namespace lockstep::ui
