// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/metrics/store.h"
#include "core/metrics/summary.h"

#include <QTest>

#include <cmath>

using namespace lockstep;
using namespace lockstep::metrics;

namespace {

wire::Event started(int rank, double time = 100) {
    wire::Started body;
    body.rank = rank;
    body.world = 2;
    body.task = "worker:" + std::to_string(rank);
    body.host = "n" + std::to_string(rank);
    return {time, body};
}

wire::Event steps(std::int64_t first, std::int64_t last, double loss, double seconds = 0.5) {
    wire::Steps body;
    body.first = first;
    body.last = last;
    body.rows = 32 * (last - first + 1);
    body.ownRows = body.rows / 2;
    body.seconds = seconds;
    body.loss = {loss, loss - 0.1, loss + 0.1};
    body.allReduceMs = {3, 1, 9};
    body.totalMs = {10, 9, 12};
    body.computeMs = {6, 5, 7};
    return {101 + static_cast<double>(last), body};
}

wire::Event epochEnd(int epoch, std::int64_t step, double loss) {
    return {150, wire::EpochEnded{epoch,
                                  step,
                                  1.5,
                                  {{"loss", loss}, {"val_loss", loss + 1}},
                                  "digest" + std::to_string(epoch)}};
}

} // namespace

class TstStore : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void takesGlobalSeriesFromRankZeroAlone() {
        Store store;
        store.add("worker:1", 1, started(1));
        store.add("worker:1", 1, steps(1, 4, 9.0));
        QVERIFY(store.loss().isEmpty());
        store.add("worker:0", 1, started(0));
        store.add("worker:0", 1, steps(1, 4, 2.0));
        QCOMPARE(store.loss().size(), std::size_t{1});
        QCOMPARE(store.loss().decimate(0, 10, 10).columns[0].max, static_cast<double>(2.1F));
        QCOMPARE(store.samplesPerSecond().lastValue(), 256.0);
        QCOMPARE(store.worker("worker:1")->of(Quantity::SamplesPerSecond).lastValue(), 128.0);
        QCOMPARE(store.worker("worker:1")->of(Quantity::AllReduceMs).lastValue(), 3.0);
        QCOMPARE(store.workers()[0]->task, std::string("worker:0"));
    }

    void growsItsGenerationWithEveryChange() {
        Store store;
        const auto before = store.generation();
        store.add("worker:0", 1, started(0));
        QVERIFY(store.generation() > before);
        const auto after = store.generation();
        QCOMPARE(store.generation(), after);
    }

    void mergesTheLogByTime() {
        Store store;
        store.addLine("worker:0", Origin::Output, wire::Level::Info, "second", 20);
        store.addLine("worker:1", Origin::Output, wire::Level::Info, "third", 30);
        const auto seen = store.generation();
        store.addLine("worker:1", Origin::Output, wire::Level::Info, "first", 10);
        QCOMPARE(store.log()[0].text, std::string("first"));
        QCOMPARE(store.log()[2].text, std::string("third"));
        QCOMPARE(store.firstLogLineAfter(seen), std::size_t{0});
        QCOMPARE(store.firstLogLineAfter(store.generation()), std::size_t{3});
    }

    void showsLinesAsATerminalWould() {
        const auto lines = printableLines("10%\r20%\r100%\ndone\n\x1b[31merr\x1b[0m\n\x1b]0;title\a"
                                          "x\n\x1b]0;t\x1b\\y\ntab\there\n");
        QCOMPARE(lines, (std::vector<std::string>{"100%", "done", "err", "x", "y", "tab\there"}));
        QCOMPARE(printableLines(std::string_view("a\0b\xff", 4))[0], std::string("ab\xef\xbf\xbd"));
        QCOMPARE(printableLines("half \x1b[3").size(), std::size_t{1});
    }

    void mergesThreeWorkersWhoseClocksDiffer() {
        // Each prints its index every second; the clocks of two are off by two seconds.
        Store store;
        const std::vector<double> ahead{0, 2, -2};
        for (int worker = 0; worker < 3; ++worker)
            for (int second = 0; second < 60; ++second)
                store.addLine("worker:" + std::to_string(worker), Origin::Output, wire::Level::Info,
                              std::to_string(second) + "." + std::to_string(worker),
                              1000 + second + worker * 0.2 +
                                  ahead[static_cast<std::size_t>(worker)]);
        const auto seen = store.generation();
        for (int worker = 1; worker < 3; ++worker)
            store.setClockOffset("worker:" + std::to_string(worker),
                                 ahead[static_cast<std::size_t>(worker)]);
        QCOMPARE(store.log().size(), std::size_t{180});
        for (std::size_t i = 0; i < 180; ++i)
            QCOMPARE(store.log()[i].text, std::to_string(i / 3) + "." + std::to_string(i % 3));
        // Whoever looks at it is told that all may have moved.
        QCOMPARE(store.firstLogLineAfter(seen), std::size_t{0});
    }

    void correctsAClockThatJumpsInARun() {
        // worker:1 is 300 s ahead, from its 1310 on 360 s; worker:2 is 7 s behind.
        Store store;
        store.setClockOffset("worker:1", 300);
        store.setClockOffset("worker:2", -7);
        const auto say = [&](int worker, double hostTime, const char* text) {
            store.addLine("worker:" + std::to_string(worker), Origin::Output, wire::Level::Info,
                          text, hostTime);
        };
        say(0, 1000, "a");
        say(1, 1301, "b");
        say(2, 995, "c");
        store.setClockOffset("worker:1", 360, 1310);
        say(1, 1363, "d");
        say(0, 1004, "e");
        std::string order;
        double before = 0;
        for (const LogLine& line : store.log()) {
            order += line.text;
            QVERIFY(line.time > before);
            before = line.time;
        }
        QCOMPARE(order, std::string("abcde"));
        QCOMPARE(store.ourTime("worker:1", 1301), 1001.0);
        QCOMPARE(store.ourTime("worker:1", 1363), 1003.0);
        QCOMPARE(store.ourTime("worker:0", 5), 5.0);
        // Measured again as a whole, what was said before does not count.
        store.setClockOffset("worker:1", 301);
        QCOMPARE(store.ourTime("worker:1", 1363), 1062.0);
    }

    void takesPrintedProgressIntoTheSameSeries() {
        Store store;
        store.add("worker:0", 1, started(0));
        store.add("worker:1", 1, started(1));
        KerasReader reader;
        for (const Progress& progress :
             reader.add("Epoch 1/2\n\r5/10 [===>..] - ETA: 1s - loss: 2.0 - lr: 0.1\b\r"
                        "10/10 [====] - 3s 5ms/step - loss: 1.5 - mae: 0.5 - val_loss: 1.25\n"
                        "Epoch 2/2\n\r1/10 [=>....] - ETA: 1s - loss: nan\r")) {
            store.add("worker:0", 1, progress, 120);
            store.add("worker:1", 1, progress, 125);
        }
        QCOMPARE(store.loss().size(), std::size_t{2});
        QCOMPARE(store.loss().nonFiniteCount(), 1);
        QCOMPARE(store.learningRate().lastValue(), 0.1);
        QCOMPARE(store.epochs().size(), std::size_t{1});
        QCOMPARE(store.epochs()[0].step, 10);
        QCOMPARE(store.epochs()[0].seconds, 3.0);
        QCOMPARE(store.epochValueNames(), (std::vector<std::string>{"loss", "mae", "val_loss"}));
        QCOMPARE(store.epochValue("val_loss").lastX(), 10.0);
        for (const char* task : {"worker:0", "worker:1"}) {
            QCOMPARE(store.worker(task)->of(Quantity::StepMs).lastValue(), 5.0);
            QCOMPARE(store.worker(task)->step, 11);
            QCOMPARE(store.worker(task)->epoch, 2);
            QVERIFY(store.worker(task)->of(Quantity::AllReduceMs).isEmpty()); // not known is not 0
        }
    }

    void keepsWorkerStatesUntilANewAttempt() {
        Store store;
        store.add("worker:0", 1, started(0));
        store.add("worker:0", 1, {102, wire::PhaseChanged{wire::Phase::Joining, {"worker:1"}, 57}});
        QCOMPARE(store.worker("worker:0")->waitingFor, std::vector<std::string>{"worker:1"});
        store.add("worker:0", 1, {103, wire::Failed{"worker:1", "n1", "peer_lost", "killed", "x"}});
        QVERIFY(store.worker("worker:0")->failed);
        store.add("worker:0", 2, started(0));
        QVERIFY(!store.worker("worker:0")->failed);
        store.add("worker:0", 1, steps(1, 2, 1.0));
        QVERIFY(store.loss().isEmpty()); // of an attempt that is past
    }

    void countsNaNOfALossAndDrawsNone() {
        Store store;
        store.add("worker:0", 1, started(0));
        store.add("worker:0", 1, steps(1, 1, 1.0));
        store.add("worker:0", 1, steps(2, 2, std::nan("")));
        store.add("worker:0", 1, steps(3, 3, 1.0));
        QCOMPARE(store.loss().nonFiniteCount(), 1);
        QVERIFY(store.loss().decimate(0, 9, 9).columns[1].breakBefore);
    }

    void summarizesTheSlowestRank() {
        Store store;
        for (const int rank : {0, 1}) {
            const std::string task = "worker:" + std::to_string(rank);
            store.add(task, 1, started(rank));
            store.add(task, 1, steps(1, 1, 2.0));
            store.add(task, 1, epochEnd(1, 1, 0.5));
            wire::Finished end;
            end.digest = "abc";
            end.steps = 11;
            end.rows = 320;
            end.seconds = rank == 0 ? 2.0 : 4.0;
            end.totalMs = rank == 0 ? 5.0 : 6.0;
            end.inputMs = rank == 0 ? 0.1 : 0.2;
            store.add(task, 1, {200, end});
        }
        QCOMPARE(json::dump(summarize(store)),
                 std::string(R"({"workers":2,"epochs":[{"epoch":1,"loss":0.5,"val_loss":1.5}],)"
                             R"("final":{"epoch":1,"loss":0.5,"val_loss":1.5},)"
                             R"("digest":{"worker:0":"abc","worker:1":"abc"},)"
                             R"("samples_per_second":80.0,"step_ms":{"input":0.2,"compute":0.0,)"
                             R"("all_reduce_wait":0.0,"update":0.0,"total":6.0}})"));
    }

    void summarizesARunThatDidNotFinish() {
        Store store;
        QCOMPARE(json::dump(*summarize(store).find("final")), std::string("null"));
        store.add("worker:0", 1, started(0));
        store.add("worker:0", 1, steps(1, 1, 2.0));
        store.add("worker:0", 1, steps(2, 5, 2.0));
        const auto summary = summarize(store);
        QCOMPARE(summary.find("samples_per_second")->toNumber(), 256.0);
        QCOMPARE(summary.find("step_ms")->find("compute")->toNumber(), 6.0);
    }

    void givesEpochValuesOverSteps() {
        Store store;
        store.add("worker:0", 1, started(0));
        store.add("worker:0", 1, epochEnd(1, 25, 0.5));
        store.add("worker:0", 1, epochEnd(2, 50, 0.25));
        QCOMPARE(store.epochValueNames(), (std::vector<std::string>{"loss", "val_loss"}));
        QCOMPARE(store.epochValue("val_loss").lastX(), 50.0);
        QCOMPARE(store.epochValue("val_loss").lastValue(), 1.25);
        QVERIFY(store.epochValue("no such").isEmpty());
        QCOMPARE(store.epochs().size(), std::size_t{2});
        QCOMPARE(store.epochs()[1].digests.at("worker:0"), std::string("digest2"));
    }
};

QTEST_APPLESS_MAIN(TstStore)
#include "tst_store.moc"
