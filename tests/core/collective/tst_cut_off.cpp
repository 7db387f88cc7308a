// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// Ranks in network namespaces, joined by a bridge, whose packets are then dropped. Needs root, ip
// and nft. There is no name service in there: addresses are dialled as they are typed.
#include "tests/core/collective/processes.h"

#include <QStandardPaths>

using namespace lockstep;
using namespace lockstep::collective;
using namespace lockstep::collective::test;

namespace {

/// Runs a program; empty where it succeeded, else what it said.
QByteArray runProgram(const QString& program, const QStringList& arguments,
                      const QByteArray& input = {}) {
    QProcess process;
    process.setProcessChannelMode(QProcess::MergedChannels);
    process.start(program, arguments);
    process.write(input);
    process.closeWriteChannel();
    if (!process.waitForFinished(10'000))
        return "does not end";
    const QByteArray output = process.readAll();
    return process.exitCode() == 0 ? QByteArray() : program.toUtf8() + ": " + output;
}

/// `size` hosts 10.77.0.1 … on one bridge; gone with the object.
class Network {
public:
    explicit Network(int size)
        : m_size(size) {
        const QString hub = name(-1);
        add(QStringLiteral("netns add %1").arg(hub));
        add(QStringLiteral("-n %1 link add br0 type bridge").arg(hub));
        add(QStringLiteral("-n %1 link set br0 up").arg(hub));
        for (int host = 0; host < size; ++host) {
            const QString own = name(host);
            add(QStringLiteral("netns add %1").arg(own));
            add(QStringLiteral("link add eth0 netns %1 type veth peer name v%2 netns %3")
                    .arg(own)
                    .arg(host)
                    .arg(hub));
            add(QStringLiteral("-n %1 link set v%2 master br0").arg(hub).arg(host));
            add(QStringLiteral("-n %1 link set v%2 up").arg(hub).arg(host));
            add(QStringLiteral("-n %1 addr add %2/24 dev eth0").arg(own, address(host)));
            add(QStringLiteral("-n %1 link set eth0 up").arg(own));
            add(QStringLiteral("-n %1 link set lo up").arg(own));
        }
    }
    ~Network() {
        for (int host = -1; host < m_size; ++host)
            runProgram(QStringLiteral("ip"),
                       {QStringLiteral("netns"), QStringLiteral("del"), name(host)});
    }

    static QString address(int host) { return QStringLiteral("10.77.0.%1").arg(host + 1); }
    QStringList prefix(int host) const {
        return {QStringLiteral("ip"), QStringLiteral("netns"), QStringLiteral("exec"), name(host)};
    }
    /// Drops what `host` sends and gets; only from and to `other` where that is one.
    QByteArray cut(int host, int other = -1) const {
        const QByteArray peer = address(other).toUtf8();
        const QByteArray in = other < 0 ? "drop" : "ip saddr " + peer + " drop";
        const QByteArray out = other < 0 ? "drop" : "ip daddr " + peer + " drop";
        return runProgram(QStringLiteral("ip"),
                          QStringList{QStringLiteral("netns"), QStringLiteral("exec"), name(host),
                                      QStringLiteral("nft"), QStringLiteral("-f"),
                                      QStringLiteral("-")},
                          "table inet cut {\n"
                          "chain i { type filter hook input priority 0; " +
                              in +
                              "; }\n"
                              "chain o { type filter hook output priority 0; " +
                              out + "; }\n}\n");
    }
    const QByteArray& problem() const { return m_problem; }

private:
    QString name(int host) const {
        return QStringLiteral("lockstep-%1-%2").arg(::getpid()).arg(host + 1);
    }
    void add(const QString& arguments) {
        if (m_problem.isEmpty())
            m_problem = runProgram(QStringLiteral("ip"), arguments.split(QLatin1Char(' ')));
    }

    int m_size;
    QByteArray m_problem;
};

QString memberList(int size) {
    QStringList list;
    for (int host = 0; host < size; ++host)
        list << Network::address(host) + QStringLiteral(":2222");
    return list.join(QLatin1Char(','));
}

} // namespace

class TestCutOff final : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        QByteArray lacking;
        if (::geteuid() != 0)
            lacking = "root is needed for network namespaces";
        for (const char* tool : {"ip", "nft"})
            if (QStandardPaths::findExecutable(QLatin1String(tool)).isEmpty())
                lacking = QByteArray(tool) + " not found: install iproute2 and nftables";
        if (lacking.isEmpty()) {
            const Network network(1);
            lacking = network.problem();
            if (lacking.isEmpty())
                lacking = network.cut(0);
        }
        if (lacking.isEmpty())
            return;
        if (qgetenv("LOCKSTEP_REQUIRE").contains("netns"))
            QFAIL(lacking);
        QSKIP(lacking);
    }

