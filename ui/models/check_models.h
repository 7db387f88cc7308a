// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The three bands of the check as item models: hosts with their facts, the matrix of pairs, the
// findings. Each takes a whole CheckView and says what changed. GUI thread.

#include "ui/models/check_session.h"

#include <QAbstractListModel>
#include <QAbstractTableModel>

namespace lockstep::ui {

class CheckHostsModel final : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { Task, Host, State, FirstFact };
    enum Role { StateRole = Qt::UserRole, DiffersRole };
    using QAbstractTableModel::QAbstractTableModel;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
    void setView(const CheckView& view);

private:
    HostFact fact(int row, int column) const;
    /// Whether the value is not the one that most hosts have. Measured amounts do not count.
    bool differs(int row, int column) const;

    QList<CheckHost> m_hosts;
    QStringList m_facts;
};

/// Row dials column.
class CheckPairsModel final : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Role { StateRole = Qt::UserRole };
    using QAbstractTableModel::QAbstractTableModel;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
    void setView(const CheckView& view);

private:
    CheckView m_view;
};

class CheckFindingsModel final : public QAbstractListModel {
    Q_OBJECT
public:
    enum Role { KindRole = Qt::UserRole, SubjectRole, WhatRole, TodoRole };
    using QAbstractListModel::QAbstractListModel;

    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    void setView(const CheckView& view);

private:
    QList<CheckFinding> m_findings;
};

/// "good, 0.21 ms, 118 MiB/s", "refused", …: a pair in a few words.
QString pairWords(const CheckPair& pair);

} // namespace lockstep::ui
