// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The run on the screen: header, three live charts with one step axis and one crosshair, the
// workers; the join board in place of the charts while it starts.

#include "ui/models/run_desk.h"
#include "ui/models/run_feeds.h"
#include "ui/pages/page.h"

class QFrame;
class QGridLayout;
class QStackedWidget;
class QTimer;

namespace lockstep::ui {

class ChartCard;
class ChartGroup;
class ChartPump;
class JoinBoard;
class LineChart;
class RunHeader;
class RunWorkersModel;

class MonitorPage final : public Page {
    Q_OBJECT
public:
    explicit MonitorPage(RunDesk* desk, QWidget* parent = nullptr);
    /// All at once, without waiting for the timers: for pictures and tests.
    void refreshNow();
    /// Those that this run has.
    QList<LineChart*> charts() const;
    /// Lets one chart fill the page; -1 shows all.
    void fill(int chart);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    QWidget* makeRun();
    QWidget* makeCharts();
    QWidget* makeBanner();
    void arrange();
    bool isOfThisRun(int card) const;
    void setCommand(bool isCommand);
    void showSession();
    void refresh();

    RunDesk* m_desk;
    LossFeed m_lossFeed;
    WorkerFeed m_rateFeed;
    WorkerFeed m_reduceFeed;
    WorkerFeed m_stepFeed;
    RunWorkersModel* m_workers;
    ChartGroup* m_group;
    ChartPump* m_pump;
    QTimer* m_timer;
    QStackedWidget* m_pages;  ///< empty, run
    QStackedWidget* m_middle; ///< charts, join board
    QFrame* m_banner;
    QFrame* m_strip = nullptr;
    RunHeader* m_header;
    JoinBoard* m_board;
    QGridLayout* m_grid = nullptr;
    QList<ChartCard*> m_cards;
    bool m_isLow = false;     ///< charts side by side
    bool m_isCommand = false; ///< of a user's own program only what Keras prints is known
    int m_filled = -1;
};

} // namespace lockstep::ui
