// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Everything that is wrong with cluster and job, as rows to jump from. GUI thread.

#include "ui/models/workspace.h"

#include <QAbstractListModel>

namespace lockstep::ui {

class ProblemsModel final : public QAbstractListModel {
    Q_OBJECT
public:
    enum Role {
        TextRole = Qt::DisplayRole,
        DocumentRole = Qt::UserRole, ///< int of Document
        PathRole,
        LineRole,
        IsErrorRole,
    };

    explicit ProblemsModel(Workspace* workspace, QObject* parent = nullptr);
    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;

private:
    void sync();
    Workspace* m_workspace;
    QList<PlacedProblem> m_problems;
};

} // namespace lockstep::ui
