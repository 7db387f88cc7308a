// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// What the charts of one page share: the part of the x axis that is shown, and the crosshair.
// GUI thread.

#include <QObject>

#include <optional>
#include <utility>

namespace lockstep::ui {

class ChartGroup final : public QObject {
    Q_OBJECT
public:
    using QObject::QObject;

    /// The part that is shown; nothing: all of it, following the newest step.
    const std::optional<std::pair<double, double>>& zoom() const { return m_zoom; }
    void setZoom(std::optional<std::pair<double, double>> zoom);
    const std::optional<double>& crosshair() const { return m_crosshair; }
    void setCrosshair(std::optional<double> x);

Q_SIGNALS:
    void zoomChanged();
    void crosshairChanged();

private:
    std::optional<std::pair<double, double>> m_zoom;
    std::optional<double> m_crosshair;
};

} // namespace lockstep::ui
