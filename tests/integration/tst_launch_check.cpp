// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// A launch checks hosts with real sshds by itself: errors refuse it, of warnings a person is asked.
#include "tests/support/lab.h"

#include <QDir>
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QtTest>

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
                     ended.err.contains("python3"),
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
