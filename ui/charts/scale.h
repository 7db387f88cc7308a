// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The range and the ticks of an axis: round numbers, a range that grows at once and shrinks late.
// Pure, apart from the memory of Scale.

#include <QList>

namespace lockstep::ui {

struct AxisRange {
    double min = 0;
    double max = 1;
    double step = 0.2; ///< between ticks
    QList<double> ticks() const;
    bool operator==(const AxisRange&) const = default;
};

/// Round bounds around [min, max] with about `wanted` ticks. A range of no width gets some.
AxisRange roundRange(double min, double max, int wanted);

/// Ticks inside [min, max] without moving the bounds; whole numbers only. For the x axis.
QList<double> wholeTicks(double min, double max, int wanted);

/// Remembers what is shown: grows at once to round bounds, shrinks after kPatience quieter updates.
class Scale {
public:
    static constexpr int kPatience = 30;
    const AxisRange& update(double min, double max, int wanted);
    const AxisRange& range() const { return m_range; }
    void reset() { m_isSet = false; }

private:
    AxisRange m_range;
    bool m_isSet = false;
    int m_quiet = 0;
};

/// Decimals that tell two ticks `step` apart.
int decimalsFor(double step);

} // namespace lockstep::ui
