// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// What a chart is given to draw, and where it pulls that from. Everything in ChartData is finite:
// gaps are separate segments, values that are not finite are marks. Plain data, GUI thread.

#include "core/metrics/series.h"

#include <QList>
#include <QPointF>
#include <QString>

#include <cstdint>
#include <limits>

namespace lockstep::ui {

struct ChartLine {
    QString key;   ///< tells lines of one chart apart, stable over time
    QString label; ///< "val_loss", "worker:2"
    int color = 0; ///< place in the series colours
    bool dashed = false;
    bool prominent = false;         ///< a little wider: the total, the median
    QList<QList<QPointF>> segments; ///< two points or more each
    QList<QPointF> dots;            ///< points without a neighbour
    QList<QPointF> above;           ///< points over the top of the chart, drawn as ▴ on its edge
    QList<metrics::Mark> marks;     ///< values that are not finite, drawn as ✕ on its edge
    std::int64_t nonFinite = 0;     ///< of the whole series, for the label
    double last = std::numeric_limits<double>::quiet_NaN(); ///< newest value as appended
    bool hasLast = false;

    bool isEmpty() const { return segments.isEmpty() && dots.isEmpty() && marks.isEmpty(); }
    /// The drawn value nearest to x, and whether there is any.
    double valueNear(double x, bool* found) const;
};

/// The range of many lines: lower and upper edge over the same x.
struct ChartBand {
    QList<QPointF> lower;
    QList<QPointF> upper;
};

struct ChartData {
    QList<ChartLine> lines;
    ChartBand band;
    double xMin = 0; ///< of all data, not only of what was asked for
    double xMax = 0;
    double yMin = 0; ///< of what is to be seen, outliers left out; yMin = yMax = 0 where nothing is
    double yMax = 0;
    std::int64_t samples = 0; ///< that the columns stand for
    std::int64_t columns = 0;

    bool isEmpty() const;
};

struct ChartRequest {
    double xFrom = -std::numeric_limits<double>::infinity();
    double xTo = std::numeric_limits<double>::infinity();
    int columns = 250; ///< at most so many x places for a line
};

/// Where one chart's lines come from. Pulled, never pushed.
class ChartFeed {
public:
    virtual ~ChartFeed() = default;
    /// Differs whenever pull() might answer differently.
    virtual std::uint64_t generation() const = 0;
    virtual ChartData pull(const ChartRequest& request) const = 0;
};

/// Adds a series' columns to `line`, cut at gaps: the value, or minimum and maximum where a column
/// stands for several samples.
void addSeries(ChartLine& line, const metrics::Series& series, const ChartRequest& request,
               ChartData& data);
/// Sets yMin and yMax from the lines and moves what would flatten the rest to `above`.
void fitRange(ChartData& data);

} // namespace lockstep::ui
