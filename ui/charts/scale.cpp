// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/charts/scale.h"

#include <algorithm>
#include <cmath>

namespace lockstep::ui {
namespace {

/// 1, 2 or 5 times a power of ten, at least `rough`.
double roundStep(double rough) {
    const double power = std::pow(10.0, std::floor(std::log10(rough)));
    for (const double factor : {1.0, 2.0, 5.0})
        if (factor * power >= rough * 0.999999)
            return factor * power;
    return 10 * power;
}

} // namespace

QList<double> AxisRange::ticks() const {
    QList<double> ticks;
    const int count = static_cast<int>(std::lround((max - min) / step));
    for (int i = 0; i <= count && i < 100; ++i)
        ticks.append(min + i * step);
    return ticks;
}

AxisRange roundRange(double min, double max, int wanted) {
    if (!(max > min)) {
        const double room = std::max(std::abs(min) * 0.1, 1e-6);
        max = min + room;
        min = min >= 0 && min < room * 1.01 ? 0 : min - room;
    }
    // Quantities that begin near zero are shown from zero, which tells more than a cut axis.
    if (min > 0 && min < 0.35 * max)
        min = 0;
    AxisRange range;
    range.step = roundStep((max - min) / std::max(1, wanted));
    range.min = std::floor(min / range.step + 1e-9) * range.step;
    range.max = std::ceil(max / range.step - 1e-9) * range.step;
    if (range.max <= range.min)
        range.max = range.min + range.step;
    return range;
}

QList<double> wholeTicks(double min, double max, int wanted) {
    QList<double> ticks;
    if (!(max >= min))
        return ticks;
    const double step = std::max(1.0, roundStep(std::max(max - min, 1.0) / std::max(1, wanted)));
    for (double x = std::ceil(min / step) * step; x <= max + 1e-9 && ticks.size() < 100; x += step)
        ticks.append(x);
    return ticks;
}

const AxisRange& Scale::update(double min, double max, int wanted) {
    const AxisRange fresh = roundRange(min, max, wanted);
    const bool outside = fresh.max > m_range.max || fresh.min < m_range.min;
    if (!m_isSet || outside) {
        AxisRange grown = fresh;
        if (m_isSet && (fresh.max - fresh.min) < 4 * (m_range.max - m_range.min))
            grown = roundRange(std::min(min, m_range.min), std::max(max, m_range.max), wanted);
        m_range = grown;
        m_quiet = 0;
    } else if (fresh == m_range) {
        m_quiet = 0;
    } else if (++m_quiet >= kPatience) {
        m_range = fresh;
        m_quiet = 0;
    }
    m_isSet = true;
    return m_range;
}

int decimalsFor(double step) {
    if (!(step > 0))
        return 0;
    return std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 6);
}

} // namespace lockstep::ui
