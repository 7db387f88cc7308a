// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// The first push of the bundle to eight hosts over a link of 1 Gbit/s with 10 ms delay, against
// what iperf3 carries over it.
#include "core/remote/ssh_host.h"
#include "core/ssh/ssh_client.h"
#include "tests/support/lab.h"

#include <QElapsedTimer>
#include <QJsonDocument>
#include <QJsonObject>
#include <QtTest>

using namespace lockstep;
using namespace lockstep::remote;
using support::Lab;

class TestPush : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        LOCKSTEP_NEEDS_LAB();
        m_lab = std::make_unique<Lab>(Lab::manyHosts(kHosts));
        QVERIFY2(m_lab->isUp(), qPrintable(m_lab->error()));
        QVERIFY2(m_lab->rate(u"controller"_qs, u"1gbit"_qs) &&
                     m_lab->delay(u"controller"_qs, u"10ms"_qs),
                 qPrintable(m_lab->error()));
        QVERIFY(m_lab->enterNetwork());
    }
    void cleanupTestCase() {
        if (m_lab)
            m_lab->leaveNetwork();
    }

    void reachesSixtyPercentOfIperf() {
        const double reference = iperf();
        QVERIFY(reference > 0);
        const auto bundle = readBundle(QStringLiteral(LOCKSTEP_BIN_DIR "/bundle"));
        QVERIFY(bundle.ok());
        ssh::SshOptions options;
        options.resolve.configFile = m_lab->sshConfig();
        ssh::SshClient client(options, nullptr);
        std::vector<std::unique_ptr<SshHost>> hosts;
        QElapsedTimer clock;
        clock.start();
        qint64 first = 0; ///< when the first byte of a bundle left, in ns
        qint64 last = 0;  ///< when the last one did
        int done = 0;
        QStringList wrong;
        for (int i = 0; i < kHosts; ++i) {
            ssh::Destination destination;
            destination.host = u"n%1"_qs.arg(i);
            hosts.push_back(std::make_unique<SshHost>(client.connectionTo(destination), *bundle));
            connect(hosts.back().get(), &Host::stageChanged, this,
                    [&](HostStage stage, std::int64_t bytes, std::int64_t total) {
                        if (stage != HostStage::Deploying || total == 0)
                            return;
                        if (first == 0)
                            first = clock.nsecsElapsed();
                        if (bytes == total)
                            last = clock.nsecsElapsed();
                    });
            hosts.back()->deploy([&](const Result<QString>& version) {
                ++done;
                if (!version)
                    wrong += QString::fromStdString(describe(version.error()));
            });
        }
        QTimer wake;
        wake.start(100);
        while (done < kHosts && clock.elapsed() < 100'000)
            QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong.join(u'\n')));
        QCOMPARE(done, kHosts);
        const double bits = 8.0 * kHosts * static_cast<double>(bundle->packedSize);
        const double rate = bits * 1e9 / static_cast<double>(last - first);
        qInfo("iperf3 %.0f Mbit/s, pushed %.0f Mbit/s; all ready after %.1f s", reference / 1e6,
              rate / 1e6, static_cast<double>(clock.elapsed()) / 1e3);
        QVERIFY2(rate >= 0.6 * reference, "pushing is slower than it has to be");
    }

private:
    static constexpr int kHosts = 8;

    /// Bits a second.
    double iperf() {
        const auto server = m_lab->startOnHost(u"n0"_qs, {u"iperf3"_qs, u"-s"_qs});
        double best = 0;
        const auto measure = [&] {
            const support::Ended ended = m_lab->onController(
                {u"iperf3"_qs, u"-J"_qs, u"-t"_qs, u"4"_qs, u"-c"_qs, m_lab->sshAddress(u"n0"_qs)});
            best = QJsonDocument::fromJson(ended.out)
                       .object()[u"end"_qs]
                       .toObject()[u"sum_received"_qs]
                       .toObject()[u"bits_per_second"_qs]
                       .toDouble();
            return best > 0;
        };
        (void)QTest::qWaitFor(measure, 10'000); // the server takes a moment
        server->kill();
        server->waitForFinished(5000);
        return best;
    }

    std::unique_ptr<Lab> m_lab;
};

QTEST_GUILESS_MAIN(TestPush)
#include "tst_push.moc"