    void survivorsNameACutOffPeer_data() {
        QTest::addColumn<int>("victim");
        QTest::addRow("the chief") << 0;
        QTest::addRow("a neighbour of the chief") << 1;
        QTest::addRow("one in the middle") << 2;
    }

    void survivorsNameACutOffPeer() {
        QFETCH(const int, victim);
        const Network network(4);
        QVERIFY2(network.problem().isEmpty(), network.problem());
        Peers peers = start(network);
        QVERIFY2(waitForAll(peers, "step 3\n", 15'000), allOutput(peers));
        QElapsedTimer timer;
        timer.start();
        const QByteArray problem = network.cut(victim);
        QVERIFY2(problem.isEmpty(), problem);
        waitForVerdicts(peers, 5000 - static_cast<int>(timer.elapsed()));
        const QByteArray expected = "cut_off worker:" + QByteArray::number(victim) + " by ";
        for (int rank = 0; rank < 4; ++rank) {
            const QByteArray verdict = peers[static_cast<std::size_t>(rank)]->verdict();
            if (rank != victim)
                QVERIFY2(verdict.startsWith(expected), allOutput(peers));
            else // it reaches nobody: a worker names the chief, the chief one of the others
                QVERIFY2(verdict.startsWith(victim == 0 ? "cut_off worker:" : "cut_off worker:0"),
                         allOutput(peers));
        }
    }

    void aCutBetweenTwoWorkersIsFoundToo_data() {
        QTest::addColumn<int>("dropping");
        QTest::addRow("where the data is sent") << 1;
        QTest::addRow("where it should arrive") << 2;
    }

    void aCutBetweenTwoWorkersIsFoundToo() {
        QFETCH(const int, dropping);
        const Network network(4);
        QVERIFY2(network.problem().isEmpty(), network.problem());
        Peers peers = start(network);
        QVERIFY2(waitForAll(peers, "step 3\n", 15'000), allOutput(peers));
        const QByteArray problem = network.cut(dropping, 3 - dropping);
        QVERIFY2(problem.isEmpty(), problem);
        waitForVerdicts(peers, 5000);
        for (const auto& peer : peers) {
            QVERIFY2(!peer->verdict().isEmpty(), allOutput(peers));
            QCOMPARE(peer->verdict(), QByteArray("cut_off worker:2 by 0"));
            QVERIFY2(peer->hasSaid("cut off from worker:1"), allOutput(peers));
        }
    }

    void namesAHostThatDropsPackets() {
        const Network network(2);
        QVERIFY2(network.problem().isEmpty(), network.problem());
        QVERIFY(network.cut(1).isEmpty());
        Peer chief(network.prefix(0), 0, memberList(2), {QStringLiteral("join=4500")});
        QTRY_VERIFY2_WITH_TIMEOUT(chief.hasEnded(), chief.output(), 8000);
        QVERIFY2(chief.output().contains("worker:1 (10.77.0.2:2222): no answer") ||
                     chief.output().contains("worker:1 (10.77.0.2:2222): unreachable"),
                 chief.output());
    }

private:
    static Peers start(const Network& network) {
        Peers peers;
        for (int rank = 0; rank < 4; ++rank)
            peers.push_back(
                std::make_unique<Peer>(network.prefix(rank), rank, memberList(4), QStringList()));
        return peers;
    }

    static void waitForVerdicts(const Peers& peers, int milliseconds) {
        QVERIFY2(waitForAll(peers, "verdict ", milliseconds), allOutput(peers));
    }
};

QTEST_GUILESS_MAIN(TestCutOff)
#include "tst_cut_off.moc"
