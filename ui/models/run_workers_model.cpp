// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/models/run_workers_model.h"

#include "ui/models/format.h"

#include <algorithm>

namespace lockstep::ui {

RunWorkersModel::RunWorkersModel(QObject* parent)
    : QAbstractListModel(parent) {}

void RunWorkersModel::setSession(const RunSession* session) {
    m_session = session;
    refresh();
}

QList<RunWorkersModel::Row> RunWorkersModel::read() const {
    QList<Row> rows;
    if (!m_session)
        return rows;
    const metrics::Store& store = m_session->store();
    const auto workers = store.workers();
    const auto text = [](const std::string& s) {
        return plainText(QString::fromStdString(s), 100);
    };
    const auto isWaitedFor = [&](const std::string& task) {
        return std::any_of(workers.begin(), workers.end(), [&](const metrics::Worker* worker) {
            const auto& missing = worker->waitingFor;
            return worker->phase == wire::Phase::Joining &&
                   std::find(missing.begin(), missing.end(), task) != missing.end();
        });
    };
    const auto hosts = m_session->hostProgress();
    const auto add = [&](const std::string& task, const std::string& host,
                         const std::string& address) {
        Words words = wordsOf(task, store, m_session->state());
        const auto progress = std::find_if(hosts.begin(), hosts.end(),
                                           [&](const auto& each) { return each.task == task; });
        // The host speaks until its worker does, and when it is out of sight.
        const metrics::Worker* worker = store.worker(task);
        const bool isAway =
            progress != hosts.end() && progress->stage == run::HostProgress::Stage::Reconnecting;
        if (progress != hosts.end() && m_session->state() < run::State::Stopping &&
            (isAway || !worker || !worker->started))
            words = wordsOf(*progress).value_or(words);
        rows.append({text(task), text(host), text(address), words, isWaitedFor(task)});
    };
    for (const auto& place : m_session->record().tasks)
        add(place.task, place.hostName, place.address);
    if (m_session->record().tasks.empty())
        for (const auto& progress : hosts)
            add(progress.task, progress.host, progress.address);
    for (const metrics::Worker* worker : workers)
        if (!m_session->record().find(worker->task))
            add(worker->task, worker->started ? worker->started->host : std::string(),
                worker->started ? worker->started->address : std::string());
    return rows;
}

void RunWorkersModel::refresh() {
    const QList<Row> fresh = read();
    const auto had = static_cast<int>(m_rows.size());
    const auto has = static_cast<int>(fresh.size());
    if (has > had) {
        beginInsertRows({}, had, has - 1);
        m_rows.append(fresh.mid(had));
        endInsertRows();
    } else if (has < had) {
        beginRemoveRows({}, has, had - 1);
        m_rows.resize(has);
        endRemoveRows();
    }
    for (int i = 0; i < has; ++i)
        if (!(m_rows[i] == fresh[i])) {
            m_rows[i] = fresh[i];
            Q_EMIT dataChanged(index(i), index(i));
        }
}

int RunWorkersModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

QVariant RunWorkersModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid))
        return {};
    const Row& row = m_rows[index.row()];
    switch (role) {
    case TaskRole:
        return row.task;
    case HostRole:
        return row.host;
    case AddressRole:
        return row.address;
    case StateRole:
        return row.words.text;
    case MoodRole:
        return static_cast<int>(row.words.mood);
    case IsChiefRole:
        return index.row() == 0;
    case IsMissingRole:
        return row.isMissing;
    case Qt::ToolTipRole:
        return QStringLiteral("%1 · %2 · %3").arg(row.task, row.host, row.address);
    case Qt::AccessibleTextRole:
        return QStringLiteral("%1, %2").arg(row.task, row.words.text);
    default:
        return {};
    }
}

} // namespace lockstep::ui
