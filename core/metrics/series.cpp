// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/metrics/series.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace lockstep::metrics {

namespace {

constexpr std::size_t kFan = 16;
constexpr std::size_t kLeastCapacity = 64;

NonFinite kindOf(double value) {
    if (std::isnan(value))
        return NonFinite::NaN;
    return value > 0 ? NonFinite::PlusInfinity : NonFinite::MinusInfinity;
}

} // namespace

Series::Series(std::size_t capacity)
    : m_capacity(std::max(capacity, kLeastCapacity)) {}

double Series::firstX() const {
    if (isEmpty())
        return 0;
    if (m_x.empty() || m_marks.empty())
        return m_x.empty() ? m_marks.front().x : m_x.front();
    return std::min(m_x.front(), m_marks.front().x);
}

double Series::lastX() const {
    if (isEmpty())
        return 0;
    if (m_x.empty() || m_marks.empty())
        return m_x.empty() ? m_marks.back().x : m_x.back();
    return std::max(m_x.back(), m_marks.back().x);
}

void Series::append(double x, double mean, double min, double max) {
    if (!isEmpty() && x <= lastX())
        truncate(x);
    m_lastValue = mean;
    for (const double value : {mean, min, max}) {
        // A double beyond float's range is drawn nowhere either.
        if (std::isfinite(static_cast<float>(value)))
            continue;
        ++m_nonFinite;
        m_marks.push_back({x, kindOf(value)});
        // Too many to keep: every other one goes, the count stays.
        if (m_marks.size() > m_capacity) {
            for (std::size_t i = 0; 2 * i < m_marks.size(); ++i)
                m_marks[i] = m_marks[2 * i];
            m_marks.resize((m_marks.size() + 1) / 2);
        }
        return;
    }
    const Node node{static_cast<float>(mean), static_cast<float>(min), static_cast<float>(max)};
    if (!m_x.empty() && m_lastWeight < m_merged) {
        Node& last = m_samples.back();
        const auto weight = static_cast<float>(m_lastWeight);
        last.mean += (node.mean - last.mean) / (weight + 1.0F);
        last.min = std::min(last.min, node.min);
        last.max = std::max(last.max, node.max);
        m_x.back() = x;
        ++m_lastWeight;
    } else {
        if (m_x.size() >= m_capacity)
            return halve(), append(x, mean, min, max);
        m_x.push_back(x);
        m_samples.push_back(node);
        m_lastWeight = 1;
    }
    if (m_lastWeight == m_merged)
        pushLevels();
}

void Series::truncate(double x) {
    const std::size_t keep = lowerBound(x);
    m_x.resize(keep);
    m_samples.resize(keep);
    m_lastWeight = m_merged;
    std::size_t span = kFan;
    for (auto& level : m_levels) {
        level.resize(std::min(level.size(), keep / span));
        span *= kFan;
    }
    const auto firstDropped = std::lower_bound(m_marks.begin(), m_marks.end(), x,
                                               [](const Mark& m, double v) { return m.x < v; });
    m_nonFinite -= m_marks.end() - firstDropped;
    m_marks.erase(firstDropped, m_marks.end());
}

Series::Node Series::combine(const Node* nodes, std::size_t count) const {
    Node all = nodes[0];
    double sum = nodes[0].mean;
    for (std::size_t i = 1; i < count; ++i) {
        sum += nodes[i].mean;
        all.min = std::min(all.min, nodes[i].min);
        all.max = std::max(all.max, nodes[i].max);
    }
    all.mean = static_cast<float>(sum / static_cast<double>(count));
    return all;
}

void Series::pushLevels() {
    std::size_t count = m_samples.size();
    for (std::size_t k = 0; count % kFan == 0 && count > 0; ++k) {
        if (m_levels.size() == k)
            m_levels.emplace_back();
        const auto& below = k == 0 ? m_samples : m_levels[k - 1];
        count /= kFan;
        m_levels[k].push_back(combine(below.data() + (count - 1) * kFan, kFan));
    }
}

void Series::rebuildLevels() {
    m_levels.clear();
    const std::size_t complete = m_samples.size() - (m_lastWeight < m_merged ? 1 : 0);
    const std::vector<Node>* below = &m_samples;
    for (std::size_t count = complete / kFan; count > 0; count /= kFan) {
        std::vector<Node> level(count);
        for (std::size_t i = 0; i < count; ++i)
            level[i] = combine(below->data() + i * kFan, kFan);
        m_levels.push_back(std::move(level));
        below = &m_levels.back();
    }
}

