// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/train/step_meter.h"

#include <QTest>

#include <cmath>

using namespace lockstep;
using namespace lockstep::train;

namespace {

class ManualClock final : public Clock {
public:
    Monotonic::time_point now() const override { return m_now; }
    double utcSeconds() const override { return 0; }
    void advance(std::chrono::milliseconds by) { m_now += by; }

private:
    Monotonic::time_point m_now{std::chrono::hours(1)};
};

StepRecord record(std::int64_t step, double totalMs, double loss = 1) {
    return {1, step, 32, 16, loss, 0.1, {0.1, 0.5, 0.3, 0.2, 0.1, totalMs}};
}

} // namespace

class TestStepMeter : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void coversEveryStepOnceWithAtMostTwentyEventsASecond() {
        ManualClock clock;
        StepMeter meter(clock);
        std::vector<wire::Steps> events;
        for (std::int64_t step = 1; step <= 1000; ++step) {
            clock.advance(std::chrono::milliseconds(1));
            if (auto event = meter.add(record(step, 1)))
                events.push_back(*event);
        }
        if (auto event = meter.flush())
            events.push_back(*event);
        QVERIFY(events.size() <= 21 + 1);
        std::int64_t next = 1;
        std::int64_t rows = 0;
        for (const wire::Steps& event : events) {
            QCOMPARE(event.first, next);
            next = event.last + 1;
            rows += event.rows;
        }
        QCOMPARE(next, std::int64_t{1001});
        QCOMPARE(rows, std::int64_t{32000});
    }

    void keepsASpikeOfOneStep() {
        ManualClock clock;
        StepMeter meter(clock);
        (void)meter.add(record(1, 1));
        for (std::int64_t step = 2; step <= 20; ++step)
            QVERIFY(!meter.add(record(step, step == 7 ? 900 : 1, step == 9 ? 50 : 1)));
        const auto event = meter.flush();
        QVERIFY(event);
        QCOMPARE(event->totalMs.max, 900.0);
        QCOMPARE(event->totalMs.min, 1.0);
        QCOMPARE(event->loss.max, 50.0);
        QCOMPARE(event->loss.mean, (50.0 + 18) / 19);
    }

    void keepsNotANumberInTheMeanOnly() {
        ManualClock clock;
        StepMeter meter(clock);
        (void)meter.add(record(1, 1));
        (void)meter.add(record(2, 1, 3));
        (void)meter.add(record(3, 1, NAN));
        (void)meter.add(record(4, 1, 2));
        const auto event = meter.flush();
        QVERIFY(std::isnan(event->loss.mean));
        QCOMPARE(event->loss.min, 2.0);
        QCOMPARE(event->loss.max, 3.0);
    }

    void leavesTheFirstStepOutOfTheSummary() {
        ManualClock clock;
        StepMeter meter(clock);
        (void)meter.add(record(1, 5000));
        (void)meter.add(record(2, 2));
        (void)meter.add(record(3, 4));
        const wire::Finished summary = meter.summary();
        QCOMPARE(summary.steps, std::int64_t{3});
        QCOMPARE(summary.rows, std::int64_t{64});
        QCOMPARE(summary.totalMs, 3.0);
        QCOMPARE(summary.seconds, 0.006);
    }
};

QTEST_APPLESS_MAIN(TestStepMeter)
#include "tst_step_meter.moc"
