// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// What a channel carries over a link of 1 Gbit/s with 10 ms delay, against iperf3 on the same path.
#include "core/ssh/ssh_client.h"
#include "tests/core/ssh/scripted.h"
#include "tests/support/lab.h"

#include <QElapsedTimer>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTest>

using namespace lockstep;
using namespace lockstep::ssh;
using support::Lab;

class TestThroughput : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() {
        LOCKSTEP_NEEDS_LAB();
        m_lab = std::make_unique<Lab>(QStringList{QStringLiteral("gw jump"), QStringLiteral("n0"),
                                                  QStringLiteral("n1 via=gw")});
        QVERIFY2(m_lab->isUp(), qPrintable(m_lab->error()));
        QVERIFY2(m_lab->rate(QStringLiteral("n0"), QStringLiteral("1gbit")) &&
                     m_lab->delay(QStringLiteral("n0"), QStringLiteral("10ms")),
                 qPrintable(m_lab->error()));
        QVERIFY(m_lab->enterNetwork());
        SshOptions options;
        options.resolve.configFile = m_lab->sshConfig();
        m_client = std::make_unique<SshClient>(options, &m_prompter);
    }
    void cleanupTestCase() {
        m_client.reset();
        if (m_lab)
            m_lab->leaveNetwork();
    }

    void carriesSixtyPercentOfIperf() {
        const double reference = iperf();
        QVERIFY(reference > 0);
        const auto connection = connectionTo(QStringLiteral("n0"));
        const double there = push(*connection);
        const double back = fetch(*connection);
        qInfo("iperf3 %.0f Mbit/s, pushed %.0f, fetched %.0f", reference / 1e6, there / 1e6,
              back / 1e6);
        QVERIFY2(there >= 0.6 * reference, "pushing is slower than it has to be");
        QVERIFY2(back >= 0.5 * reference, "fetching is slower than it has to be");
    }

    // E9: the round trip is not what limits it
    void keepsUpWithSftpFarAway() {
        QVERIFY2(m_lab->delay(QStringLiteral("n0"), QStringLiteral("25ms")) &&
                     m_lab->delay(QStringLiteral("controller"), QStringLiteral("25ms")),
                 qPrintable(m_lab->error()));
        const double reference = sftp();
        const auto connection = connectionTo(QStringLiteral("n0"));
        const double there = push(*connection);
        QVERIFY(m_lab->heal(QStringLiteral("controller")));
        qInfo("with 25 ms each way: sftp %.0f Mbit/s, pushed %.0f", reference / 1e6, there / 1e6);
        QVERIFY(reference > 0);
        QVERIFY2(there >= 0.6 * reference, "pushing is slower than it has to be");
    }

    // E10
    void tellsTheRateOfEachHop() {
        QVERIFY(m_lab->heal());
        const double direct = push(*connectionTo(QStringLiteral("n0")));
        const double behind = push(*connectionTo(QStringLiteral("n1")));
        qInfo("all on one machine: %.0f MB/s, through a jump host %.0f", direct / 8e6,
              behind / 8e6);
        QVERIFY(direct > 0 && behind > 0);
    }

private:
    std::unique_ptr<Connection> connectionTo(const QString& name) {
        Destination host;
        host.host = name;
        auto connection = m_client->connectionTo(host);
        const Status status = open(*connection);
        if (!status)
            qWarning("%s", qPrintable(textOf(status)));
        return connection;
    }

    /// Bits a second of OpenSSH's own program, for 100 MB.
    double sftp() {
        const QString file = m_lab->home() + QStringLiteral("/hundred");
        QFile out(file);
        if (!out.open(QIODevice::WriteOnly) || !out.resize(100 << 20))
            return 0;
        QElapsedTimer took;
        took.start();
        const support::Ended ended = m_lab->onController(
            {QStringLiteral("sftp"), QStringLiteral("-q"), QStringLiteral("-F"), m_lab->sshConfig(),
             QStringLiteral("-b"), QStringLiteral("-"), QStringLiteral("n0")},
            "put " + file.toUtf8() + " /dev/null\n", 120'000);
        if (ended.exitCode != 0)
            qWarning("%s", ended.err.constData());
        return ended.exitCode == 0
                   ? static_cast<double>(100 << 20) * 8e9 / static_cast<double>(took.nsecsElapsed())
                   : 0;
    }

    /// Bits a second.
    double iperf() {
        const auto server = m_lab->startOnHost(QStringLiteral("n0"),
                                               {QStringLiteral("iperf3"), QStringLiteral("-s")});
        double best = 0;
        const auto measure = [&] {
            const support::Ended ended = m_lab->onController(
                {QStringLiteral("iperf3"), QStringLiteral("-J"), QStringLiteral("-t"),
                 QStringLiteral("4"), QStringLiteral("-c"),
                 m_lab->sshAddress(QStringLiteral("n0"))});
            best = QJsonDocument::fromJson(ended.out)
                       .object()[QStringLiteral("end")]
                       .toObject()[QStringLiteral("sum_received")]
                       .toObject()[QStringLiteral("bits_per_second")]
                       .toDouble();
            return best > 0;
        };
        (void)QTest::qWaitFor(measure, 10'000); // the server takes a moment
        server->kill();
        server->waitForFinished(5000);
        return best;
    }

    static double push(Connection& connection) {
        constexpr qint64 size = 200 << 20;
        constexpr qint64 ahead = 4 << 20;
        const auto channel = connection.exec("exec /bin/sh");
        Said said;
        collect(*channel, said);
        channel->write("echo ready; exec cat >/dev/null\n");
        (void)QTest::qWaitFor([&] { return said.out == "ready\n"; }, 10'000);
        const QByteArray piece(1 << 20, 'x');
        QElapsedTimer took;
        took.start();
        qint64 sent = 0;
        const auto more = [&] {
            for (; sent < size && channel->bytesToWrite() < ahead; sent += piece.size())
                channel->write(piece);
            if (sent >= size)
                channel->closeWrite();
        };
        QObject::connect(channel.get(), &Channel::written, channel.get(), more);
        more();
        if (!QTest::qWaitFor([&] { return said.end.has_value(); }, 120'000))
            return 0;
        return static_cast<double>(size) * 8e9 / static_cast<double>(took.nsecsElapsed());
    }

    static double fetch(Connection& connection) {
        constexpr qint64 size = 100 << 20;
        const auto channel = connection.exec("exec /bin/sh");
        qint64 got = 0;
        QElapsedTimer took;
        took.start();
        QObject::connect(channel.get(), &Channel::received, channel.get(),
                         [&](const QByteArray& bytes) { got += bytes.size(); });
        channel->write("exec head -c 104857600 /dev/zero\n");
        if (!QTest::qWaitFor([&] { return got == size; }, 120'000))
            return 0;
        return static_cast<double>(size) * 8e9 / static_cast<double>(took.nsecsElapsed());
    }

    std::unique_ptr<Lab> m_lab;
    ScriptedPrompter m_prompter;
    std::unique_ptr<SshClient> m_client;
};

QTEST_GUILESS_MAIN(TestThroughput)
#include "tst_throughput.moc"
