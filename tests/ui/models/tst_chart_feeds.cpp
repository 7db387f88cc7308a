// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/wire/event.h"
#include "tests/ui/support/made_up_run.h"
#include "ui/models/run_feeds.h"

#include <QElapsedTimer>
#include <QTest>

#include <cmath>
#include <limits>

using namespace lockstep;
using namespace lockstep::ui;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

ChartData chartOf(const metrics::Series& series, const ChartRequest& request = {}) {
    ChartData data;
    ChartLine line;
    addSeries(line, series, request, data);
    data.lines.append(line);
    fitRange(data);
    return data;
}

bool hasPoint(const ChartLine& line, double x, double y) {
    for (const auto& segment : line.segments)
        for (const QPointF& point : segment)
            if (point == QPointF(x, y))
                return true;
    return false;
}

} // namespace

class ChartFeedsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void drawsLonePointsAsDotsAndMarksWhatIsNotFinite() {
        metrics::Series series;
        double x = 1;
        for (const double value : {1.0, kNaN, 2.0, kNaN, kNaN, kInf, 3.0})
            series.append(x++, value);
        const ChartData data = chartOf(series);
        const ChartLine& line = data.lines.front();
        QCOMPARE(line.dots, (QList<QPointF>{{1, 1}, {3, 2}, {7, 3}}));
        QVERIFY(line.segments.isEmpty());
        QCOMPARE(line.nonFinite, 4);
        QVERIFY(line.marks.size() >= 3);
        QCOMPARE(data.yMin, 1.0);
        QCOMPARE(data.yMax, 3.0);
    }

    void givesOnlyFinitePointsOfAMillionHalfOfThemNaN() {
        metrics::Series series;
        for (int i = 0; i < 1'000'000; ++i)
            series.append(i, i % 2 ? kNaN : std::sin(i * 1e-4));
        QElapsedTimer timer;
        timer.start();
        const ChartData data = chartOf(series);
        QVERIFY2(timer.elapsed() < 500, qPrintable(QString::number(timer.elapsed())));
        const ChartLine& line = data.lines.front();
        QCOMPARE(line.nonFinite, 500'000);
        QVERIFY(line.marks.size() <= 600);
        qsizetype points = line.dots.size();
        for (const auto& segment : line.segments) {
            points += segment.size();
            for (const QPointF& point : segment)
                QVERIFY(std::isfinite(point.x()) && std::isfinite(point.y()));
        }
        QVERIFY2(points <= 520, qPrintable(QString::number(points)));
    }

    void keepsASpikeOfOneSampleAtEveryZoom() {
        metrics::Series series;
        constexpr int kSpike = 654'321;
        for (int i = 0; i < 1'000'000; ++i)
            series.append(i, i == kSpike ? 1000.0 : 1.0);
        for (double width = 1'000'000; width >= 20; width /= 3) {
            ChartRequest request;
            request.xFrom = std::max(0.0, kSpike - width / 2);
            request.xTo = kSpike + width / 2;
            const ChartLine line = chartOf(series, request).lines.front();
            bool seen = false;
            for (const auto& segment : line.segments)
                for (const QPointF& point : segment)
                    seen = seen || point.y() == 1000.0;
            QVERIFY2(seen, qPrintable(QString::number(width)));
        }
    }

    void doesNotLetAnOutlierFlattenTheRest() {
        metrics::Series series;
        for (int i = 0; i < 200; ++i)
            series.append(i, i == 120 ? 1e6 : 1 + 0.1 * std::sin(i));
        const ChartData data = chartOf(series);
        QVERIFY(data.yMax < 2);
        QCOMPARE(data.lines.front().above, (QList<QPointF>{{120, 1e6}}));
    }

    void drawsValidationDashedInTheHueOfItsSibling() {
        metrics::Store store;
        MadeUpTraining training(2);
        training.begin(store);
        training.steps(store, 100);
        LossFeed feed;
        feed.setStore(&store);
        const ChartData data = feed.pull({});
        QStringList labels;
        for (const ChartLine& line : data.lines) {
            labels.append(line.label);
            QCOMPARE(line.dashed, line.label.startsWith(QStringLiteral("val_")));
            QCOMPARE(line.color, line.label.contains(QStringLiteral("loss")) ? 0 : 1);
        }
        QCOMPARE(labels, (QStringList{QStringLiteral("loss"), QStringLiteral("accuracy"),
                                      QStringLiteral("val_loss"), QStringLiteral("val_accuracy")}));
        QVERIFY(!hasPoint(data.lines.front(), 0, 0));
    }

    void showsEachWorkerUpToEightAndABandBeyond() {
        for (const int workers : {8, 9}) {
            metrics::Store store;
            MadeUpTraining training(workers);
            training.begin(store);
            training.steps(store, 60);
            WorkerFeed feed(metrics::Quantity::AllReduceMs, WorkerFeed::Total::None);
            feed.setStore(&store);
            const ChartData data = feed.pull({});
            QCOMPARE(data.band.lower.isEmpty(), workers == 8);
            QCOMPARE(data.lines.size(), workers == 8 ? 8 : 1);
        }
    }

    void namesTheStragglerOnTopOfTheBand() {
        metrics::Store store;
        MadeUpTraining training(12);
        training.begin(store);
        training.slowDown();
        training.steps(store, 60);
        WorkerFeed feed(metrics::Quantity::AllReduceMs, WorkerFeed::Total::None);
        feed.setStore(&store);
        const ChartData data = feed.pull({});
        QCOMPARE(data.lines.size(), 2);
        QCOMPARE(data.lines.back().label, QStringLiteral("worker:11"));
    }

    void changesItsGenerationWithTheStoreAndWithItsEvents() {
        metrics::Store store;
        LossFeed feed;
        const auto empty = feed.generation();
        feed.setStore(&store);
        const auto before = feed.generation();
        QVERIFY(before != empty);
        QCOMPARE(feed.generation(), before);
        MadeUpTraining(1).begin(store);
        QVERIFY(feed.generation() != before);
    }
};

QTEST_GUILESS_MAIN(ChartFeedsTest)
#include "tst_chart_feeds.moc"
