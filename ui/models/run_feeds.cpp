// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/models/run_feeds.h"

#include "ui/models/run_words.h"

#include <QObject>

#include <algorithm>
#include <cmath>
#include <utility>

namespace lockstep::ui {
namespace {

QString qs(const std::string& text) {
    return QString::fromStdString(text);
}

void widen(ChartData& data, const metrics::Series& series) {
    if (series.isEmpty())
        return;
    const bool first = data.xMin == 0 && data.xMax == 0;
    data.xMin = first ? series.firstX() : std::min(data.xMin, series.firstX());
    data.xMax = std::max(data.xMax, series.lastX());
}

/// The workers' means by x place: [place][worker], NaN where a worker has none there.
struct Grid {
    std::vector<double> x;
    std::vector<std::vector<double>> values;
};

Grid gridOf(const std::vector<const metrics::Worker*>& workers, metrics::Quantity quantity,
            const ChartRequest& request, ChartData& data) {
    const double from = std::max(request.xFrom, data.xMin);
    const double to = std::min(request.xTo, data.xMax);
    const int places = std::max(2, request.columns);
    const double width = std::max((to - from) / (places - 1), 1e-9);
    Grid grid;
    for (int i = 0; i < places; ++i)
        grid.x.push_back(from + i * width);
    grid.values.resize(grid.x.size());
    for (std::size_t w = 0; w < workers.size(); ++w) {
        const auto part = workers[w]->of(quantity).decimate(from, to, places);
        data.samples += part.samples;
        for (const auto& column : part.columns) {
            const auto place =
                std::clamp(static_cast<int>(std::lround((column.x - from) / width)), 0, places - 1);
            grid.values[static_cast<std::size_t>(place)].push_back(column.mean);
        }
    }
    data.columns += places;
    return grid;
}

void addBand(ChartData& data, const std::vector<const metrics::Worker*>& workers,
             metrics::Quantity quantity, const ChartRequest& request) {
    Grid grid = gridOf(workers, quantity, request, data);
    ChartLine median;
    median.key = QStringLiteral("median");
    median.label = QObject::tr("median of %1").arg(workers.size());
    median.prominent = true;
    QList<QPointF> points;
    for (std::size_t i = 0; i < grid.x.size(); ++i) {
        auto& values = grid.values[i];
        if (values.empty())
            continue;
        std::sort(values.begin(), values.end());
        data.band.lower.append({grid.x[i], values.front()});
        data.band.upper.append({grid.x[i], values.back()});
        points.append({grid.x[i], values[values.size() / 2]});
    }
    if (points.size() == 1)
        median.dots = points;
    else if (!points.isEmpty())
        median.segments.append(points);
    if (!points.isEmpty()) {
        median.last = points.back().y();
        median.hasLast = true;
    }
    for (const auto* worker : workers)
        median.nonFinite += worker->of(quantity).nonFiniteCount();
    data.lines.append(median);
}

/// The worker that is clearly slower than the others, if there is one.
const metrics::Worker* straggler(const metrics::Store& store) {
    for (const auto* worker : store.workers())
        if (!slowPart(*worker, store).isEmpty())
            return worker;
    return nullptr;
}

ChartLine lineOf(const metrics::Worker& worker, int color) {
    ChartLine line;
    line.key = line.label = qs(worker.task);
    line.color = color;
    return line;
}

} // namespace

void StoreFeed::setStore(const metrics::Store* store) {
    if (m_store == store)
        return;
    m_store = store;
    touch();
}

std::uint64_t StoreFeed::generation() const {
    // Changes of the pointer in the high bits, so that two stores of equal age differ.
    return (m_changes << 48) + (m_store ? m_store->generation() : 0);
}

void LossFeed::setShow(Show show) {
    if (std::exchange(m_show, show) != show)
        touch();
}

ChartData LossFeed::pull(const ChartRequest& request) const {
    ChartData data;
    if (!store())
        return data;
    widen(data, store()->loss());
    const auto names = store()->epochValueNames();
    for (const auto& name : names)
        widen(data, store()->epochValue(name));
    if (m_show != Show::Metrics) {
        ChartLine loss;
        loss.key = loss.label = QStringLiteral("loss");
        addSeries(loss, store()->loss(), request, data);
        data.lines.append(loss);
    }
    // A metric and its val_ sibling share the colour; the loss has the first one.
    QStringList hues{QStringLiteral("loss")};
    for (const auto& name : names) {
        const QString label = qs(name);
        const bool validation = label.startsWith(QStringLiteral("val_"));
        const QString hue = validation ? label.mid(4) : label;
        if (!hues.contains(hue))
            hues.append(hue);
        const bool isLoss = hue == QStringLiteral("loss");
        if (label == QStringLiteral("loss") || (isLoss && m_show == Show::Metrics) ||
            (!isLoss && m_show == Show::Loss))
            continue;
        ChartLine line;
        line.key = line.label = label;
        line.color = static_cast<int>(hues.indexOf(hue));
        line.dashed = validation;
        addSeries(line, store()->epochValue(name), request, data);
        data.lines.append(line);
    }
    fitRange(data);
    return data;
}

WorkerFeed::WorkerFeed(metrics::Quantity quantity, Total total, QString totalLabel)
    : m_quantity(quantity)
    , m_total(total)
    , m_totalLabel(std::move(totalLabel)) {}

ChartData WorkerFeed::pull(const ChartRequest& request) const {
    ChartData data;
    if (!store())
        return data;
    const auto workers = store()->workers();
    for (const auto* worker : workers)
        widen(data, worker->of(m_quantity));
    if (m_total == Total::SamplesPerSecond) {
        widen(data, store()->samplesPerSecond());
        ChartLine total;
        total.key = QStringLiteral("total");
        total.label = m_totalLabel;
        total.color = 7;
        total.prominent = true;
        addSeries(total, store()->samplesPerSecond(), request, data);
        data.lines.append(total);
    }
    if (static_cast<int>(workers.size()) > kSingleLines) {
        addBand(data, workers, m_quantity, request);
        if (const auto* worker = straggler(*store())) {
            ChartLine line = lineOf(*worker, 1);
            addSeries(line, worker->of(m_quantity), request, data);
            data.lines.append(line);
        }
    } else {
        for (std::size_t i = 0; i < workers.size(); ++i) {
            ChartLine line = lineOf(*workers[i], static_cast<int>(i));
            addSeries(line, workers[i]->of(m_quantity), request, data);
            data.lines.append(line);
        }
    }
    fitRange(data);
    return data;
}

} // namespace lockstep::ui
