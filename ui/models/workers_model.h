// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The workers of the cluster document as rows, in rank order of the file, with what a card shows.
// Rows move by drag (moveRequested) or by the page; the model never edits by itself. GUI thread.

#include "core/base/problem.h"
#include "core/cluster/cluster_spec.h"

#include <QAbstractListModel>

#include <vector>

namespace lockstep::ui {

class Workspace;

class WorkersModel final : public QAbstractListModel {
    Q_OBJECT
public:
    enum Role {
        NameRole = Qt::DisplayRole,
        AddressRole = Qt::UserRole,
        TaskRole,    ///< "worker:1"
        MachineRole, ///< "this machine", "alice@n0"
        IsChiefRole,
        RankRole, ///< -1 for tasks that take no part in training
        HasErrorRole,
        HasWarningRole,
        ProblemRole, ///< the sentence of the worst problem, or empty
    };

    explicit WorkersModel(Workspace* workspace, QObject* parent = nullptr);

    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;
    Qt::DropActions supportedDropActions() const override { return Qt::MoveAction; }
    QStringList mimeTypes() const override;
    QMimeData* mimeData(const QModelIndexList& indexes) const override;
    bool dropMimeData(const QMimeData* data, Qt::DropAction action, int row, int column,
                      const QModelIndex& parent) override;

    const std::vector<cluster::Worker>& workers() const { return m_workers; }

Q_SIGNALS:
    /// A row was dropped so that it stands at `to` afterwards.
    void moveRequested(int from, int to);

private:
    void sync();
    void refresh();
    void readRanks();

    Workspace* m_workspace;
    std::vector<cluster::Worker> m_workers;
    std::vector<int> m_ranks;
};

} // namespace lockstep::ui
