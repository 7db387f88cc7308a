// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// A live line chart: the one place that knows Qt Charts. It pulls ChartData from a feed and hands
// each piece of line to a series with one replace(); labels, marks and the crosshair it paints
// itself. GUI thread.

#include "ui/charts/chart_group.h"
#include "ui/charts/scale.h"
#include "ui/models/chart_data.h"
#include "ui/widgets/theme.h"

#include <QtCharts/QChartView>

#include <functional>
#include <map>
#include <vector>

class QLineSeries;
class QValueAxis;

namespace lockstep::ui {

class LineChart final : public QChartView {
    Q_OBJECT
public:
    /// `format` prints a value of the y axis; `group` must outlive the chart.
    LineChart(const QString& name, std::function<QString(double)> format, ChartGroup* group,
              QWidget* parent = nullptr);

    /// `feed` must outlive the chart, or be taken away with nullptr.
    void setFeed(const ChartFeed* feed);
    void setEmptyText(const QString& text);
    /// Forgets range and room of what was shown before: the feed has another run.
    void startOver();

    /// Pulls and draws if the feed, the zoom, the size or the theme changed and the chart can be
    /// seen. True where it drew.
    bool refresh();
    /// The same, whether it can be seen or not: for pictures and tests.
    void refreshNow();

    const ChartData& data() const { return m_data; }
    const AxisRange& yRange() const { return m_scale.range(); }
    /// What a screen reader says: newest values, extremes, gaps.
    QString summary() const;
    /// Series of Qt Charts that hold points now.
    int visibleSeries() const;
    std::int64_t redraws() const { return m_redraws; }

Q_SIGNALS:
    void fillRequested();
    void leaveRequested();

protected:
    void drawBackground(QPainter* painter, const QRectF& rect) override;
    void drawForeground(QPainter* painter, const QRectF& rect) override;
    void resizeEvent(QResizeEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void changeEvent(QEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    struct EndLabel {
        const ChartLine* line;
        QString name;
        QString value;
        qreal y;
    };

    void layOut();
    void placeLines();
    void placeLine(const ChartLine& line, std::vector<QLineSeries*>& pool);
    QList<EndLabel> endLabels() const;
    void paintAxes(QPainter& painter) const;
    void paintMarks(QPainter& painter) const;
    void paintEndLabels(QPainter& painter) const;
    void paintCrosshair(QPainter& painter) const;
    QString labelName(const ChartLine& line) const;
    QString labelValue(const ChartLine& line) const;
    std::pair<double, double> shownX() const;
    QPointF at(const QPointF& value) const;
    double xAt(qreal pixel) const;
    void zoomBy(double factor, double around);
    void moveCrosshair(int columns);
    const Tokens& tokens() const;

    QString m_name;
    std::function<QString(double)> m_format;
    ChartGroup* m_group;
    const ChartFeed* m_feed = nullptr;
    QString m_emptyText;
    ChartData m_data;
    Scale m_scale;
    QValueAxis* m_xAxis;
    QValueAxis* m_yAxis;
    std::map<QString, std::vector<QLineSeries*>> m_pools; ///< by the line's key
    std::uint64_t m_drawnGeneration = ~std::uint64_t{0};
    bool m_stale = true; ///< zoom, size or theme changed
    std::int64_t m_redraws = 0;
    int m_labelRoom = 0;
    QFont m_small;
    std::optional<double> m_dragFrom;
};

} // namespace lockstep::ui
