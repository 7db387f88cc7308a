// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/charts/line_chart.h"

#include "ui/models/format.h"

#include <QContextMenuEvent>
#include <QMouseEvent>
#include <QWheelEvent>
#include <QtCharts/QChart>
#include <QtCharts/QLineSeries>
#include <QtCharts/QValueAxis>

#include <algorithm>
#include <cmath>

namespace lockstep::ui {
namespace {

constexpr int kAxisWidth = 54; ///< left of the plot, fixed
constexpr int kTop = 10;       ///< room for marks on the upper edge
constexpr int kBottom = 22;    ///< the x axis' numbers
constexpr int kPointsPerLine = 500;
constexpr int kLabelStep = 24; ///< the label room grows by
constexpr qreal kLineWidth = 1.5;

} // namespace

LineChart::LineChart(const QString& name, std::function<QString(double)> format, ChartGroup* group,
                     QWidget* parent)
    : QChartView(new QChart, parent)
    , m_name(name)
    , m_format(std::move(format))
    , m_group(group)
    , m_xAxis(new QValueAxis)
    , m_yAxis(new QValueAxis) {
    chart()->legend()->hide();
    chart()->setBackgroundVisible(false);
    chart()->setMargins(QMargins(0, 0, 0, 0));
    chart()->addAxis(m_xAxis, Qt::AlignBottom);
    chart()->addAxis(m_yAxis, Qt::AlignLeft);
    for (QValueAxis* axis : {m_xAxis, m_yAxis}) {
        axis->setLabelsVisible(false);
        axis->setLineVisible(false);
        axis->setGridLineVisible(false); // painted with the numbers, at the same ticks
    }
    setRenderHint(QPainter::Antialiasing);
    setFrameShape(QFrame::NoFrame);
    setBackgroundBrush(Qt::NoBrush);
    setStyleSheet(QStringLiteral("background: transparent;"));
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setMinimumSize(160, 80);
    setAccessibleName(name);
    setToolTip(tr("Drag: move · Wheel or + and −: zoom · 0: all · Left and Right: crosshair · "
                  "Double click or Enter: fill the page"));
    setToolTipDuration(4000);
    connect(m_group, &ChartGroup::zoomChanged, this, [this] { m_stale = true; });
    connect(m_group, &ChartGroup::crosshairChanged, this, [this] { viewport()->update(); });
}

void LineChart::setFeed(const ChartFeed* feed) {
    m_feed = feed;
    startOver();
}

void LineChart::startOver() {
    m_stale = true;
    m_labelRoom = 0;
    m_scale.reset();
}

void LineChart::setEmptyText(const QString& text) {
    m_emptyText = text;
    viewport()->update();
}

const Tokens& LineChart::tokens() const {
    return currentTokens();
}

bool LineChart::refresh() {
    if (!m_feed || !isVisible() || visibleRegion().isEmpty())
        return false;
    if (!m_stale && m_feed->generation() == m_drawnGeneration)
        return false;
    refreshNow();
    return true;
}

void LineChart::refreshNow() {
    if (!m_feed)
        return;
    m_stale = false;
    m_drawnGeneration = m_feed->generation();
    ChartRequest request;
    if (const auto& zoom = m_group->zoom()) {
        request.xFrom = zoom->first;
        request.xTo = zoom->second;
    }
    request.columns = std::clamp(width() / 2, 50, kPointsPerLine / 2);
    m_data = m_feed->pull(request);
    ++m_redraws;
    layOut();
    placeLines();
    setAccessibleDescription(summary());
    viewport()->update();
}

std::pair<double, double> LineChart::shownX() const {
    if (const auto& zoom = m_group->zoom())
        return *zoom;
    return {m_data.xMin, std::max(m_data.xMax, m_data.xMin + 1)};
}

void LineChart::layOut() {
    m_small = scaled(font(), 0.88);
    const QFontMetrics metrics(m_small);
    int room = 0;
    for (const ChartLine& line : m_data.lines)
        room = std::max(room, metrics.horizontalAdvance(labelName(line) + QStringLiteral("  ") +
                                                        labelValue(line)));
    room = (room + 26 + kLabelStep - 1) / kLabelStep * kLabelStep;
    m_labelRoom = std::max(m_labelRoom, std::min(room, width() * 2 / 5));
    const QRectF plot(kAxisWidth, kTop, std::max(40, width() - kAxisWidth - m_labelRoom),
                      std::max(30, height() - kTop - kBottom));
    chart()->setPlotArea(plot);
    const auto [from, to] = shownX();
    m_xAxis->setRange(from, to);
    const int wanted = std::clamp(static_cast<int>(plot.height()) / 38, 2, 6);
    const AxisRange& range = m_scale.update(m_data.yMin, m_data.yMax, wanted);
    m_yAxis->setRange(range.min, range.max);
    chart()->setVisible(!m_data.isEmpty());
}

void LineChart::placeLines() {
    for (auto& [key, pool] : m_pools) {
        const bool there =
            std::any_of(m_data.lines.begin(), m_data.lines.end(),
                        [&wanted = key](const ChartLine& line) { return line.key == wanted; });
        for (QLineSeries* series : pool)
            if (!there && series->count() > 0)
                series->replace(QList<QPointF>());
    }
    for (const ChartLine& line : m_data.lines)
        placeLine(line, m_pools[line.key]);
}

void LineChart::placeLine(const ChartLine& line, std::vector<QLineSeries*>& pool) {
    QPen pen(tokens().seriesColor(line.color), line.prominent ? kLineWidth + 0.6 : kLineWidth);
    pen.setCapStyle(Qt::RoundCap);
    pen.setJoinStyle(Qt::RoundJoin);
    if (line.dashed)
        pen.setDashPattern({4, 3});
    while (pool.size() < static_cast<std::size_t>(line.segments.size())) {
        auto* series = new QLineSeries;
        chart()->addSeries(series);
        series->attachAxis(m_xAxis);
        series->attachAxis(m_yAxis);
        pool.push_back(series);
    }
    for (std::size_t i = 0; i < pool.size(); ++i) {
        const auto at = static_cast<qsizetype>(i);
        if (pool[i]->pen() != pen)
            pool[i]->setPen(pen);
        if (at < line.segments.size())
            pool[i]->replace(line.segments[at]);
        else if (pool[i]->count() > 0)
            pool[i]->replace(QList<QPointF>());
    }
}

int LineChart::visibleSeries() const {
    int count = 0;
    for (const auto& [key, pool] : m_pools)
        for (const QLineSeries* series : pool)
            count += series->count() > 0;
    return count;
}

QPointF LineChart::at(const QPointF& value) const {
    const QRectF plot = chart()->plotArea();
    const auto [from, to] = shownX();
    const AxisRange& range = m_scale.range();
    return {plot.left() + (value.x() - from) / (to - from) * plot.width(),
            plot.bottom() - (value.y() - range.min) / (range.max - range.min) * plot.height()};
}

double LineChart::xAt(qreal pixel) const {
    const QRectF plot = chart()->plotArea();
    const auto [from, to] = shownX();
    return from + (pixel - plot.left()) / plot.width() * (to - from);
}

QString LineChart::summary() const {
    if (m_data.isEmpty())
        return m_emptyText;
    QStringList parts;
    for (const ChartLine& line : m_data.lines) {
        if (!line.hasLast)
            continue;
        QString part = tr("%1 is %2").arg(line.label, m_format(line.last));
        if (line.nonFinite > 0)
            part += countWords(line.nonFinite, tr(", 1 value not finite"),
                               tr(", %1 values not finite"));
        parts.append(part);
    }
    return tr("%1 up to step %2: %3.")
        .arg(m_name)
        .arg(static_cast<qlonglong>(m_data.xMax))
        .arg(parts.join(QStringLiteral("; ")));
}

void LineChart::resizeEvent(QResizeEvent* event) {
    QChartView::resizeEvent(event);
    m_stale = true;
    m_labelRoom = 0;
    if (m_feed)
        layOut(); // points follow with the next turn of the pump
}

void LineChart::changeEvent(QEvent* event) {
    QChartView::changeEvent(event);
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange)
        m_stale = true;
}

