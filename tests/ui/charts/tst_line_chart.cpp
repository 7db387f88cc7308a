// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/charts/chart_pump.h"
#include "ui/charts/line_chart.h"
#include "ui/models/format.h"

#include <QElapsedTimer>
#include <QSignalSpy>
#include <QTest>

#include <cmath>
#include <limits>
#include <numeric>

using namespace lockstep;
using namespace lockstep::ui;

namespace {

/// Series that a test fills, one line each.
class SeriesFeed final : public ChartFeed {
public:
    std::uint64_t generation() const override { return m_generation; }
    ChartData pull(const ChartRequest& request) const override {
        ++pulls;
        ChartData data;
        for (std::size_t i = 0; i < series.size(); ++i) {
            ChartLine line;
            line.key = line.label = QStringLiteral("s%1").arg(i);
            line.color = static_cast<int>(i);
            addSeries(line, series[i], request, data);
            data.xMax = std::max(data.xMax, series[i].lastX());
            data.lines.append(line);
        }
        fitRange(data);
        return data;
    }
    void touch() { ++m_generation; }
    std::vector<metrics::Series> series;
    mutable int pulls = 0;

private:
    std::uint64_t m_generation = 1;
};

SeriesFeed filled(int lines, int samples) {
    SeriesFeed feed;
    for (int i = 0; i < lines; ++i) {
        metrics::Series series;
        for (int x = 0; x < samples; ++x)
            series.append(x, i + std::sin(x * 0.01 + i));
        feed.series.push_back(std::move(series));
    }
    return feed;
}

} // namespace

class LineChartTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void roundsBoundsAndTicks() {
        QCOMPARE(roundRange(0.02, 2.3, 5), (AxisRange{0, 2.5, 0.5}));
        QCOMPARE(roundRange(0, 29'000, 4).max, 30'000.0);
        const AxisRange flat = roundRange(5, 5, 4);
        QVERIFY(flat.min < 5 && flat.max > 5);
        QCOMPARE(wholeTicks(1, 45, 4), (QList<double>{20, 40}));
    }

    void growsAtOnceAndShrinksLate() {
        Scale scale;
        scale.update(0, 1, 5);
        QVERIFY(scale.update(0, 9, 5).max >= 9);
        for (int i = 0; i + 1 < Scale::kPatience; ++i)
            QVERIFY(scale.update(0, 1, 5).max >= 9);
        QCOMPARE(scale.update(0, 1, 5).max, 1.0);
    }

    void splitsLinesAtGapsAndNeverGetsANonFiniteValue() {
        ChartGroup group;
        LineChart chart(QStringLiteral("Loss"), formatValue, &group);
        SeriesFeed feed;
        feed.series.resize(1);
        const double nan = std::numeric_limits<double>::quiet_NaN();
        double x = 0;
        for (const double value : {1.0, 2.0, nan, 3.0, 4.0, nan, 5.0})
            feed.series[0].append(x++, value);
        chart.setFeed(&feed);
        chart.resize(400, 240);
        chart.refreshNow();
        QCOMPARE(chart.visibleSeries(), 2);
        QCOMPARE(chart.data().lines[0].dots.size(), 1);
        QVERIFY(chart.summary().contains(QStringLiteral("2 values not finite")));
        QVERIFY(chart.accessibleDescription() == chart.summary());
        const QImage picture = chart.grab().toImage(); // paints every mark
        QVERIFY(!picture.isNull());
    }

    void drawsNothingWhenNothingChangedOrNothingIsSeen() {
        ChartGroup group;
        SeriesFeed feed = filled(2, 100);
        LineChart chart(QStringLiteral("x"), formatValue, &group);
        chart.setFeed(&feed);
        QVERIFY(!chart.refresh()); // not visible
        QCOMPARE(feed.pulls, 0);
        chart.resize(400, 240);
        chart.show();
        QVERIFY(QTest::qWaitForWindowExposed(&chart));
        QVERIFY(chart.refresh());
        QVERIFY(!chart.refresh());
        feed.touch();
        QVERIFY(chart.refresh());
        group.setZoom(std::pair(10.0, 50.0));
        QVERIFY(chart.refresh());
        chart.hide();
        feed.touch();
        QVERIFY(!chart.refresh());
    }

    void refreshesAtMostTenTimesASecond() {
        ChartGroup group;
        SeriesFeed feed = filled(1, 100);
        LineChart first(QStringLiteral("a"), formatValue, &group);
        LineChart second(QStringLiteral("b"), formatValue, &group);
        ChartPump pump;
        for (LineChart* chart : {&first, &second}) {
            chart->setFeed(&feed);
            chart->resize(300, 200);
            chart->show();
            QVERIFY(QTest::qWaitForWindowExposed(chart));
            pump.add(chart);
        }
        QElapsedTimer timer;
        timer.start();
        const auto before = first.redraws();
        QTRY_VERIFY_WITH_TIMEOUT((feed.touch(), timer.elapsed() > 1000), 5000);
        const double seconds = static_cast<double>(timer.elapsed()) / 1000.0;
        QVERIFY(first.redraws() > before + 2);
        QVERIFY(static_cast<double>(first.redraws() - before) <= 10 * seconds + 2);
    }

    void sharesZoomAndCrosshair() {
        ChartGroup group;
        SeriesFeed feed = filled(1, 1000);
        LineChart chart(QStringLiteral("x"), formatValue, &group);
        chart.setFeed(&feed);
        chart.resize(400, 240);
        chart.show();
        QVERIFY(QTest::qWaitForWindowExposed(&chart));
        chart.refresh();
        QTest::keyClick(&chart, Qt::Key_Plus);
        QVERIFY(group.zoom());
        QTest::keyClick(&chart, Qt::Key_0);
        QVERIFY(!group.zoom());
        QTest::keyClick(&chart, Qt::Key_Right);
        QVERIFY(group.crosshair());
        QSignalSpy fill(&chart, &LineChart::fillRequested);
        QTest::mouseDClick(chart.viewport(), Qt::LeftButton, {}, QPoint(150, 100));
        QCOMPARE(fill.size(), 1);
        QSignalSpy leave(&chart, &LineChart::leaveRequested);
        QTest::keyClick(&chart, Qt::Key_Escape);
        QCOMPARE(leave.size(), 1);
    }

    void zoomsOverMillionsOfPointsWithoutDelay() {
        ChartGroup group;
        SeriesFeed feed = filled(8, 1'000'000);
        LineChart chart(QStringLiteral("x"), formatValue, &group);
        chart.setFeed(&feed);
        chart.resize(900, 400);
        chart.refreshNow();
        std::vector<qint64> times;
        for (int i = 0; i < 15; ++i) {
            group.setZoom(std::pair(i * 1000.0, 1'000'000.0 - i * 50'000.0));
            QElapsedTimer timer;
            timer.start();
            chart.refreshNow();
            times.push_back(timer.elapsed());
            for (const ChartLine& line : chart.data().lines)
                for (const auto& segment : line.segments)
                    QVERIFY(segment.size() <= 520);
        }
        // The median, because the machine of a test has other things to do as well.
        std::nth_element(times.begin(), times.begin() + 7, times.end());
        QVERIFY2(times[7] <= 33, qPrintable(QString::number(times[7])));
    }
};

QTEST_MAIN(LineChartTest)
#include "tst_line_chart.moc"
