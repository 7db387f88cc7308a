// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/models/chart_data.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace lockstep::ui {
namespace {

constexpr double kOutlierReach = 4; ///< spans of the bulk beyond which a value is an outlier
constexpr double kBulk = 0.97;      ///< share of the points that is never an outlier

void closeSegment(ChartLine& line, QList<QPointF>& segment) {
    if (segment.size() == 1)
        line.dots.append(segment.front());
    else if (segment.size() > 1)
        line.segments.append(segment);
    segment.clear();
}

template <class Visit>
void eachPoint(const ChartLine& line, Visit visit) {
    for (const auto& segment : line.segments)
        for (const QPointF& point : segment)
            visit(point);
    for (const QPointF& point : line.dots)
        visit(point);
}

} // namespace

double ChartLine::valueNear(double x, bool* found) const {
    double best = std::numeric_limits<double>::infinity();
    double value = 0;
    const auto look = [&](const QPointF& point) {
        if (const double distance = std::abs(point.x() - x); distance < best) {
            best = distance;
            value = point.y();
        }
    };
    for (const auto& segment : segments) {
        const auto at = std::lower_bound(segment.begin(), segment.end(), x,
                                         [](const QPointF& p, double v) { return p.x() < v; });
        if (at != segment.end())
            look(*at);
        if (at != segment.begin())
            look(*(at - 1));
    }
    for (const QPointF& point : dots)
        look(point);
    *found = std::isfinite(best);
    return value;
}

bool ChartData::isEmpty() const {
    return std::all_of(lines.begin(), lines.end(), [](const auto& line) { return line.isEmpty(); });
}

void addSeries(ChartLine& line, const metrics::Series& series, const ChartRequest& request,
               ChartData& data) {
    line.nonFinite = series.nonFiniteCount();
    line.last = series.lastValue();
    line.hasLast = !series.isEmpty();
    if (series.isEmpty())
        return;
    const double from = std::max(request.xFrom, series.firstX());
    const double to = std::min(request.xTo, series.lastX());
    const metrics::Decimated part = series.decimate(from, to, request.columns);
    QList<QPointF> segment;
    for (const metrics::Column& column : part.columns) {
        if (column.breakBefore)
            closeSegment(line, segment);
        if (column.count > 1 && column.max > column.min) {
            // Both extremes at the column's x: a spike of one sample stays a spike at any zoom.
            const bool rising = segment.isEmpty() || segment.back().y() <= column.mean;
            segment.append({column.x, rising ? column.min : column.max});
            segment.append({column.x, rising ? column.max : column.min});
        } else {
            segment.append({column.x, column.mean});
        }
    }
    closeSegment(line, segment);
    for (const metrics::Mark& mark : part.marks)
        line.marks.append(mark);
    data.samples += part.samples;
    data.columns += static_cast<std::int64_t>(part.columns.size());
}

void fitRange(ChartData& data) {
    std::vector<double> values;
    for (const ChartLine& line : data.lines)
        eachPoint(line, [&](const QPointF& point) { values.push_back(point.y()); });
    for (const auto* edge : {&data.band.lower, &data.band.upper})
        for (const QPointF& point : *edge)
            values.push_back(point.y());
    data.yMin = data.yMax = 0;
    if (values.empty())
        return;
    std::sort(values.begin(), values.end());
    data.yMin = values.front();
    data.yMax = values.back();
    const auto place = static_cast<std::size_t>(kBulk * static_cast<double>(values.size() - 1));
    const double bulk = values[place];
    const double limit = bulk + kOutlierReach * std::max(bulk - values.front(), 1e-12);
    if (values.size() < 20 || data.yMax <= limit)
        return;
    data.yMax = *(std::upper_bound(values.begin(), values.end(), limit) - 1);
    for (ChartLine& line : data.lines)
        eachPoint(line, [&](const QPointF& point) {
            if (point.y() > limit)
                line.above.append(point);
        });
}

} // namespace lockstep::ui
