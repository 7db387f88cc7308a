// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The merged log of a run as rows, a window onto the store: lines are neither copied nor cut here,
// however long they are. Pulled by refresh(), which does a bounded amount of work. GUI thread.

#include "core/metrics/store.h"

#include <QAbstractListModel>
#include <QString>

#include <cstdint>
#include <deque>
#include <string>

namespace lockstep::ui {

class LogModel final : public QAbstractListModel {
    Q_OBJECT
public:
    enum Role {
        TextRole = Qt::DisplayRole, ///< the whole line, safe to show
        TimeRole = Qt::UserRole,    ///< "08:14:03"
        TaskRole,
        LevelRole, ///< int of wire::Level
        RankRole,  ///< place of the task among the workers, -1 for the control side
    };

    explicit LogModel(QObject* parent = nullptr);

    void setStore(const metrics::Store* store);
    struct Filter {
        QString text; ///< letters' case is ignored for ASCII
        std::string task;
        wire::Level least = wire::Level::Info;
        bool operator==(const Filter&) const = default;
    };
    void setFilter(const Filter& filter);

    /// Takes in what came; at most kBytesPerRefresh of text are searched. True while more is left.
    bool refresh();
    static constexpr std::size_t kBytesPerRefresh = std::size_t{4} << 20;

    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    /// The newest line that passes the filter; nullptr where there is none.
    const metrics::LogLine* newest() const;

private:
    void restart();
    bool matches(const metrics::LogLine& line) const;
    const metrics::LogLine* lineAt(int row) const;
    void dropRows(int from, int to);

    const metrics::Store* m_store = nullptr;
    Filter m_filter;
    std::string m_needle;            ///< the filter's text in lower case
    std::deque<std::int64_t> m_rows; ///< places counted from the very first line of the store
    std::int64_t m_scanned = 0;      ///< place of the first line that was not looked at
    std::uint64_t m_generation = 0;
};

} // namespace lockstep::ui
