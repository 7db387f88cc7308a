// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/models/log_model.h"

#include "ui/models/format.h"

#include <algorithm>
#include <cctype>

namespace lockstep::ui {
namespace {

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

} // namespace

LogModel::LogModel(QObject* parent)
    : QAbstractListModel(parent) {}

void LogModel::setStore(const metrics::Store* store) {
    m_store = store;
    restart();
}

void LogModel::setFilter(const Filter& filter) {
    if (filter == m_filter)
        return;
    m_filter = filter;
    m_needle = filter.text.toStdString();
    std::transform(m_needle.begin(), m_needle.end(), m_needle.begin(), lower);
    restart();
}

void LogModel::restart() {
    beginResetModel();
    m_rows.clear();
    m_scanned = m_store ? m_store->droppedLogLines() : 0;
    m_generation = m_store ? m_store->generation() : 0;
    endResetModel();
    refresh();
}

bool LogModel::matches(const metrics::LogLine& line) const {
    if (line.level < m_filter.least || (!m_filter.task.empty() && line.task != m_filter.task))
        return false;
    if (m_needle.empty())
        return true;
    const auto same = [](char a, char b) { return lower(a) == b; };
    return std::search(line.text.begin(), line.text.end(), m_needle.begin(), m_needle.end(),
                       same) != line.text.end();
}

void LogModel::dropRows(int from, int to) {
    if (from >= to)
        return;
    beginRemoveRows({}, from, to - 1);
    m_rows.erase(m_rows.begin() + from, m_rows.begin() + to);
    endRemoveRows();
}

bool LogModel::refresh() {
    if (!m_store)
        return false;
    const auto& log = m_store->log();
    const std::int64_t dropped = m_store->droppedLogLines();
    if (m_generation != m_store->generation()) {
        const auto changed =
            dropped + static_cast<std::int64_t>(m_store->firstLogLineAfter(m_generation));
        m_generation = m_store->generation();
        // The oldest are gone; those from `changed` on may be others than before.
        const auto first = std::lower_bound(m_rows.begin(), m_rows.end(), dropped);
        dropRows(0, static_cast<int>(first - m_rows.begin()));
        const auto moved = std::lower_bound(m_rows.begin(), m_rows.end(), changed);
        dropRows(static_cast<int>(moved - m_rows.begin()), static_cast<int>(m_rows.size()));
        m_scanned = std::clamp(std::min(m_scanned, changed), dropped,
                               dropped + static_cast<std::int64_t>(log.size()));
    }
    std::deque<std::int64_t> found;
    std::size_t budget = kBytesPerRefresh;
    const auto end = dropped + static_cast<std::int64_t>(log.size());
    for (; m_scanned < end && budget > 0; ++m_scanned) {
        const auto& line = log[static_cast<std::size_t>(m_scanned - dropped)];
        if (matches(line))
            found.push_back(m_scanned);
        const std::size_t cost = m_needle.empty() ? 64 : line.text.size() + 64;
        budget -= std::min(budget, cost);
    }
    if (!found.empty()) {
        const int at = static_cast<int>(m_rows.size());
        beginInsertRows({}, at, at + static_cast<int>(found.size()) - 1);
        m_rows.insert(m_rows.end(), found.begin(), found.end());
        endInsertRows();
    }
    return m_scanned < end;
}

int LogModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

const metrics::LogLine* LogModel::lineAt(int row) const {
    if (!m_store || row < 0 || row >= static_cast<int>(m_rows.size()))
        return nullptr;
    const auto at = m_rows[static_cast<std::size_t>(row)] - m_store->droppedLogLines();
    const auto& log = m_store->log();
    return at >= 0 && at < static_cast<std::int64_t>(log.size())
               ? &log[static_cast<std::size_t>(at)]
               : nullptr;
}

const metrics::LogLine* LogModel::newest() const {
    return lineAt(static_cast<int>(m_rows.size()) - 1);
}

QVariant LogModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || index.model() != this)
        return {};
    const metrics::LogLine* line = lineAt(index.row());
    if (!line)
        return {};
    switch (role) {
    case TextRole: {
        // The view shows the beginning; copying takes the whole from the store.
        const auto size = std::min<std::size_t>(line->text.size(), 16384);
        return plainText(QString::fromUtf8(line->text.data(), static_cast<qsizetype>(size)), 4000);
    }
    case TimeRole:
        return formatClock(line->time);
    case TaskRole:
        return line->task.empty() ? tr("control")
                                  : plainText(QString::fromStdString(line->task), 40);
    case LevelRole:
        return static_cast<int>(line->level);
    case RankRole: {
        const auto workers = m_store->workers();
        for (std::size_t i = 0; i < workers.size(); ++i)
            if (workers[i]->task == line->task)
                return static_cast<int>(i);
        return -1;
    }
    case Qt::ToolTipRole:
        return formatMomentLong(line->time);
    case Qt::AccessibleTextRole:
        return QStringLiteral("%1 %2 %3")
            .arg(formatClock(line->time), QString::fromStdString(line->task),
                 data(index, TextRole).toString());
    default:
        return {};
    }
}

} // namespace lockstep::ui
