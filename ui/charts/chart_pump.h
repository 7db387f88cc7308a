// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Refreshes charts in turn: each at most ten times a second, one chart per timer event, so that no
// event of the window grows with the number of charts. GUI thread.

#include <QList>
#include <QObject>
#include <QPointer>

class QTimer;

namespace lockstep::ui {

class LineChart;

class ChartPump final : public QObject {
    Q_OBJECT
public:
    explicit ChartPump(QObject* parent = nullptr);
    void add(LineChart* chart);

private:
    void tick();
    QList<QPointer<LineChart>> m_charts;
    qsizetype m_next = 0;
    QTimer* m_timer;
};

} // namespace lockstep::ui
