// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/models/workers_model.h"

#include "ui/models/format.h"
#include "ui/models/problem_text.h"
#include "ui/models/workspace.h"

#include <QMimeData>

#include <algorithm>

namespace lockstep::ui {
namespace {

const QString kMime = QStringLiteral("application/x-lockstep-worker-row");

/// The same worker, wherever it stands: all that was typed.
bool isSame(const cluster::Worker& a, const cluster::Worker& b) {
    return a.name == b.name && a.ssh == b.ssh && a.address == b.address && a.type == b.type &&
           a.env == b.env && a.devices == b.devices && a.base == b.base;
}

} // namespace

WorkersModel::WorkersModel(Workspace* workspace, QObject* parent)
    : QAbstractListModel(parent)
    , m_workspace(workspace)
    , m_workers(workspace->cluster().workers()) {
    readRanks();
    connect(workspace, &Workspace::clusterChanged, this, &WorkersModel::sync);
    connect(workspace, &Workspace::problemsChanged, this, &WorkersModel::refresh);
}

int WorkersModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_workers.size());
}

void WorkersModel::readRanks() {
    m_ranks.assign(m_workers.size(), -1);
    for (const auto& rank : cluster::rankTable(m_workspace->cluster()))
        for (std::size_t i = 0; i < m_workers.size(); ++i)
            if (m_workers[i].task == rank.task)
                m_ranks[i] = rank.rank;
}

void WorkersModel::refresh() {
    if (!m_workers.empty())
        Q_EMIT dataChanged(index(0), index(rowCount() - 1));
}

void WorkersModel::sync() {
    const auto fresh = m_workspace->cluster().workers();
    const auto limit = std::min(fresh.size(), m_workers.size());
    std::size_t head = 0;
    while (head < limit && isSame(fresh[head], m_workers[head]))
        ++head;
    std::size_t tail = 0;
    while (tail < limit - head &&
           isSame(fresh[fresh.size() - 1 - tail], m_workers[m_workers.size() - 1 - tail]))
        ++tail;
    const auto first = static_cast<int>(head);
    const auto last = static_cast<int>(m_workers.size() - tail) - 1;
    // Rows move with what they said; their new tasks and ranks come with refresh() afterwards.
    const auto old = m_workers.begin() + first;
    if (fresh.size() > m_workers.size()) {
        const auto count = static_cast<int>(fresh.size() - m_workers.size());
        beginInsertRows({}, last + 1, last + count);
        m_workers.insert(m_workers.begin() + last + 1, fresh.begin() + last + 1,
                         fresh.begin() + last + 1 + count);
        m_ranks.insert(m_ranks.begin() + last + 1, static_cast<std::size_t>(count), -1);
        endInsertRows();
    } else if (fresh.size() < m_workers.size()) {
        const auto count = static_cast<int>(m_workers.size() - fresh.size());
        beginRemoveRows({}, last - count + 1, last);
        m_workers.erase(m_workers.begin() + last - count + 1, m_workers.begin() + last + 1);
        m_ranks.erase(m_ranks.begin() + last - count + 1, m_ranks.begin() + last + 1);
        endRemoveRows();
    } else if (last > first) {
        // One worker moved down, or up: the rest of the part is as before.
        const auto same = [](const auto& a, const auto& b) { return isSame(a, b); };
        const auto now = fresh.begin() + first;
        const int n = last - first;
        if (isSame(*old, now[n]) && std::equal(old + 1, old + n + 1, now, same)) {
            beginMoveRows({}, first, first, {}, last + 1);
            std::rotate(old, old + 1, old + n + 1);
            endMoveRows();
        } else if (isSame(old[n], *now) && std::equal(old, old + n, now + 1, same)) {
            beginMoveRows({}, last, last, {}, first);
            std::rotate(old, old + n, old + n + 1);
            endMoveRows();
        }
    }
    m_workers = fresh;
    readRanks();
    refresh();
}

QVariant WorkersModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid))
        return {};
    const auto row = static_cast<std::size_t>(index.row());
    const cluster::Worker& worker = m_workers[row];
    const auto problem = [&] {
        return m_workspace->problemAt(Document::Cluster, "workers." + std::to_string(row));
    };
    switch (role) {
    case NameRole:
        return plainText(QString::fromStdString(worker.displayName()), 100);
    case AddressRole:
        return plainText(QString::fromStdString(worker.address), 200);
    case TaskRole:
        return QString::fromStdString(worker.task.text());
    case MachineRole:
        return plainText(QString::fromStdString(worker.sshText()), 200);
    case IsChiefRole:
        return m_ranks[row] == 0;
    case RankRole:
        return m_ranks[row];
    case HasErrorRole:
        return problem() && problem()->severity == Severity::Error;
    case HasWarningRole:
        return problem() && problem()->severity == Severity::Warning;
    case ProblemRole:
        return problem() ? sentenceOf(*problem()) : QString();
    case Qt::ToolTipRole:
        return problem() ? sentenceOf(*problem()) : tr("Alt+Up and Alt+Down change the rank");
    case Qt::AccessibleTextRole:
        return QStringLiteral("%1, %2, %3%4 %5")
            .arg(data(index, NameRole).toString(), data(index, TaskRole).toString(),
                 data(index, AddressRole).toString(), m_ranks[row] == 0 ? tr(", chief") : QString(),
                 data(index, ProblemRole).toString())
            .trimmed();
    default:
        return {};
    }
}

Qt::ItemFlags WorkersModel::flags(const QModelIndex& index) const {
    const Qt::ItemFlags flags = QAbstractListModel::flags(index);
    return index.isValid() ? flags | Qt::ItemIsDragEnabled : flags | Qt::ItemIsDropEnabled;
}

QStringList WorkersModel::mimeTypes() const {
    return {kMime};
}

QMimeData* WorkersModel::mimeData(const QModelIndexList& indexes) const {
    if (indexes.isEmpty())
        return nullptr;
    auto* data = new QMimeData;
    data->setData(kMime, QByteArray::number(indexes.front().row()));
    return data;
}

bool WorkersModel::dropMimeData(const QMimeData* data, Qt::DropAction action, int row, int,
                                const QModelIndex& parent) {
    if (action != Qt::MoveAction || !data->hasFormat(kMime))
        return false;
    bool ok = false;
    const int from = data->data(kMime).toInt(&ok);
    int to = row >= 0 ? row : parent.isValid() ? parent.row() : rowCount();
    if (!ok || from < 0 || from >= rowCount())
        return false;
    if (to > from)
        --to; // its own place closes behind it
    if (to != from)
        Q_EMIT moveRequested(from, std::clamp(to, 0, rowCount() - 1));
    return false; // the view must not remove the row: the document has moved it
}

} // namespace lockstep::ui
