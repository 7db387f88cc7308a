// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Workers about to join the cluster, from whatever source, each with a proposed address that can be
// changed before they are added. GUI thread.

#include "core/cluster/cluster_spec.h"
#include "core/ssh/destination.h"

#include <QAbstractTableModel>

namespace lockstep::ui {

class NewWorkersModel final : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { RunsOn, Address, Problem, ColumnCount };
    enum class Source { Typed, Config, List };

    explicit NewWorkersModel(const cluster::ClusterSpec& spec, QObject* parent = nullptr);

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    bool setData(const QModelIndex& index, const QVariant& value, int role) override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

    /// `ssh` as written; the address is proposed: its host with the first free port.
    void add(Source source, const QString& ssh, const ssh::Destination& destination);
    void removeSsh(Source source, const QString& ssh);
    void removeRow(int row);
    /// The data host of a destination became known (`ssh -G`); an address that was edited stays.
    void setHost(const QString& ssh, const QString& host);
    /// Replaces all rows of the pasted list.
    void setList(const std::vector<cluster::Worker>& workers);

    std::vector<cluster::Worker> workers() const;
    int problems() const;

private:
    struct Row {
        Source source;
        cluster::Worker worker;
        bool isEdited = false;
    };
    std::string freeAddress(const std::string& host) const;
    QString problemOf(const Row& row) const;

    cluster::ClusterSpec m_spec;
    QList<Row> m_rows;
};

/// A line for each worker, "alice@10.0.0.1:2222": what the importer reads back.
QString hostListOf(const cluster::ClusterSpec& spec);

} // namespace lockstep::ui
