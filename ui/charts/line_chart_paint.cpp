// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// What LineChart paints over and under Qt Charts: band, numbers of the axes, marks on the upper
// edge, labels at the ends of lines, crosshair.
#include "ui/charts/line_chart.h"
#include "ui/models/format.h"

#include <QPainter>
#include <QPainterPath>
#include <QtCharts/QChart>

#include <algorithm>
#include <cmath>

namespace lockstep::ui {
namespace {

constexpr qreal kDot = 2.4;
constexpr qreal kMark = 3.5;

void paintCross(QPainter& painter, const QPointF& c) {
    painter.drawLine(c + QPointF(-kMark, -kMark), c + QPointF(kMark, kMark));
    painter.drawLine(c + QPointF(kMark, -kMark), c + QPointF(-kMark, kMark));
}

void paintTriangle(QPainter& painter, const QPointF& tip) {
    QPainterPath path(tip);
    path.lineTo(tip + QPointF(-kMark, 6));
    path.lineTo(tip + QPointF(kMark, 6));
    path.closeSubpath();
    painter.drawPath(path);
}

} // namespace

QString LineChart::labelName(const ChartLine& line) const {
    QString name = plainText(line.label, 40);
    if (line.nonFinite > 0)
        name += tr(" · %1 not finite").arg(formatCount(line.nonFinite));
    return name;
}

QString LineChart::labelValue(const ChartLine& line) const {
    if (const auto& x = m_group->crosshair()) {
        bool found = false;
        const double value = line.valueNear(*x, &found);
        return found ? m_format(value) : QString();
    }
    return line.hasLast ? m_format(line.last) : QString();
}

QList<LineChart::EndLabel> LineChart::endLabels() const {
    QList<EndLabel> labels;
    for (const ChartLine& line : m_data.lines) {
        if (line.isEmpty())
            continue;
        QPointF end;
        for (const auto& segment : line.segments)
            if (end.isNull() || segment.back().x() > end.x())
                end = segment.back();
        for (const QPointF& dot : line.dots)
            if (end.isNull() || dot.x() > end.x())
                end = dot;
        labels.append({&line, labelName(line), labelValue(line), at(end).y()});
    }
    std::stable_sort(labels.begin(), labels.end(),
                     [](const EndLabel& a, const EndLabel& b) { return a.y < b.y; });
    const QRectF plot = chart()->plotArea();
    const qreal height = QFontMetricsF(m_small).height();
    qreal next = plot.top() + height / 2 - 6;
    for (EndLabel& label : labels) {
        label.y = std::max(label.y, next);
        next = label.y + height;
    }
    // Back up from the bottom, so that the last ones stay inside as well.
    qreal limit = plot.bottom() + 6;
    for (auto label = labels.rbegin(); label != labels.rend(); ++label) {
        label->y = std::min(label->y, limit);
        limit = label->y - height;
    }
    return labels;
}

void LineChart::drawBackground(QPainter* painter, const QRectF& rect) {
    QChartView::drawBackground(painter, rect);
    if (m_data.isEmpty())
        return;
    const QRectF plot = chart()->plotArea();
    painter->setPen(QPen(tokens().line, 1));
    for (const double tick : m_scale.range().ticks()) {
        const qreal y = std::round(at({0, tick}).y()) + 0.5;
        painter->drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y));
    }
    const ChartBand& band = m_data.band;
    if (band.lower.size() < 2)
        return;
    QPainterPath path(at(band.lower.front()));
    for (const QPointF& point : band.lower)
        path.lineTo(at(point));
    for (auto point = band.upper.rbegin(); point != band.upper.rend(); ++point)
        path.lineTo(at(*point));
    QColor fill = tokens().seriesColor(0);
    fill.setAlphaF(0.18F);
    painter->save();
    painter->setClipRect(plot);
    painter->fillPath(path, fill);
    painter->restore();
}

void LineChart::drawForeground(QPainter* painter, const QRectF& rect) {
    QChartView::drawForeground(painter, rect);
    painter->save();
    painter->setFont(m_small);
    if (m_data.isEmpty()) {
        painter->setFont(font());
        painter->setPen(tokens().muted);
        painter->drawText(sceneRect(), Qt::AlignCenter, m_emptyText);
    } else {
        paintAxes(*painter);
        paintMarks(*painter);
        paintCrosshair(*painter);
        paintEndLabels(*painter);
    }
    if (hasFocus()) {
        painter->setPen(QPen(tokens().accent, 2));
        painter->setBrush(Qt::NoBrush);
        painter->drawRoundedRect(sceneRect().adjusted(1, 1, -1, -1), 5, 5);
    }
    painter->restore();
}

