// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/clock.h"

#include <QtTest>

#include <cmath>
#include <limits>

using namespace lockstep;

class TestClock : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void writesUtcWithMilliseconds_data() {
        QTest::addColumn<double>("seconds");
        QTest::addColumn<QString>("iso");
        QTest::addColumn<QString>("compact");
        QTest::newRow("the beginning") << 0.0 << "1970-01-01T00:00:00.000Z"
                                       << "19700101T000000Z";
        QTest::newRow("a leap day") << 1709164800.125 << "2024-02-29T00:00:00.125Z"
                                    << "20240229T000000Z";
        QTest::newRow("milliseconds round up into the next second")
            << 1769847242.9996 << "2026-01-31T08:14:03.000Z"
            << "20260131T081402Z";
        QTest::newRow("before 1970") << -0.5 << "1969-12-31T23:59:59.500Z"
                                     << "19691231T235959Z";
    }
    void writesUtcWithMilliseconds() {
        QFETCH(double, seconds);
        QTEST(QString::fromStdString(isoTime(seconds)), "iso");
        QTEST(QString::fromStdString(compactTime(seconds)), "compact");
    }

    void takesTimesThatNoCalendarHolds() {
        const double infinity = std::numeric_limits<double>::infinity();
        QCOMPARE(isoTime(1e300), "9999-12-31T23:59:59.000Z");
        QCOMPARE(isoTime(infinity), "9999-12-31T23:59:59.000Z");
        QCOMPARE(isoTime(-infinity), "0001-01-01T00:00:00.000Z");
        QCOMPARE(isoTime(std::nan("")), "0001-01-01T00:00:00.000Z");
        QCOMPARE(compactTime(1e300), "99991231T235959Z");
    }

    void neverRunsBackwards() {
        const Clock& clock = Clock::system();
        auto before = clock.now();
        for (int i = 0; i < 1000; ++i) {
            const auto after = clock.now();
            QVERIFY(after >= before);
            before = after;
        }
        QVERIFY(clock.utcSeconds() > 1.7e9);
    }
};

QTEST_APPLESS_MAIN(TestClock)
#include "tst_clock.moc"
