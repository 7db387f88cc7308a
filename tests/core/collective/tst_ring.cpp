// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "tests/core/collective/support.h"

#include <QTest>

#include <bit>
#include <cstring>
#include <mutex>
#include <numeric>

using namespace lockstep;
using namespace lockstep::collective;
using namespace lockstep::collective::test;

namespace {

std::vector<float> randomFloats(std::size_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
    std::vector<float> values(count);
    for (float& value : values)
        value = uniform(random) * std::exp2(static_cast<float>(random() % 40) - 20.0f);
    return values;
}

/// The sum that each rank ends with.
std::vector<std::vector<float>> sumsOf(int size, std::size_t count) {
    std::vector<std::vector<float>> sums(static_cast<std::size_t>(size));
    const auto outcomes = runRanks(optionsForAll(size), [&](Group& group) {
        const auto rank = static_cast<std::size_t>(group.rank());
        auto values = randomFloats(count, 100u + static_cast<unsigned>(rank));
        group.allReduceSum(std::span(values)).wait();
        sums[rank] = values;
    });
    if (const auto error = firstError(outcomes); !error.empty())
        throw Failure(Code::Internal, error);
    return sums;
}

bool sameBits(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

} // namespace

class TestRing final : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void sumsOverAllRanks_data() {
        QTest::addColumn<int>("size");
        QTest::addColumn<int>("count");
        for (const int size : {1, 2, 3, 4, 7})
            for (const int count : {0, 1, 10, 1000, 65537})
                QTest::addRow("%d ranks, %d elements", size, count) << size << count;
    }

    void sumsOverAllRanks() {
        QFETCH(const int, size);
        QFETCH(const int, count);
        std::mutex mutex;
        int wrong = 0;
        const auto outcomes = runRanks(optionsForAll(size), [&](Group& group) {
            // Small whole numbers: every order of additions gives the same exact sum.
            std::vector<float> floats(static_cast<std::size_t>(count));
            std::vector<double> doubles(static_cast<std::size_t>(count));
            for (std::size_t i = 0; i < floats.size(); ++i) {
                floats[i] = static_cast<float>(group.rank() + 1) * static_cast<float>(i % 17);
                doubles[i] = static_cast<double>(floats[i]) + 0.5;
            }
            const Work first = group.allReduceSum(std::span(floats));
            const Work second = group.allReduceSum(std::span(doubles));
            second.wait();
            first.wait();
            const int ranks = size * (size + 1) / 2;
            const std::lock_guard lock(mutex);
            for (std::size_t i = 0; i < floats.size(); ++i) {
                const auto sum = static_cast<double>(ranks) * static_cast<double>(i % 17);
                wrong += static_cast<double>(floats[i]) != sum;
                wrong += doubles[i] != sum + 0.5 * size;
            }
        });
        QCOMPARE(firstError(outcomes), std::string());
        QCOMPARE(wrong, 0);
    }

    void givesAllRanksTheSameBitsTwice_data() { sumsOverAllRanks_data(); }

    void givesAllRanksTheSameBitsTwice() {
        QFETCH(const int, size);
        QFETCH(const int, count);
        const auto first = sumsOf(size, static_cast<std::size_t>(count));
        const auto second = sumsOf(size, static_cast<std::size_t>(count));
        for (std::size_t rank = 0; rank < first.size(); ++rank) {
            QVERIFY(sameBits(first[rank], first[0]));
            QVERIFY(sameBits(second[rank], first[0]));
        }
    }

    void movesBuffersLargerThanTheSocketBuffers() {
        constexpr std::size_t kCount = 6'000'001; // 24 MB: both directions must go on together
        std::mutex mutex;
        int wrong = 0;
        const auto outcomes = runRanks(optionsForAll(3), [&](Group& group) {
            std::vector<float> values(kCount, static_cast<float>(group.rank() + 1));
            group.allReduceSum(std::span(values)).wait();
            const std::lock_guard lock(mutex);
            wrong += static_cast<int>(std::count_if(values.begin(), values.end(),
                                                    [](float value) { return value != 6.0f; }));
        });
        QCOMPARE(firstError(outcomes), std::string());
        QCOMPARE(wrong, 0);
    }

