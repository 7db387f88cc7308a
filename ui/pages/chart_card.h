// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// A chart in a card with its title, and a small choice beside the title where it has one.

#include "ui/charts/line_chart.h"
#include "ui/widgets/form.h"

namespace lockstep::ui {

class ChartCard final : public QFrame {
    Q_OBJECT
public:
    ChartCard(const QString& title, const QString& unit, LineChart* chart,
              QWidget* parent = nullptr);
    LineChart* chart() const { return m_chart; }
    void addControl(QWidget* control);
    void setFilled(bool filled);
    /// Title and chart alone.
    void setCompact(bool compact);

Q_SIGNALS:
    void fillRequested();
    void leaveRequested();

private:
    LineChart* m_chart;
    QBoxLayout* m_header;
    QToolButton* m_fill;
    QList<QWidget*> m_extras;
};

} // namespace lockstep::ui
