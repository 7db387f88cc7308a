// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/models/runs_model.h"

#include "core/base/clock.h"
#include "ui/models/format.h"
#include "ui/models/run_words.h"

#include <limits>

namespace lockstep::ui {

RunsModel::RunsModel(RunLibrary* library, QObject* parent)
    : QAbstractTableModel(parent)
    , m_library(library)
    , m_runs(library->entries()) {
    connect(library, &RunLibrary::entriesChanged, this, &RunsModel::sync);
}

int RunsModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_runs.size());
}

int RunsModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(Column::Count);
}

/// Runs come at the top and go anywhere; one that stays may change what it says.
void RunsModel::sync() {
    const auto& fresh = m_library->entries();
    const auto has = [](const QList<RunEntry>& list, const std::string& id) {
        return std::any_of(list.begin(), list.end(),
                           [&](const auto& r) { return r.entry.id == id; });
    };
    for (int row = rowCount() - 1; row >= 0; --row)
        if (!has(fresh, m_runs[row].entry.id)) {
            beginRemoveRows({}, row, row);
            m_runs.removeAt(row);
            endRemoveRows();
        }
    for (int row = 0; row < fresh.size(); ++row) {
        if (row < m_runs.size() && m_runs[row].entry.id == fresh[row].entry.id) {
            if (!(m_runs[row] == fresh[row])) {
                m_runs[row] = fresh[row];
                Q_EMIT dataChanged(index(row, 0), index(row, columnCount() - 1));
            }
        } else if (!has(m_runs, fresh[row].entry.id)) {
            beginInsertRows({}, row, row);
            m_runs.insert(row, fresh[row]);
            endInsertRows();
        } else {
            beginResetModel(); // another order: a clock was set back
            m_runs = fresh;
            endResetModel();
            return;
        }
    }
}

const RunEntry* RunsModel::entry(int row) const {
    return row >= 0 && row < m_runs.size() ? &m_runs[row] : nullptr;
}

int RunsModel::rowOf(const QString& runId) const {
    for (int row = 0; row < m_runs.size(); ++row)
        if (m_runs[row].entry.id == runId.toStdString())
            return row;
    return -1;
}

QVariant RunsModel::display(const RunEntry& run, Column column) const {
    const auto& entry = run.entry;
    switch (column) {
    case Column::Name:
        return plainText(QString::fromStdString(entry.name.empty() ? entry.id : entry.name), 100);
    case Column::Status:
        return wordsOf(entry.status).text;
    case Column::Started:
        return formatMoment(entry.startedAt, Clock::system().utcSeconds());
    case Column::Duration:
        return entry.endedAt ? formatDuration(*entry.endedAt - entry.startedAt)
                             : QStringLiteral("–");
    case Column::Workers:
        return entry.workers;
    case Column::Loss:
        return entry.finalLoss ? formatValue(*entry.finalLoss) : QStringLiteral("–");
    default:
        return {};
    }
}

QVariant RunsModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid))
        return {};
    const RunEntry& run = m_runs[index.row()];
    const auto column = static_cast<Column>(index.column());
    switch (role) {
    case Qt::DisplayRole:
        return display(run, column);
    case Qt::TextAlignmentRole:
        return column == Column::Workers || column == Column::Loss || column == Column::Duration
                   ? QVariant(Qt::AlignRight | Qt::AlignVCenter)
                   : QVariant(Qt::AlignLeft | Qt::AlignVCenter);
    case Qt::ToolTipRole:
        return column == Column::Started ? formatMomentLong(run.entry.startedAt)
               : !run.failure.isEmpty()  ? run.failure
                                         : QString::fromStdString(run.entry.id);
    case Qt::AccessibleTextRole:
        if (column == Column::Curve)
            return run.losses.isEmpty()
                       ? tr("no epochs")
                       : tr("loss from %1 to %2")
                             .arg(formatValue(run.losses.front()), formatValue(run.losses.back()));
        return display(run, column);
    case IdRole:
        return QString::fromStdString(run.entry.id);
    case SortRole:
        return column == Column::Started ? QVariant(run.entry.startedAt)
               : column == Column::Duration
                   ? QVariant(run.entry.endedAt.value_or(0) - run.entry.startedAt)
               : column == Column::Loss
                   ? QVariant(run.entry.finalLoss.value_or(std::numeric_limits<double>::infinity()))
                   : display(run, column);
    case CurveRole:
        return QVariant::fromValue(run.losses);
    case MoodRole:
        return static_cast<int>(wordsOf(run.entry.status).mood);
    default:
        return {};
    }
}

QVariant RunsModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal)
        return {};
    const auto column = static_cast<Column>(section);
    if (role == Qt::TextAlignmentRole)
        return column == Column::Workers || column == Column::Loss || column == Column::Duration
                   ? QVariant(Qt::AlignRight | Qt::AlignVCenter)
                   : QVariant(Qt::AlignLeft | Qt::AlignVCenter);
    if (role != Qt::DisplayRole)
        return {};
    switch (column) {
    case Column::Name:
        return tr("Run");
    case Column::Status:
        return tr("Status");
    case Column::Started:
        return tr("Started");
    case Column::Duration:
        return tr("Duration");
    case Column::Workers:
        return tr("Workers");
    case Column::Loss:
        return tr("Final loss");
    case Column::Curve:
        return tr("Loss");
    default:
        return {};
    }
}

} // namespace lockstep::ui
