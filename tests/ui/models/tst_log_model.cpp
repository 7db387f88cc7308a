// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/models/log_model.h"

#include <QAbstractItemModelTester>
#include <QElapsedTimer>
#include <QTest>

using namespace lockstep;
using namespace lockstep::ui;

namespace {

void add(metrics::Store& store, const std::string& task, const std::string& text, double time,
         wire::Level level = wire::Level::Info) {
    store.addLine(task, metrics::Origin::Output, level, text, time);
}

void readAll(LogModel& model) {
    while (model.refresh()) {
    }
}

} // namespace

class LogModelTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void mergesLinesInTheOrderOfTheirTimes() {
        metrics::Store store;
        LogModel model;
        const QAbstractItemModelTester tester(
            &model, QAbstractItemModelTester::FailureReportingMode::Fatal);
        model.setStore(&store);
        add(store, "worker:0", "first", 10);
        add(store, "worker:1", "third", 30);
        readAll(model);
        QCOMPARE(model.rowCount(), 2);
        add(store, "worker:0", "second", 20); // late, from a slower follower
        add(store, "worker:1", "fourth", 40);
        readAll(model);
        QStringList texts;
        for (int row = 0; row < model.rowCount(); ++row)
            texts.append(model.index(row).data().toString());
        QCOMPARE(texts, (QStringList{QStringLiteral("first"), QStringLiteral("second"),
                                     QStringLiteral("third"), QStringLiteral("fourth")}));
    }

    void filtersByTextTaskAndLevel() {
        metrics::Store store;
        for (int i = 0; i < 300; ++i)
            add(store, "worker:" + std::to_string(i % 3), "Line " + std::to_string(i), i,
                i % 10 == 0 ? wire::Level::Warning : wire::Level::Info);
        LogModel model;
        const QAbstractItemModelTester tester(
            &model, QAbstractItemModelTester::FailureReportingMode::Fatal);
        model.setStore(&store);
        LogModel::Filter filter;
        filter.task = "worker:1";
        model.setFilter(filter);
        QCOMPARE(model.rowCount(), 100);
        filter.text = QStringLiteral("LINE 1");
        model.setFilter(filter);
        QCOMPARE(model.rowCount(), 39); // 1, 10, 13, 16, 19 and 100, 103, …, 199
        filter.least = wire::Level::Warning;
        filter.text.clear();
        model.setFilter(filter);
        QCOMPARE(model.rowCount(), 10);
    }

    void staysConsistentWhileTheOldestLinesAreDropped() {
        metrics::Store store;
        LogModel model;
        const QAbstractItemModelTester tester(
            &model, QAbstractItemModelTester::FailureReportingMode::Fatal);
        model.setStore(&store);
        for (int i = 0; i < 100'500; ++i) {
            add(store, "worker:0", "line " + std::to_string(i), i);
            if (i % 20'000 == 0)
                readAll(model);
        }
        readAll(model);
        QCOMPARE(model.rowCount(), static_cast<int>(store.log().size()));
        QCOMPARE(model.index(model.rowCount() - 1).data().toString(),
                 QStringLiteral("line 100499"));
        QCOMPARE(model.index(0).data().toString(),
                 QStringLiteral("line %1").arg(store.droppedLogLines()));
    }

    void keepsHugeLinesWholeAndShowsTheirBeginning() {
        metrics::Store store;
        add(store, "worker:0", std::string(10'000'000, 'x') + "needle", 1);
        LogModel model;
        model.setStore(&store);
        QCOMPARE(model.rowCount(), 1);
        QElapsedTimer timer;
        timer.start();
        QVERIFY(model.index(0).data().toString().size() <= 4001);
        QVERIFY2(timer.elapsed() < 20, qPrintable(QString::number(timer.elapsed())));
        QCOMPARE(store.log().front().text.size(), std::size_t{10'000'006});
        LogModel::Filter filter;
        filter.text = QStringLiteral("needle");
        model.setFilter(filter);
        QCOMPARE(model.rowCount(), 1); // found beyond what is shown
    }

    void boundsTheWorkOfOneRefresh() {
        metrics::Store store;
        for (int i = 0; i < 40; ++i)
            add(store, "worker:0", std::string(1'000'000, 'a'), i);
        LogModel model;
        LogModel::Filter filter;
        filter.text = QStringLiteral("b");
        model.setStore(&store);
        model.setFilter(filter);
        int turns = 1;
        while (model.refresh())
            ++turns;
        QVERIFY2(turns >= 6, qPrintable(QString::number(turns)));
    }
};

QTEST_GUILESS_MAIN(LogModelTest)
#include "tst_log_model.moc"
