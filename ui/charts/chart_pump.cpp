// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/charts/chart_pump.h"

#include "ui/charts/line_chart.h"

#include <QTimer>

namespace lockstep::ui {
namespace {
constexpr int kCycleMilliseconds = 100; ///< in which every chart has its turn once
}

ChartPump::ChartPump(QObject* parent)
    : QObject(parent)
    , m_timer(new QTimer(this)) {
    connect(m_timer, &QTimer::timeout, this, &ChartPump::tick);
}

void ChartPump::add(LineChart* chart) {
    m_charts.append(chart);
    m_timer->start(kCycleMilliseconds / static_cast<int>(m_charts.size()));
}

void ChartPump::tick() {
    if (m_charts.isEmpty())
        return;
    m_next = (m_next + 1) % m_charts.size();
    if (LineChart* chart = m_charts[m_next])
        chart->refresh();
}

} // namespace lockstep::ui
