// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/metrics/series.h"

#include <QElapsedTimer>
#include <QTest>

#include <algorithm>
#include <cmath>

using namespace lockstep::metrics;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

} // namespace

class TstSeries : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void keepsOneSpikeOfAMillionAtEveryZoom() {
        constexpr int kCount = 1'000'000;
        constexpr int kSpike = 654'321;
        Series series;
        QElapsedTimer timer;
        timer.start();
        for (int i = 1; i <= kCount; ++i)
            series.append(i, i == kSpike ? 1000.0 : std::sin(i * 0.01));
        const qint64 appendMs = timer.restart();
        QCOMPARE(series.size(), static_cast<std::size_t>(kCount));
        QCOMPARE(series.merged(), 1);
        int zooms = 0;
        for (double half = kCount; half >= 1; half /= 1.7, ++zooms) {
            const Decimated view = series.decimate(kSpike - half, kSpike + half, 800);
            QVERIFY(view.columns.size() <= 802);
            QCOMPARE(view.max, 1000.0);
            const auto holds = [](const Column& c) { return c.max == 1000.0; };
            QCOMPARE(std::count_if(view.columns.begin(), view.columns.end(), holds), 1);
        }
        qInfo("append %lld ms, %d zooms %lld ms", appendMs, zooms, timer.elapsed());
        const Decimated whole = series.decimate(1, kCount, 800);
        QCOMPARE(whole.samples, kCount);
        QVERIFY(whole.min < -0.99F);
    }

    void givesRawSamplesWhereTheyFit() {
        Series series;
        for (int i = 0; i < 100; ++i)
            series.append(i, i * 2.0, i * 2.0 - 1, i * 2.0 + 1);
        const Decimated view = series.decimate(10, 19, 10);
        QCOMPARE(view.columns.size(), std::size_t{12}); // and a neighbour on each side
        QCOMPARE(view.columns[1].x, 10.0);
        QCOMPARE(view.columns[1].mean, 20.0);
        QCOMPARE(view.columns[1].min, 19.0);
        QCOMPARE(view.columns[1].max, 21.0);
        QCOMPARE(view.columns.front().x, 9.0);
        QCOMPARE(view.columns.back().x, 20.0);
        QCOMPARE(view.max, 39.0);
    }

    void breaksTheLineAtWhatIsNotFinite() {
        Series series;
        int x = 0;
        for (const double value : {1.0, kNaN, 2.0, kNaN, kNaN, kInf, 3.0})
            series.append(++x, value);
        const Decimated view = series.decimate(0, 10, 100);
        QCOMPARE(view.columns.size(), std::size_t{3});
        QVERIFY(!view.columns[0].breakBefore);
        QVERIFY(view.columns[1].breakBefore);
        QVERIFY(view.columns[2].breakBefore);
        QCOMPARE(view.min, 1.0);
        QCOMPARE(view.max, 3.0);
        QCOMPARE(series.nonFiniteCount(), 4);
        QCOMPARE(view.marks.size(), std::size_t{4});
        QVERIFY((view.marks.back() == Mark{6, NonFinite::PlusInfinity}));
    }

    void countsAMillionPointsOfWhichHalfAreNaN() {
        Series series;
        for (int i = 1; i <= 1'000'000; ++i)
            series.append(i, i % 2 == 0 ? kNaN : 1.5);
        QCOMPARE(series.nonFiniteCount(), 500'000);
        const Decimated view = series.decimate(1, 1'000'000, 1000);
        QVERIFY(view.columns.size() <= 1000);
        QVERIFY(view.marks.size() <= 1001);
        QVERIFY(view.marks.size() >= 900);
        QCOMPARE(view.min, 1.5);
        QCOMPARE(view.max, 1.5);
        for (const Column& column : view.columns)
            QVERIFY(std::isfinite(column.mean));
    }

    void mergesBeyondItsCapacityAndKeepsExtremes() {
        Series series(1000);
        for (int i = 1; i <= 50'000; ++i)
            series.append(i, i == 31'234 ? -77.0 : (i == 777 ? 88.0 : 1.0));
        QVERIFY(series.size() <= 1000);
        QVERIFY(series.merged() >= 50);
        const Decimated view = series.decimate(0, 60'000, 100);
        QCOMPARE(view.min, -77.0);
        QCOMPARE(view.max, 88.0);
        QCOMPARE(view.samples, 50'000);
        QCOMPARE(series.lastX(), 50'000.0);
        series.setCapacity(100);
        QVERIFY(series.size() <= 100);
        QCOMPARE(series.decimate(0, 60'000, 50).min, -77.0);
        QCOMPARE(series.decimate(0, 60'000, 50).samples, 50'000);
    }

    void agreesWithAPlainScan() {
        Series series;
        std::vector<double> values;
        for (int i = 0; i < 5'000; ++i) {
            values.push_back(std::fmod(i * 7919.0, 1009.0));
            series.append(i, values.back());
        }
        for (const auto& [from, to, columns] :
             {std::tuple{0, 4'999, 100}, {17, 4'321, 33}, {1'000, 1'999, 7}}) {
            const Decimated view = series.decimate(from, to, columns);
            const auto begin = values.begin() + from;
            const auto end = values.begin() + to + 1;
            QCOMPARE(view.min, *std::min_element(begin, end));
            QCOMPARE(view.max, *std::max_element(begin, end));
            QCOMPARE(view.samples, to - from + 1);
        }
    }

    void replacesWhatARestartRepeats() {
        Series series;
        for (int i = 1; i <= 1'000; ++i)
            series.append(i, i == 600 ? kNaN : 1.0);
        series.append(501, 2.0);
        QCOMPARE(series.lastX(), 501.0);
        QCOMPARE(series.size(), std::size_t{501});
        QCOMPARE(series.nonFiniteCount(), 0);
        for (int i = 502; i <= 2'000; ++i)
            series.append(i, 2.0);
        const Decimated view = series.decimate(1, 2'000, 10);
        QCOMPARE(view.samples, 2'000);
        QCOMPARE(view.columns.back().mean, 2.0);
        QCOMPARE(view.columns.front().mean, 1.0);
    }

    void isEmptyOutsideItsRange() {
        Series series;
        QVERIFY(series.isEmpty());
        QVERIFY(series.decimate(0, 10, 100).columns.empty());
        QVERIFY(std::isnan(series.lastValue()));
        series.append(5, 1.0);
        QVERIFY(series.decimate(10, 0, 100).columns.empty());
        QVERIFY(series.decimate(0, 10, 0).columns.empty());
    }
};

QTEST_APPLESS_MAIN(TstSeries)
#include "tst_series.moc"
