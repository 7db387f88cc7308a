// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/pages/monitor_page.h"

#include "core/base/clock.h"
#include "ui/charts/chart_pump.h"
#include "ui/charts/line_chart.h"
#include "ui/models/format.h"
#include "ui/models/run_workers_model.h"
#include "ui/pages/chart_card.h"
#include "ui/pages/join_board.h"
#include "ui/pages/run_header.h"
#include "ui/pages/worker_strip.h"
#include "ui/widgets/form.h"

#include <QEvent>
#include <QGridLayout>
#include <QPushButton>
#include <QStackedWidget>
#include <QTimer>

namespace lockstep::ui {
namespace {

constexpr int kRefreshMilliseconds = 100;
constexpr int kLowHeight = 320;
constexpr int kStepCard = 3;

/// Before the first step, the page says who is there rather than showing empty charts.
bool isStarting(run::State state) {
    return state == run::State::Idle || state == run::State::Validating ||
           state == run::State::PreparingHosts || state == run::State::Checking ||
           state == run::State::Deploying || state == run::State::Launching ||
           state == run::State::Joining;
}

} // namespace

MonitorPage::MonitorPage(RunDesk* desk, QWidget* parent)
    : Page(parent)
    , m_desk(desk)
    , m_rateFeed(metrics::Quantity::SamplesPerSecond, WorkerFeed::Total::SamplesPerSecond,
                 tr("total"))
    , m_reduceFeed(metrics::Quantity::AllReduceMs, WorkerFeed::Total::None)
    , m_stepFeed(metrics::Quantity::StepMs, WorkerFeed::Total::None)
    , m_workers(new RunWorkersModel(this))
    , m_group(new ChartGroup(this))
    , m_pump(new ChartPump(this))
    , m_timer(new QTimer(this))
    , m_pages(new QStackedWidget) {
    auto* empty = new EmptyState("monitor", tr("Nothing has run yet"),
                                 tr("Launch trains the job on the cluster. Loss, throughput and "
                                    "all-reduce times appear here from the first step on."));
    auto* launch = empty->addAction(tr("Launch"), "launch");
    launch->setToolTip(tr("Launch the job on the cluster (F5)"));
    connect(launch, &QPushButton::clicked, desk, &RunDesk::runPrimary);
    m_pages->addWidget(empty);
    m_pages->addWidget(makeRun());
    makeColumn()->addWidget(m_pages, 1);

    connect(desk, &RunDesk::shownChanged, this, &MonitorPage::showSession);
    connect(desk, &RunDesk::stateChanged, this, &MonitorPage::refresh);
    m_timer->setInterval(kRefreshMilliseconds);
    connect(m_timer, &QTimer::timeout, this, [this] {
        if (isVisible())
            refresh();
    });
    m_timer->start();
    showSession();
}

QWidget* MonitorPage::makeBanner() {
    m_banner = new QFrame;
    m_banner->setProperty("kind", QStringLiteral("notice"));
    m_banner->setProperty("tone", QStringLiteral("accent"));
    auto* row = new QHBoxLayout(m_banner);
    row->setContentsMargins(12, 6, 6, 6);
    row->addWidget(makeLabel(tr("You look at an earlier run. Another one is at work.")), 1);
    auto* back = new QPushButton(tr("Show the running one"));
    connect(back, &QPushButton::clicked, m_desk, &RunDesk::showLive);
    row->addWidget(back);
    m_banner->hide();
    return m_banner;
}

QWidget* MonitorPage::makeRun() {
    auto* run = new QWidget;
    auto* column = new QVBoxLayout(run);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(12);
    m_header = new RunHeader;
    m_board = new JoinBoard(m_workers);
    m_middle = new QStackedWidget;
    m_middle->addWidget(makeCharts());
    m_middle->addWidget(m_board);
    m_strip = new QFrame;
    m_strip->setProperty("kind", QStringLiteral("card"));
    auto* inside = new QVBoxLayout(m_strip);
    inside->setContentsMargins(12, 8, 12, 8);
    inside->addWidget(new WorkerStrip(m_workers));
    column->addWidget(makeBanner());
    column->addWidget(m_header);
    column->addWidget(m_middle, 1);
    column->addWidget(m_strip);
    return run;
}

QWidget* MonitorPage::makeCharts() {
    auto* charts = new QWidget;
    m_grid = new QGridLayout(charts);
    m_grid->setContentsMargins(0, 0, 0, 0);
    m_grid->setSpacing(12);
    charts->installEventFilter(this);
    const auto add = [&](const QString& title, const QString& unit, const ChartFeed* feed,
                         QString (*format)(double)) {
        auto* chart = new LineChart(title, format, m_group);
        chart->setFeed(feed);
        auto* card = new ChartCard(title, unit, chart);
        const int place = static_cast<int>(m_cards.size());
        connect(card, &ChartCard::fillRequested, this,
                [this, place] { fill(m_filled == place ? -1 : place); });
        connect(card, &ChartCard::leaveRequested, this, [this] { fill(-1); });
        m_cards.append(card);
        m_pump->add(chart);
        return card;
    };
    auto* loss = add(tr("Loss and metrics"), tr("by step"), &m_lossFeed, formatValue);
    add(tr("Throughput"), tr("samples/s"), &m_rateFeed, formatRate);
    const auto milliseconds = [](double ms) {
        return QString::number(ms, 'f', ms < 10 ? 2 : ms < 100 ? 1 : 0);
    };
    add(tr("All-reduce"), tr("ms per step"), &m_reduceFeed, milliseconds);
    add(tr("Step time"), tr("ms per step"), &m_stepFeed, milliseconds);
    arrange(); // gives them a parent, before they are shown
    setCommand(false);
    auto* choice = new Segments({tr("Both"), tr("Loss"), tr("Metrics")}, tr("Shown lines"));
    connect(choice, &Segments::chosen, this, [this, loss](int index) {
        m_lossFeed.setShow(static_cast<LossFeed::Show>(index));
        loss->chart()->refresh();
    });
    loss->addControl(choice);
    return charts;
}

bool MonitorPage::isOfThisRun(int card) const {
    return card == 0 || (card == kStepCard) == m_isCommand;
}

void MonitorPage::setCommand(bool isCommand) {
    m_isCommand = isCommand;
    for (ChartCard* card : m_cards)
        card->chart()->setEmptyText(isCommand ? tr("No progress lines of Keras yet")
                                              : tr("No steps yet"));
    fill(-1);
}

/// Loss beside the others, or, where the log leaves little height, all in a row.
void MonitorPage::arrange() {
    const QRect places[2][4] = {{{0, 0, 1, 2}, {1, 0, 1, 1}, {1, 1, 1, 1}, {1, 0, 1, 2}},
                                {{0, 0, 1, 1}, {1, 0, 1, 1}, {2, 0, 1, 1}, {1, 0, 2, 1}}};
    for (int i = 0; i < m_cards.size(); ++i) {
        const QRect& place = places[m_isLow ? 1 : 0][i];
        m_cards[i]->setCompact(m_isLow && m_filled < 0);
        m_grid->removeWidget(m_cards[i]);
        m_grid->addWidget(m_cards[i], place.y(), place.x(), place.height(), place.width());
    }
    // Of a chart that fills the page only its own row and column get room.
    const QRect own = m_filled < 0 ? QRect(0, 0, m_isLow ? 3 : 2, m_isLow ? 1 : 2)
                                   : places[m_isLow ? 1 : 0][m_filled];
    for (int column = 0; column < 3; ++column)
        m_grid->setColumnStretch(column, column >= own.left() && column <= own.right() ? 1 : 0);
    for (int row = 0; row < 2; ++row)
        m_grid->setRowStretch(row, row >= own.top() && row <= own.bottom() ? 1 : 0);
}

bool MonitorPage::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::Resize && m_filled < 0) {
        const bool isLow = static_cast<QWidget*>(watched)->height() < kLowHeight;
        if (isLow != m_isLow) {
            m_isLow = isLow;
            arrange();
        }
    }
    return Page::eventFilter(watched, event);
}

