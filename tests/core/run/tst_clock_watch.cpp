// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/run/clock_watch.h"

#include <QTest>

#include <cmath>

using namespace lockstep::run;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

/// A host that is heard of every second.
struct Heard {
    ClockWatch watch;
    double our = 5000;
    steady_clock::time_point now{};

    /// After `seconds`, `late` on the way.
    std::optional<ClockOffset> next(double ahead, double late = 0.01, double seconds = 1) {
        our += seconds;
        now += milliseconds(std::llround(seconds * 1000));
        return watch.seen(our + ahead - late, our, now);
    }
};

} // namespace

class TstClockWatch : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void saysNothingOfAClockThatIsRight() {
        Heard heard;
        for (int i = 0; i < 20; ++i)
            QVERIFY(!heard.next(0, 0.001 * i));
        QCOMPARE(heard.watch.ahead(), 0.0);
    }

    void measuresAClockThatIsWrong_data() {
        QTest::addColumn<double>("ahead");
        for (const double ahead : {300.0, -7.0, 0.5, 90000.0})
            QTest::addRow("%g s", ahead) << ahead;
    }
    void measuresAClockThatIsWrong() {
        QFETCH(double, ahead);
        Heard heard;
        const auto first = heard.next(ahead, 0.3);
        QVERIFY(first && !first->since);
        const auto better = heard.next(ahead, 0.01);
        QVERIFY(better && !better->since);
        QVERIFY(std::abs(better->ahead - ahead) < 0.02);
        for (int i = 0; i < 10; ++i)
            QVERIFY(!heard.next(ahead, 0.02));
    }

    void seesAClockThatIsSetForward() {
        Heard heard;
        for (int i = 0; i < 10; ++i)
            (void)heard.next(300);
        const auto jump = heard.next(360);
        QVERIFY(jump && jump->since);
        QVERIFY(std::abs(jump->ahead - 360) < 0.02);
        QVERIFY(std::abs(*jump->since - (heard.our + 360)) < 0.02);
        QVERIFY(!heard.next(360));
    }

    void seesAClockThatIsSetBackOnceItLasts() {
        Heard heard;
        for (int i = 0; i < 10; ++i)
            (void)heard.next(0);
        std::optional<ClockOffset> jump;
        int samples = 0;
        for (; !jump && samples < 20; ++samples)
            jump = heard.next(-60);
        QVERIFY(jump);
        QCOMPARE(samples, 5);
        QVERIFY(std::abs(jump->ahead + 60) < 0.02);
        QVERIFY(jump->since);
    }

    void takesAStalledConnectionForNoClockSet() {
        Heard heard;
        for (int i = 0; i < 10; ++i)
            (void)heard.next(0);
        // 30 s of silence, then all that was said meanwhile at once.
        heard.our += 30;
        heard.now += milliseconds(30'000);
        for (int late = 30; late >= 1; --late)
            QVERIFY(!heard.next(0, late, 0.001));
        for (int i = 0; i < 10; ++i)
            QVERIFY(!heard.next(0));
    }

    void goesOnWhereItEnded() {
        Heard heard;
        heard.watch = ClockWatch(300);
        QVERIFY(!heard.next(300));
        const auto jump = heard.next(360);
        QVERIFY(jump && jump->since);
    }
};

QTEST_APPLESS_MAIN(TstClockWatch)
#include "tst_clock_watch.moc"