void LineChart::paintAxes(QPainter& painter) const {
    const QRectF plot = chart()->plotArea();
    const QFontMetricsF metrics(m_small);
    painter.setPen(tokens().muted);
    const AxisRange& range = m_scale.range();
    for (const double tick : range.ticks()) {
        const qreal y = at({0, tick}).y();
        // The step decides the decimals, so that all ticks of an axis look alike.
        const QString text = tick == 0 ? QStringLiteral("0")
                             : range.max >= 10000 || (range.step < 1e-6)
                                 ? m_format(tick)
                                 : QString::number(tick, 'f', decimalsFor(range.step));
        painter.drawText(QRectF(0, y - 10, plot.left() - 8, 20), Qt::AlignRight | Qt::AlignVCenter,
                         text);
    }
    const auto [from, to] = shownX();
    const auto& crosshair = m_group->crosshair();
    const int wanted = std::clamp(static_cast<int>(plot.width()) / 64, 2, 8);
    for (const double tick : wholeTicks(from, to, wanted)) {
        const QString text = formatCount(static_cast<std::int64_t>(tick));
        const qreal x = at({tick, 0}).x();
        if (crosshair && std::abs(at({*crosshair, 0}).x() - x) < 60)
            continue;
        const qreal half = metrics.horizontalAdvance(text) / 2 + 2;
        painter.drawText(QRectF(x - half, plot.bottom() + 5, 2 * half, 16), Qt::AlignCenter, text);
    }
    if (m_data.columns > 0 && m_data.samples > 2 * m_data.columns) {
        // How many values a place of the chart stands for; its extremes are all drawn.
        const QString ratio =
            QStringLiteral("1:%1").arg(formatCount(m_data.samples / m_data.columns));
        const qreal wide = metrics.horizontalAdvance(ratio) + 6;
        const QRectF box(plot.right() - wide, plot.top() + 3, wide, 16);
        painter.fillRect(box, currentTokens().surface);
        painter.drawText(box, Qt::AlignCenter, ratio);
    }
}

void LineChart::paintMarks(QPainter& painter) const {
    const QRectF plot = chart()->plotArea();
    const auto inside = [&](qreal x) { return x >= plot.left() - 1 && x <= plot.right() + 1; };
    for (const ChartLine& line : m_data.lines) {
        const QColor color = tokens().seriesColor(line.color);
        painter.setPen(Qt::NoPen);
        painter.setBrush(color);
        for (const QPointF& dot : line.dots)
            if (const QPointF p = at(dot); inside(p.x()) && p.y() >= plot.top() - 1)
                painter.drawEllipse(p, kDot, kDot);
        for (const QPointF& point : line.above)
            if (const qreal x = at(point).x(); inside(x))
                paintTriangle(painter, {x, plot.top() - 6});
        painter.setPen(QPen(tokens().error, 1.5, Qt::SolidLine, Qt::RoundCap));
        for (const metrics::Mark& mark : line.marks)
            if (const qreal x = at({mark.x, 0}).x(); inside(x))
                paintCross(painter, {x, plot.top() - 4});
    }
}

void LineChart::paintEndLabels(QPainter& painter) const {
    const QRectF plot = chart()->plotArea();
    const QFontMetricsF metrics(m_small);
    const qreal left = plot.right() + 6;
    const qreal right = width() - 2;
    for (const EndLabel& label : endLabels()) {
        QPen pen(tokens().seriesColor(label.line->color), label.line->prominent ? 2.2 : 1.6);
        if (label.line->dashed)
            pen.setDashPattern({2, 1.4});
        painter.setPen(pen);
        painter.drawLine(QPointF(left, label.y), QPointF(left + 11, label.y));
        const qreal value = metrics.horizontalAdvance(label.value);
        const QRectF box(left + 16, label.y - 10, right - left - 16, 20);
        painter.setPen(label.line->nonFinite > 0 ? tokens().error : tokens().muted);
        const QString name =
            metrics.elidedText(label.name, Qt::ElideRight, box.width() - value - 6);
        painter.drawText(box, Qt::AlignLeft | Qt::AlignVCenter, name);
        painter.setPen(tokens().text);
        const qreal at = metrics.horizontalAdvance(name + QStringLiteral(" ")) + 2;
        painter.drawText(box.adjusted(at, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter, label.value);
    }
}

void LineChart::paintCrosshair(QPainter& painter) const {
    const auto& crosshair = m_group->crosshair();
    if (!crosshair)
        return;
    const QRectF plot = chart()->plotArea();
    const qreal x = at({*crosshair, 0}).x();
    if (x < plot.left() - 1 || x > plot.right() + 1)
        return;
    painter.setPen(QPen(tokens().muted, 1, Qt::DotLine));
    painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()));
    const QString text = tr("step %1").arg(formatCount(static_cast<std::int64_t>(*crosshair)));
    const QFontMetricsF metrics(m_small);
    const qreal half = metrics.horizontalAdvance(text) / 2 + 4;
    const qreal middle = std::clamp(x, half, width() - half);
    painter.setPen(tokens().text);
    painter.drawText(QRectF(middle - half, plot.bottom() + 5, 2 * half, 16), Qt::AlignCenter, text);
    painter.setPen(QPen(tokens().surface, 1.5));
    for (const ChartLine& line : m_data.lines) {
        bool found = false;
        const double value = line.valueNear(*crosshair, &found);
        const QPointF p = at({*crosshair, value});
        if (!found || p.y() < plot.top() || p.y() > plot.bottom())
            continue;
        painter.setBrush(tokens().seriesColor(line.color));
        painter.drawEllipse(p, 3.5, 3.5);
    }
}

} // namespace lockstep::ui
