// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "tests/core/collective/processes.h"

using namespace lockstep;
using namespace lockstep::collective;
using namespace lockstep::collective::test;

class TestProcesses final : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void survivorsNameALostPeer_data() {
        QTest::addColumn<int>("signal");
        QTest::addColumn<int>("victim");
        QTest::addColumn<QByteArray>("kind");
        for (const int victim : {0, 1, 2, 3})
            QTest::addRow("worker %d of 4 is killed", victim)
                << SIGKILL << victim << QByteArray("killed");
        for (const int victim : {0, 1, 2})
            QTest::addRow("worker %d of 4 is frozen", victim)
                << SIGSTOP << victim << QByteArray("frozen");
    }

    void survivorsNameALostPeer() {
        QFETCH(const int, signal);
        QFETCH(const int, victim);
        QFETCH(const QByteArray, kind);
        const QString members = loopbackList(4);
        Peers peers;
        for (int rank = 0; rank < 4; ++rank)
            peers.push_back(std::make_unique<Peer>(QStringList(), rank, members, QStringList()));
        QVERIFY2(waitForAll(peers, "step 3\n", 15'000), allOutput(peers));
        QElapsedTimer timer;
        timer.start();
        peers[static_cast<std::size_t>(victim)]->signal(signal);
        const QByteArray expected = kind + " worker:" + QByteArray::number(victim) + " by ";
        for (int rank = 0; rank < 4; ++rank) {
            Peer& peer = *peers[static_cast<std::size_t>(rank)];
            if (rank == victim)
                continue;
            QVERIFY2(QTest::qWaitFor([&] { return !peer.verdict().isEmpty(); },
                                     5000 - static_cast<int>(timer.elapsed())),
                     allOutput(peers));
            QVERIFY2(peer.verdict().startsWith(expected), allOutput(peers));
            // All adopt what the chief found, or found it about the chief themselves.
            QVERIFY(
                peer.verdict().endsWith(victim == 0 ? QByteArray::number(rank) : QByteArray("0")));
        }
        for (int rank = 0; rank < 4; ++rank)
            if (rank != victim)
                QTRY_VERIFY2_WITH_TIMEOUT(peers[static_cast<std::size_t>(rank)]->hasEnded(),
                                          "a survivor does not end", 3000);
    }

    void aThawedPeerAdoptsTheVerdictAboutItself_data() {
        QTest::addColumn<int>("victim");
        QTest::addRow("a worker") << 1;
        QTest::addRow("the chief") << 0;
    }

    void aThawedPeerAdoptsTheVerdictAboutItself() {
        QFETCH(const int, victim);
        const QString members = loopbackList(2);
        Peers peers;
        for (int rank = 0; rank < 2; ++rank)
            peers.push_back(std::make_unique<Peer>(QStringList(), rank, members, QStringList()));
        QVERIFY2(waitForAll(peers, "step 3\n", 15'000), allOutput(peers));
        Peer& frozen = *peers[static_cast<std::size_t>(victim)];
        Peer& other = *peers[static_cast<std::size_t>(1 - victim)];
        frozen.signal(SIGSTOP);
        QTRY_VERIFY_WITH_TIMEOUT(other.hasEnded(), 8000);
        frozen.signal(SIGCONT);
        QTRY_VERIFY_WITH_TIMEOUT(frozen.hasEnded(), 5000);
        QCOMPARE(frozen.verdict(), other.verdict());
        QVERIFY2(frozen.verdict().startsWith("frozen worker:" + QByteArray::number(victim)),
                 allOutput(peers));
    }

    void shortFreezesAreForgiven() {
        const QString members = loopbackList(2);
        Peers peers;
        for (int rank = 0; rank < 2; ++rank)
            peers.push_back(std::make_unique<Peer>(QStringList(), rank, members,
                                                   QStringList{QStringLiteral("steps=300")}));
        QVERIFY2(waitForAll(peers, "step 3\n", 15'000), allOutput(peers));
        for (const auto& peer : peers) {
            peer->signal(SIGSTOP);
            QTest::qWait(2000); // the length of the freeze is what is tested
            peer->signal(SIGCONT);
        }
        QVERIFY2(waitForAll(peers, "left\n", 20'000), allOutput(peers));
    }

    void formsAgainOnTheSamePortsTwentyTimes() {
        const unsigned seed = static_cast<unsigned>(::getpid());
        qInfo("seed %u", seed);
        std::mt19937 random(seed);
        const QString members = loopbackList(3);
        for (int attempt = 1; attempt <= 20; ++attempt) {
            Peers peers;
            const QStringList more{QStringLiteral("attempt=%1").arg(attempt)};
            for (int rank = 0; rank < 3; ++rank)
                peers.push_back(std::make_unique<Peer>(QStringList(), rank, members, more));
            QVERIFY2(waitForAll(peers, "step 1\n", 15'000), allOutput(peers));
            const auto victim = random() % 3;
            peers[victim]->signal(SIGKILL);
            const QByteArray expected = "killed worker:" + QByteArray::number(int(victim));
            for (std::size_t rank = 0; rank < 3; ++rank)
                if (rank != victim)
                    QTRY_VERIFY2_WITH_TIMEOUT(peers[rank]->verdict().startsWith(expected),
                                              allOutput(peers), 5000);
            // The next attempt starts at once; what is left of this one is killed by ~Peer.
        }
    }

    void aPeerThatDiesWhileJoiningMayBeReplaced() {
        const QString members = loopbackList(3);
        Peers peers;
        const auto start = [&](int rank) {
            return std::make_unique<Peer>(QStringList(), rank, members,
                                          QStringList{QStringLiteral("steps=5")});
        };
        peers.push_back(start(0));
        peers.push_back(start(1));
        QTRY_VERIFY_WITH_TIMEOUT(
            peers[0]->hasSaid("waiting worker:2") && peers[1]->hasSaid("waiting worker:2"), 10'000);
        peers[1]->signal(SIGKILL);
        QTRY_VERIFY_WITH_TIMEOUT(peers[1]->hasEnded(), 5000);
        peers[1] = start(1);
        peers.push_back(start(2));
        QVERIFY2(waitForAll(peers, "left\n", 15'000), allOutput(peers));
    }

    void finishingLongBeforeTheChiefIsASuccess() {
        const QString members = loopbackList(3);
        Peers peers;
        for (int rank = 0; rank < 3; ++rank)
            peers.push_back(std::make_unique<Peer>(
                QStringList(), rank, members,
                QStringList{QStringLiteral("steps=3"),
                            QStringLiteral("hold=%1").arg(rank == 0 ? 6000 : 0)}));
        for (const auto& peer : peers) {
            QTRY_VERIFY2_WITH_TIMEOUT(peer->hasEnded(), allOutput(peers), 20'000);
            QVERIFY2(peer->status() == 0, allOutput(peers));
        }
    }

    void dyingAtTheExitBarrierIsNoSuccess() {
        const QString members = loopbackList(3);
        Peers peers;
        for (int rank = 0; rank < 3; ++rank)
            peers.push_back(std::make_unique<Peer>(
                QStringList(), rank, members,
                QStringList{QStringLiteral("steps=3"),
                            QStringLiteral("hold=%1").arg(rank == 0 ? 20'000 : 0)}));
        QVERIFY2(waitForAll(peers, "step 3\n", 15'000), allOutput(peers));
        peers[2]->signal(SIGKILL);
        QTRY_VERIFY2_WITH_TIMEOUT(peers[1]->verdict() == "killed worker:2 by 0", allOutput(peers),
                                  5000);
    }
};

QTEST_GUILESS_MAIN(TestProcesses)
#include "tst_processes.moc"