void LineChart::zoomBy(double factor, double around) {
    if (m_data.isEmpty())
        return;
    const auto [from, to] = shownX();
    double low = around - (around - from) * factor;
    double high = around + (to - around) * factor;
    if (high - low < 4)
        return;
    low = std::max(low, m_data.xMin);
    high = std::min(high, m_data.xMax);
    if (low <= m_data.xMin && high >= m_data.xMax)
        m_group->setZoom({});
    else
        m_group->setZoom(std::pair(low, high));
    m_scale.reset();
    refresh();
}

void LineChart::moveCrosshair(int columns) {
    const auto [from, to] = shownX();
    const double step = std::max(1.0, std::round((to - from) / 100));
    const double now = m_group->crosshair().value_or(columns > 0 ? from : to);
    m_group->setCrosshair(std::clamp(now + columns * step, from, to));
}

void LineChart::mouseMoveEvent(QMouseEvent* event) {
    const QRectF plot = chart()->plotArea();
    if (m_dragFrom && m_group->zoom()) {
        const auto [from, to] = shownX();
        double shift = *m_dragFrom - xAt(event->position().x());
        shift = std::clamp(shift, m_data.xMin - from, m_data.xMax - to);
        if (shift != 0)
            m_group->setZoom(std::pair(from + shift, to + shift));
        refresh();
        return;
    }
    if (plot.adjusted(-2, -kTop, 2, 2).contains(event->position()) && !m_data.isEmpty())
        m_group->setCrosshair(std::round(xAt(event->position().x())));
    else
        m_group->setCrosshair({});
}

