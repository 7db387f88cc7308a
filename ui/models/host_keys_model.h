// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Host keys that a person is asked about, many at once: a row for each host, ticked one by one.
// GUI thread.

#include "core/ssh/prompter.h"

#include <QAbstractTableModel>

namespace lockstep::ui {

/// "hop 1 of 2, on the way to alice@n1"; empty where the host is reached directly.
QString hopWords(const ssh::Question& question);

class HostKeysModel final : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { Host, Hop, Type, Fingerprint, Note, ColumnCount };
    using QAbstractTableModel::QAbstractTableModel;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    bool setData(const QModelIndex& index, const QVariant& value, int role) override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

    /// A new row is never ticked.
    void add(ssh::Prompter::QuestionId id, const ssh::Question& question);
    void remove(ssh::Prompter::QuestionId id);
    QList<ssh::Prompter::QuestionId> ids() const;
    bool isTicked(ssh::Prompter::QuestionId id) const;
    int ticked() const;
    void tickAll();
    /// What there is to know about a row, in sentences: the session's notes, and rows with the same
    /// key.
    QStringList notesOf(int row) const;
    /// The files that would get a line.
    QStringList files() const;

Q_SIGNALS:
    void tickedChanged();

private:
    struct Row {
        ssh::Prompter::QuestionId id;
        ssh::Question question;
        bool ticked = false;
    };
    QList<Row> m_rows;
};

} // namespace lockstep::ui