    void executesInSubmissionOrderAndTellsTheTimes() {
        std::mutex mutex;
        int wrong = 0;
        const auto outcomes = runRanks(optionsForAll(3), [&](Group& group) {
            constexpr std::size_t kWorks = 200; // more than the queue begins with
            std::vector<float> values(kWorks * 100, 1.0f);
            std::vector<Work> works;
            for (std::size_t i = 0; i < kWorks; ++i)
                works.push_back(group.allReduceSum(std::span(values).subspan(i * 100, 100)));
            for (const Work& work : works)
                work.wait();
            const std::lock_guard lock(mutex);
            for (std::size_t i = 0; i < kWorks; ++i) {
                const WorkTimes times = works[i].times();
                wrong += !works[i].isDone() || times.started < times.submitted ||
                         times.ended < times.started;
                wrong += i > 0 && times.started < works[i - 1].times().ended;
            }
            wrong += std::accumulate(values.begin(), values.end(), 0.0) != kWorks * 300.0;
        });
        QCOMPARE(firstError(outcomes), std::string());
        QCOMPARE(wrong, 0);
    }

    void broadcastsFromEveryRoot_data() {
        QTest::addColumn<int>("size");
        for (const int size : {1, 2, 3, 4, 7})
            QTest::addRow("%d ranks", size) << size;
    }

