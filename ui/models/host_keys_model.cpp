// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/models/host_keys_model.h"

#include "ui/models/format.h"

#include <algorithm>

namespace lockstep::ui {

QString hopWords(const ssh::Question& question) {
    if (question.hops < 2)
        return {};
    const QString hop = HostKeysModel::tr("hop %1 of %2").arg(question.hop).arg(question.hops);
    return question.hop < question.hops ? HostKeysModel::tr("%1, on the way to %2")
                                              .arg(hop, plainText(question.destination, 200))
                                        : hop;
}

int HostKeysModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int HostKeysModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : ColumnCount;
}

QStringList HostKeysModel::notesOf(int row) const {
    QStringList notes;
    for (const QString& note : m_rows[row].question.notes)
        notes.append(plainText(note, 500));
    QStringList twins;
    for (const Row& other : m_rows)
        if (other.id != m_rows[row].id &&
            other.question.fingerprint == m_rows[row].question.fingerprint &&
            other.question.host != m_rows[row].question.host)
            twins.append(plainText(other.question.host, 100));
    if (!twins.isEmpty())
        notes.append(tr("Same key as %1: one machine under two names, or a machine copied with "
                        "its key. Give each copy a key of its own.")
                         .arg(twins.join(QStringLiteral(", "))));
    return notes;
}

QVariant HostKeysModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid))
        return {};
    const Row& row = m_rows[index.row()];
    if (role == Qt::CheckStateRole && index.column() == Host)
        return row.ticked ? Qt::Checked : Qt::Unchecked;
    if (role != Qt::DisplayRole && role != Qt::ToolTipRole && role != Qt::AccessibleTextRole)
        return {};
    switch (index.column()) {
    case Host:
        return plainText(row.question.host, 200);
    case Hop:
        return hopWords(row.question);
    case Type:
        return plainText(row.question.keyType, 60);
    case Fingerprint:
        return plainText(row.question.fingerprint, 100);
    case Note: {
        const QStringList notes = notesOf(index.row());
        return notes.isEmpty()           ? QString()
               : role == Qt::ToolTipRole ? notes.join(QLatin1Char('\n'))
                                         : notes.join(QLatin1Char(' '));
    }
    default:
        return {};
    }
}

bool HostKeysModel::setData(const QModelIndex& index, const QVariant& value, int role) {
    if (role != Qt::CheckStateRole || !checkIndex(index, CheckIndexOption::IndexIsValid) ||
        index.column() != Host)
        return false;
    m_rows[index.row()].ticked = value.toInt() == Qt::Checked;
    Q_EMIT dataChanged(index, index, {Qt::CheckStateRole});
    Q_EMIT tickedChanged();
    return true;
}

Qt::ItemFlags HostKeysModel::flags(const QModelIndex& index) const {
    Qt::ItemFlags flags = QAbstractTableModel::flags(index);
    if (index.isValid() && index.column() == Host)
        flags |= Qt::ItemIsUserCheckable;
    return flags;
}

QVariant HostKeysModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole)
        return QAbstractTableModel::headerData(section, orientation, role);
    switch (section) {
    case Host:
        return tr("Host");
    case Hop:
        return tr("On the way");
    case Type:
        return tr("Kind");
    case Fingerprint:
        return tr("Fingerprint");
    case Note:
        return tr("Worth knowing");
    default:
        return {};
    }
}

void HostKeysModel::add(ssh::Prompter::QuestionId id, const ssh::Question& question) {
    const int at = rowCount();
    beginInsertRows({}, at, at);
    m_rows.append({id, question, false});
    endInsertRows();
    Q_EMIT dataChanged(index(0, Note), index(at, Note)); // twins are named in both rows
    Q_EMIT tickedChanged();
}

void HostKeysModel::remove(ssh::Prompter::QuestionId id) {
    const auto at =
        std::find_if(m_rows.begin(), m_rows.end(), [id](const Row& row) { return row.id == id; });
    if (at == m_rows.end())
        return;
    const int row = static_cast<int>(at - m_rows.begin());
    beginRemoveRows({}, row, row);
    m_rows.erase(at);
    endRemoveRows();
    if (!m_rows.isEmpty())
        Q_EMIT dataChanged(index(0, Note), index(rowCount() - 1, Note));
    Q_EMIT tickedChanged();
}

QList<ssh::Prompter::QuestionId> HostKeysModel::ids() const {
    QList<ssh::Prompter::QuestionId> ids;
    for (const Row& row : m_rows)
        ids.append(row.id);
    return ids;
}

bool HostKeysModel::isTicked(ssh::Prompter::QuestionId id) const {
    return std::any_of(m_rows.begin(), m_rows.end(),
                       [id](const Row& row) { return row.id == id && row.ticked; });
}

int HostKeysModel::ticked() const {
    return static_cast<int>(
        std::count_if(m_rows.begin(), m_rows.end(), [](const Row& row) { return row.ticked; }));
}

void HostKeysModel::tickAll() {
    for (Row& row : m_rows)
        row.ticked = true;
    if (!m_rows.isEmpty())
        Q_EMIT dataChanged(index(0, Host), index(rowCount() - 1, Host), {Qt::CheckStateRole});
    Q_EMIT tickedChanged();
}

QStringList HostKeysModel::files() const {
    QStringList files;
    for (const Row& row : m_rows)
        if (!row.question.knownHosts.isEmpty() && !files.contains(row.question.knownHosts))
            files.append(row.question.knownHosts);
    return files;
}

} // namespace lockstep::ui