void Series::halve() {
    const std::size_t size = m_x.size();
    const std::size_t half = (size + 1) / 2;
    for (std::size_t i = 0; 2 * i + 1 < size; ++i) {
        m_samples[i] = combine(m_samples.data() + 2 * i, 2);
        m_x[i] = m_x[2 * i + 1];
    }
    if (size % 2 == 1) {
        m_samples[half - 1] = m_samples[size - 1];
        m_x[half - 1] = m_x[size - 1];
    } else {
        m_lastWeight += m_merged;
    }
    m_merged *= 2;
    m_samples.resize(half);
    m_x.resize(half);
    rebuildLevels();
}

void Series::setCapacity(std::size_t capacity) {
    m_capacity = std::max(capacity, kLeastCapacity);
    if (m_x.size() <= m_capacity)
        return;
    while (m_x.size() > m_capacity)
        halve();
    m_x.shrink_to_fit();
    m_samples.shrink_to_fit();
}

std::size_t Series::lowerBound(double x) const {
    return static_cast<std::size_t>(std::lower_bound(m_x.begin(), m_x.end(), x) - m_x.begin());
}

bool Series::hasMarkBetween(double after, double before) const {
    const auto first = std::upper_bound(m_marks.begin(), m_marks.end(), after,
                                        [](double v, const Mark& m) { return v < m.x; });
    return first != m_marks.end() && first->x < before;
}

Column Series::columnOf(std::size_t from, std::size_t to) const {
    Column column;
    column.x = m_x[to - 1];
    column.count = static_cast<std::int64_t>(to - from) * m_merged;
    if (to == m_x.size())
        column.count += m_lastWeight - m_merged;
    column.breakBefore = from > 0 && hasMarkBetween(m_x[from - 1], m_x[from]);
    column.min = m_samples[from].min;
    column.max = m_samples[from].max;
    double sum = 0;
    for (std::size_t at = from; at < to;) {
        const Node* node = &m_samples[at];
        std::size_t span = 1;
        // The widest node that begins here and ends in the range.
        for (const auto& level : m_levels) {
            const std::size_t wider = span * kFan;
            if (at % wider != 0 || at + wider > to || at / wider >= level.size())
                break;
            node = &level[at / wider];
            span = wider;
        }
        column.min = std::min(column.min, static_cast<double>(node->min));
        column.max = std::max(column.max, static_cast<double>(node->max));
        sum += static_cast<double>(node->mean) * static_cast<double>(span);
        at += span;
    }
    column.mean = sum / static_cast<double>(to - from);
    return column;
}

void Series::addColumn(Decimated& out, std::size_t from, std::size_t to) const {
    const Column column = columnOf(from, to);
    const bool first = out.columns.empty();
    out.min = first ? column.min : std::min(out.min, column.min);
    out.max = first ? column.max : std::max(out.max, column.max);
    out.samples += column.count;
    out.columns.push_back(column);
}

void Series::addMarks(Decimated& out, double xFrom, double xTo, double width) const {
    std::array<double, 3> last;
    last.fill(-std::numeric_limits<double>::infinity());
    auto at = std::lower_bound(m_marks.begin(), m_marks.end(), xFrom,
                               [](const Mark& m, double v) { return m.x < v; });
    for (; at != m_marks.end() && at->x <= xTo; ++at) {
        double& before = last[static_cast<std::size_t>(at->kind)];
        if (at->x - before < width)
            continue;
        before = at->x;
        out.marks.push_back(*at);
    }
}

Decimated Series::decimate(double xFrom, double xTo, int columns) const {
    Decimated out;
    if (columns < 1 || !(xFrom <= xTo))
        return out;
    const std::size_t from = lowerBound(xFrom);
    const auto to =
        static_cast<std::size_t>(std::upper_bound(m_x.begin(), m_x.end(), xTo) - m_x.begin());
    const double width = (xTo - xFrom) / columns;
    addMarks(out, xFrom, xTo, width);
    if (to - from <= static_cast<std::size_t>(columns)) {
        for (std::size_t i = from; i < to; ++i)
            addColumn(out, i, i + 1);
    } else {
        std::size_t at = from;
        for (int c = 0; c < columns && at < to; ++c) {
            const std::size_t end =
                c + 1 == columns ? to : std::min(to, lowerBound(xFrom + width * (c + 1)));
            if (end > at)
                addColumn(out, at, end);
            at = std::max(at, end);
        }
    }
    // The neighbours carry the line over the edges; they count for the range only when alone.
    const double min = out.min;
    const double max = out.max;
    const bool alone = out.columns.empty();
    if (from > 0)
        out.columns.insert(out.columns.begin(), columnOf(from - 1, from));
    if (to < m_x.size())
        out.columns.push_back(columnOf(to, to + 1));
    out.min = min;
    out.max = max;
    if (alone && !out.columns.empty()) {
        out.min = std::min(out.columns.front().min, out.columns.back().min);
        out.max = std::max(out.columns.front().max, out.columns.back().max);
    }
    return out;
}

} // namespace lockstep::metrics