    void broadcastsFromEveryRoot() {
        QFETCH(const int, size);
        std::mutex mutex;
        int wrong = 0;
        const auto outcomes = runRanks(optionsForAll(size), [&](Group& group) {
            for (int root = 0; root < size; ++root)
                for (const std::size_t length :
                     {std::size_t{0}, std::size_t{1}, std::size_t{300'001}}) {
                    const auto mine = static_cast<std::byte>(group.rank() + 1);
                    std::vector<std::byte> bytes(length, mine);
                    group.broadcast(bytes, root);
                    const std::lock_guard lock(mutex);
                    wrong += static_cast<int>(length) -
                             static_cast<int>(std::count(bytes.begin(), bytes.end(),
                                                         static_cast<std::byte>(root + 1)));
                }
        });
        QCOMPARE(firstError(outcomes), std::string());
        QCOMPARE(wrong, 0);
    }

    void gathersInRankOrder_data() { broadcastsFromEveryRoot_data(); }

    void gathersInRankOrder() {
        QFETCH(const int, size);
        std::mutex mutex;
        int wrong = 0;
        const auto outcomes = runRanks(optionsForAll(size), [&](Group& group) {
            for (const std::size_t length : {std::size_t{0}, std::size_t{1}, std::size_t{32}}) {
                const std::vector<std::byte> mine(length, static_cast<std::byte>(group.rank()));
                const auto blocks = group.allGather(mine);
                const std::lock_guard lock(mutex);
                wrong += blocks.size() != static_cast<std::size_t>(size);
                for (std::size_t rank = 0; rank < blocks.size(); ++rank)
                    wrong += blocks[rank] !=
                             std::vector<std::byte>(length, static_cast<std::byte>(rank));
            }
        });
        QCOMPARE(firstError(outcomes), std::string());
        QCOMPARE(wrong, 0);
    }

    void barrierHoldsUntilTheLastOneEnters() {
        std::atomic<int> entered{0};
        std::atomic<int> wrong{0};
        const auto outcomes = runRanks(optionsForAll(4), [&](Group& group) {
            for (int round = 1; round <= 50; ++round) {
                ++entered;
                group.barrier();
                wrong += entered.load() < 4 * round;
                group.barrier();
            }
        });
        QCOMPARE(firstError(outcomes), std::string());
        QCOMPARE(wrong.load(), 0);
    }

    void namesTheRankThatIsInAnotherCollective() {
        const auto outcomes = runRanks(optionsForAll(2), [&](Group& group) {
            std::vector<float> values(group.rank() == 0 ? 10 : 11);
            group.allReduceSum(std::span(values)).wait();
        });
        for (const Outcome& outcome : outcomes) {
            QVERIFY(outcome.error);
            QVERIFY2(outcome.error->message.find("44 bytes") != std::string::npos,
                     outcome.error->message.c_str());
        }
    }

    void namesTheRankThatDoesNotEnter() {
        auto options = optionsForAll(3);
        for (JoinOptions& each : options)
            each.collectiveTimeout = Ms(700);
        const auto outcomes = runRanks(options, [&](Group& group) {
            std::vector<float> values(1000);
            group.allReduceSum(std::span(values)).wait();
            if (group.rank() == 2) {
                const auto deadline = Monotonic::now() + std::chrono::seconds(10);
                while (!group.verdict() && Monotonic::now() < deadline)
                    std::this_thread::sleep_for(Ms(5)); // it computes, and its heart beats
                return;
            }
            group.allReduceSum(std::span(values)).wait();
        });
        for (const Outcome& outcome : outcomes) {
            QVERIFY(outcome.verdict);
            QCOMPARE(outcome.verdict->kind, VerdictKind::Stalled);
            QCOMPARE(outcome.verdict->task, std::string("worker:2"));
        }
    }

    void aPeerThatIsLateIsNotLost() {
        // It computes longer than every limit of the heartbeat while data for it fills the buffers.
        auto options = optionsForAll(3);
        for (JoinOptions& each : options)
            each.heartbeatTimeout = Ms(2000);
        const auto outcomes = runRanks(options, [&](Group& group) {
            std::vector<float> values(8'000'000, 1.0f);
            if (group.rank() == 1)
                std::this_thread::sleep_for(Ms(4000));
            group.allReduceSum(std::span(values)).wait();
        });
        QCOMPARE(firstError(outcomes), std::string());
    }

    void tellsThePeersWhyItFailed_data() {
        QTest::addColumn<int>("victim");
        QTest::addRow("a worker") << 1;
        QTest::addRow("the chief") << 0;
    }

    void tellsThePeersWhyItFailed() {
        QFETCH(const int, victim);
        const auto outcomes = runRanks(optionsForAll(4), [&](Group& group) {
            std::vector<float> values(1000);
            for (int step = 0;; ++step) {
                group.allReduceSum(std::span(values)).wait();
                if (group.rank() == victim && step == 5)
                    group.abort(Farewell::Failed, "cannot read rows.csv");
            }
        });
        for (const Outcome& outcome : outcomes) {
            QVERIFY(outcome.verdict);
            QCOMPARE(outcome.verdict->kind, VerdictKind::Failed);
            QCOMPARE(outcome.verdict->rank, victim);
            QVERIFY(outcome.verdict->sentence.find("failed: cannot read rows.csv.") !=
                    std::string::npos);
            QCOMPARE(outcome.error->code, Code::PeerLost);
            QVERIFY2(outcome.seconds < 5.0, qPrintable(QString::number(outcome.seconds)));
        }
    }

    void tellsThePeersThatItWasStopped() {
        const auto outcomes = runRanks(optionsForAll(3), [&](Group& group) {
            std::vector<float> values(1000);
            for (int step = 0;; ++step) {
                group.allReduceSum(std::span(values)).wait();
                if (group.rank() == 2 && step == 3)
                    group.abort(Farewell::Stopped, "SIGTERM");
            }
        });
        for (const Outcome& outcome : outcomes) {
            QVERIFY(outcome.verdict);
            QCOMPARE(outcome.verdict->kind, VerdictKind::Stopped);
            QCOMPARE(outcome.verdict->task, std::string("worker:2"));
            QCOMPARE(outcome.error->code, Code::Cancelled);
        }
    }

    void droppingAGroupEarlyIsAFailureWithAName() {
        const auto members = loopbackMembers(2);
        std::optional<Verdict> verdict;
        std::jthread leaver([&] { join(optionsFor(1, members)); });
        const auto group = join(optionsFor(0, members));
        std::vector<float> values(10);
        try {
            group->allReduceSum(std::span(values)).wait();
            QFAIL("the other rank was gone");
        } catch (const Failure&) {
            verdict = group->verdict();
        }
        QVERIFY(verdict);
        QCOMPARE(verdict->kind, VerdictKind::Failed);
        QCOMPARE(verdict->task, std::string("worker:1"));
        QVERIFY_THROWS_EXCEPTION(Failure, group->barrier());
    }

    void finishingEarlyIsNoFailure() {
        // One rank is at the exit barrier long before the others; heartbeats go on meanwhile.
        auto options = optionsForAll(3);
        for (JoinOptions& each : options)
            each.heartbeatTimeout = Ms(600);
        std::atomic<bool> hasLeft{false};
        const auto outcomes = runRanks(options, [&](Group& group) {
            group.barrier();
            if (group.rank() == 1) {
                group.leave();
                hasLeft = true;
                return;
            }
            const auto deadline = Monotonic::now() + Ms(1500);
            while (Monotonic::now() < deadline && !group.verdict())
                std::this_thread::sleep_for(Ms(10)); // this rank still works
            if (hasLeft)
                throw Failure(Code::Internal, "the exit barrier opened too early");
        });
        QCOMPARE(outcomes[0].error ? describe(*outcomes[0].error) : "", std::string());
        QCOMPARE(outcomes[2].error ? describe(*outcomes[2].error) : "", std::string());
        QVERIFY(hasLeft);
        for (const Outcome& outcome : outcomes)
            QVERIFY(!outcome.verdict);
    }

    void exitBarrierNamesWhoDoesNotCome() {
        const auto members = loopbackMembers(2);
        std::optional<Verdict> seen;
        std::jthread other([&] {
            const auto group = join(optionsFor(1, members));
            const auto deadline = Monotonic::now() + std::chrono::seconds(10);
            while (!group->verdict() && Monotonic::now() < deadline)
                std::this_thread::sleep_for(Ms(5)); // never leaves
            seen = group->verdict();
        });
        const auto group = join(optionsFor(0, members));
        QVERIFY_THROWS_EXCEPTION(Failure, group->leave(Ms(300)));
        other.join();
        QVERIFY(seen && group->verdict());
        QCOMPARE(seen->kind, VerdictKind::Stalled);
        QCOMPARE(*seen, *group->verdict());
        QCOMPARE(seen->task, std::string("worker:1"));
    }

    void groupOfOneOpensNoPort() {
        const auto members = loopbackMembers(1);
        const auto group = join(optionsFor(0, members));
        const int fd = bindPort(members[0].port);
        QVERIFY(fd >= 0);
        ::close(fd);
        std::vector<float> values{1.0f, 2.0f};
        group->allReduceSum(std::span(values)).wait();
        QCOMPARE(values[1], 2.0f);
        group->leave();
        QVERIFY(!group->verdict());
    }

    void workMayOutliveItsGroup() {
        Work work;
        const auto outcomes = runRanks(optionsForAll(2), [&](Group& group) {
            std::vector<float> values(10);
            const Work mine = group.allReduceSum(std::span(values));
            mine.wait();
            if (group.rank() == 0)
                work = mine;
        });
        QCOMPARE(firstError(outcomes), std::string());
        work.wait();
        QVERIFY(work.isDone());
    }
};

QTEST_APPLESS_MAIN(TestRing)
#include "tst_ring.moc"
