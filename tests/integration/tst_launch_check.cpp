// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// A launch checks hosts with real sshds by itself: errors refuse it, of warnings a person is asked.
#include "tests/support/lab.h"

#include <QDir>
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QtTest>

#include <cmath>

using lockstep::support::Ended;
using lockstep::support::Lab;

namespace {

const QString kCtl = QStringLiteral(LOCKSTEP_BIN_DIR "/lockstepctl");
const QString kJob =
    QStringLiteral(LOCKSTEP_SOURCE_DIR "/resources/examples/digits/digits.job.json");
const char* const kLingers = "KillUserProcesses";

} // namespace

class TestLaunchCheck : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        LOCKSTEP_NEEDS_LAB();
        m_lab = std::make_unique<Lab>(QStringList{"n0", "n1"});
        QVERIFY2(m_lab->isUp(), qPrintable(m_lab->error()));
        m_cluster = m_lab->clusterFile({"n0", "n1"});
    }

    // B10
    void refusesWhereAPortIsTaken() {
        const auto taker = m_lab->startOnHost(
            "n1", {"setpriv", "--reuid", "bash", "--regid", "bash", "--clear-groups", "--pdeathsig",
                   "KILL", "python3", "-m", "http.server", "2222"});
        QTRY_VERIFY(m_lab->onHost("n1", {"ss", "-ltn"}).out.contains(":2222"));
        const Ended ended = run({"--yes", "--json"});
        taker->kill();
        QVERIFY(taker->waitForFinished(5000));
        QCOMPARE(ended.exitCode, 2);
        QVERIFY2(ended.err.contains("error: ") && ended.err.contains("worker:1") &&
                     ended.err.contains("python3") && ended.err.contains("2223 is free there"),
                 ended.err.constData());
        const QJsonObject last = QJsonDocument::fromJson(ended.out.trimmed()).object();
        QVERIFY2(last["failure"].toObject()["reason"].toString().contains("python3"),
                 ended.out.constData());
        // Nothing of the run is anywhere.
        QVERIFY(QDir(m_lab->home() + "/.local/share/lockstep/runs")
                    .entryList(QDir::Dirs | QDir::NoDotAndDotDot)
                    .isEmpty());
        const Ended left = m_lab->onHost("n1", {"find", "/home/bash", "-path", "*/runs/*"});
        QVERIFY2(left.out.isEmpty(), left.out.constData());
    }

    // B2
    void trainsThroughAFirewallThatAllowsOnlyTheListedPort() {
        const QByteArray rules =
            "table inet wall { chain input { type filter hook input priority 0;"
            " policy accept; iifname \"eth1\" ct state new tcp dport != 2222"
            " drop; iifname \"eth1\" meta l4proto udp drop; }; }\n";
        for (const QString& host : {QStringLiteral("n0"), QStringLiteral("n1")}) {
            const Ended set = m_lab->onHost(host, {"nft", "-f", "-"}, rules);
            QVERIFY2(set.exitCode == 0, set.err.constData());
        }
        // The wall stands: another port is not reached.
        const auto other = m_lab->startOnHost("n1", {"python3", "-m", "http.server", "4444"});
        QTRY_VERIFY(m_lab->onHost("n1", {"ss", "-ltn"}).out.contains(":4444"));
        QVERIFY(m_lab
                    ->onHost("n0", {"timeout", "1", "bash", "-c",
                                    "exec 3<>/dev/tcp/" + m_lab->dataAddress("n1") + "/4444"})
                    .exitCode != 0);
        other->kill();
        QVERIFY(other->waitForFinished(5000));
        const Ended ended = run({"--yes"});
        for (const QString& host : {QStringLiteral("n0"), QStringLiteral("n1")})
            QCOMPARE(m_lab->onHost(host, {"nft", "delete", "table", "inet", "wall"}).exitCode, 0);
        QVERIFY2(ended.exitCode == 0, ended.err.constData());
    }

    // L3
    void writesTimesInUtcWhateverTheZoneOfAHost() {
        QByteArray cluster = R"({"format": "lockstep-cluster", "version": 1, "name": "zones",
            "workers": [)";
        for (const auto& [host, zone] :
             {std::pair("n0", "Asia/Shanghai"), std::pair("n1", "America/New_York")})
            cluster +=
                QStringLiteral(R"(%1{"ssh": "%2", "address": "%3:2222", "env": {"TZ": "%4"}})")
                    .arg(host == QByteArray("n0") ? "" : ", ", host, m_lab->dataAddress(host), zone)
                    .toUtf8();
        QFile file(m_lab->home() + "/zones.cluster.json");
        QVERIFY(file.open(QIODevice::WriteOnly) && file.write(cluster + "]}") > 0);
        file.close();
        const Ended ended = m_lab->onController({kCtl, "run", kJob, "--cluster", file.fileName(),
                                                 "--yes", "--set", "fit.epochs=1", "--json"},
                                                {}, 120'000);
        QVERIFY2(ended.exitCode == 0, ended.err.constData());
        const QString run = QJsonDocument::fromJson(ended.out.trimmed().split('\n').last())
                                .object()["run"]
                                .toString();
        for (const char* task : {"worker-0", "worker-1"}) {
            QFile events(m_lab->home() + "/.local/share/lockstep/runs/" + run + '/' + task +
                         "/1/events.jsonl");
            QVERIFY(events.open(QIODevice::ReadOnly));
            const double time = QJsonDocument::fromJson(events.readLine()).object()["t"].toDouble();
            const auto now = static_cast<double>(QDateTime::currentSecsSinceEpoch());
            QVERIFY2(std::abs(now - time) < 300, qPrintable(QString::number(now - time)));
        }
    }

    void refusesWarningsWhereNobodyCanBeAsked() {
        warn();
        const Ended ended = run({});
        QCOMPARE(ended.exitCode, 2);
        QVERIFY2(ended.err.contains(kLingers) && ended.err.contains("--yes"),
                 ended.err.constData());
        const Ended told = run({"--yes"});
        QCOMPARE(told.exitCode, 0);
        QVERIFY2(told.err.contains(kLingers), told.err.constData());
        const Ended unchecked = run({"--no-check"});
        QCOMPARE(unchecked.exitCode, 0);
        QVERIFY2(!unchecked.err.contains(kLingers), unchecked.err.constData());
    }

    void asksAtATerminal_data() {
        QTest::addColumn<QByteArray>("reply");
        QTest::addColumn<int>("exitCode");
        QTest::newRow("yes") << QByteArray("yes\n") << 0;
        QTest::newRow("no") << QByteArray("no\n") << 2;
    }
    void asksAtATerminal() {
        QFETCH(QByteArray, reply);
        QFETCH(int, exitCode);
        warn();
        const QString command =
            QStringList{kCtl, "run", kJob, "--cluster", m_cluster, "--set", "fit.epochs=2"}.join(
                u' ');
        const Ended ended =
            m_lab->onController({"script", "-qec", command, "/dev/null"}, reply, 120'000);
        QVERIFY2(ended.out.contains("Launch in spite of this? (yes/no)"), ended.out.constData());
        QCOMPARE(ended.exitCode, exitCode);
    }

private:
    /// n1 would end a run with the connection.
    void warn() {
        QVERIFY(QDir().mkpath(m_lab->hostPath("n1", "/etc/systemd")));
        QFile file(m_lab->hostPath("n1", "/etc/systemd/logind.conf"));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("[Login]\nKillUserProcesses=yes\n");
    }

    Ended run(const QStringList& more) {
        return m_lab->onController(QStringList{"setsid", "-w", kCtl, "run", kJob, "--cluster",
                                               m_cluster, "--set", "fit.epochs=2"}
                                       << more,
                                   {}, 120'000);
    }

    std::unique_ptr<Lab> m_lab;
    QString m_cluster;
};

QTEST_GUILESS_MAIN(TestLaunchCheck)
#include "tst_launch_check.moc"
