// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/charts/chart_group.h"

namespace lockstep::ui {

void ChartGroup::setZoom(std::optional<std::pair<double, double>> zoom) {
    if (m_zoom == zoom)
        return;
    m_zoom = zoom;
    Q_EMIT zoomChanged();
}

void ChartGroup::setCrosshair(std::optional<double> x) {
    if (m_crosshair == x)
        return;
    m_crosshair = x;
    Q_EMIT crosshairChanged();
}

} // namespace lockstep::ui