void MonitorPage::fill(int chart) {
    m_filled = chart;
    for (int i = 0; i < m_cards.size(); ++i) {
        m_cards[i]->setVisible(isOfThisRun(i) && (chart < 0 || chart == i));
        m_cards[i]->setFilled(chart == i);
    }
    arrange();
    if (chart >= 0)
        m_cards[chart]->chart()->setFocus();
}

QList<LineChart*> MonitorPage::charts() const {
    QList<LineChart*> charts;
    for (int i = 0; i < m_cards.size(); ++i)
        if (isOfThisRun(i))
            charts.append(m_cards[i]->chart());
    return charts;
}

void MonitorPage::showSession() {
    const RunSession* session = m_desk->shown();
    const metrics::Store* store = session ? &session->store() : nullptr;
    for (StoreFeed* feed :
         {static_cast<StoreFeed*>(&m_lossFeed), static_cast<StoreFeed*>(&m_rateFeed),
          static_cast<StoreFeed*>(&m_reduceFeed), static_cast<StoreFeed*>(&m_stepFeed)})
        feed->setStore(store);
    for (ChartCard* card : m_cards)
        card->chart()->startOver();
    m_group->setZoom({});
    m_workers->setSession(session);
    m_header->setSession(session);
    m_board->setSession(session);
    m_pages->setCurrentIndex(session ? 1 : 0);
    refresh();
}

void MonitorPage::refresh() {
    const RunSession* session = m_desk->shown();
    if (!session)
        return;
    if (session->record().isCommand() != m_isCommand)
        setCommand(!m_isCommand);
    const RunSession* live = m_desk->live();
    m_banner->setVisible(live && live != session);
    const bool starting = isStarting(session->state()) && session->store().loss().isEmpty();
    m_middle->setCurrentIndex(starting ? 1 : 0);
    m_strip->setVisible(!starting && m_workers->rowCount() > 0);
    m_workers->refresh();
    m_header->refresh();
    if (starting)
        m_board->refresh(Clock::system().utcSeconds());
}

void MonitorPage::refreshNow() {
    refresh();
    for (ChartCard* card : m_cards)
        card->chart()->refreshNow();
}

} // namespace lockstep::ui