void LineChart::mousePressEvent(QMouseEvent* event) {
    setFocus(Qt::MouseFocusReason);
    if (event->button() == Qt::LeftButton && m_group->zoom())
        m_dragFrom = xAt(event->position().x());
}

void LineChart::mouseReleaseEvent(QMouseEvent*) {
    m_dragFrom.reset();
}

void LineChart::mouseDoubleClickEvent(QMouseEvent*) {
    Q_EMIT fillRequested();
}

void LineChart::wheelEvent(QWheelEvent* event) {
    const double turns = event->angleDelta().y() / 120.0;
    if (turns == 0 || !chart()->plotArea().contains(event->position())) {
        event->ignore();
        return;
    }
    zoomBy(std::pow(0.8, turns), xAt(event->position().x()));
    event->accept();
}

void LineChart::leaveEvent(QEvent* event) {
    QChartView::leaveEvent(event);
    m_group->setCrosshair({});
}

void LineChart::keyPressEvent(QKeyEvent* event) {
    const auto [from, to] = shownX();
    const double middle = m_group->crosshair().value_or((from + to) / 2);
    switch (event->key()) {
    case Qt::Key_Plus:
    case Qt::Key_Equal:
        return zoomBy(0.8, middle);
    case Qt::Key_Minus:
        return zoomBy(1.25, middle);
    case Qt::Key_0:
        m_group->setZoom({});
        return;
    case Qt::Key_Left:
        return moveCrosshair(-1);
    case Qt::Key_Right:
        return moveCrosshair(1);
    case Qt::Key_Return:
    case Qt::Key_Enter:
        Q_EMIT fillRequested();
        return;
    case Qt::Key_Escape:
        m_group->setCrosshair({});
        Q_EMIT leaveRequested();
        return;
    default:
        QChartView::keyPressEvent(event);
    }
}

void LineChart::focusInEvent(QFocusEvent* event) {
    QChartView::focusInEvent(event);
    viewport()->update();
}

void LineChart::focusOutEvent(QFocusEvent* event) {
    QChartView::focusOutEvent(event);
    viewport()->update();
}

} // namespace lockstep::ui
