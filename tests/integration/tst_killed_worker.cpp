// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// kill -9 of one of three workers at random moments: within five seconds the run has failed by that
// worker's name, and no process is left.
#include "tests/integration/harness.h"

#include <QElapsedTimer>
#include <QtTest>

#include <csignal>
#include <random>

using namespace lockstep::integration;

class TestKilledWorker : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        m_random.seed(printedSeed());
        QElapsedTimer timer;
        timer.start();
        const Outcome outcome = m_machine.ctl(arguments());
        QVERIFY2(outcome.exitCode == 0, qPrintable(outcome.all()));
        m_undisturbed = static_cast<int>(timer.elapsed());
        qInfo("undisturbed, the run takes %d ms", m_undisturbed);
    }

    void aKilledWorkerEndsTheRunByName_data() {
        QTest::addColumn<int>("victim");
        QTest::addColumn<double>("part"); // of the time that the run takes
        const int moments = qEnvironmentVariableIntValue("LOCKSTEP_KILLS");
        std::uniform_real_distribution<double> anywhere(0, 0.9);
        for (int i = 0; i < (moments > 0 ? moments : 4); ++i) {
            const double part = anywhere(m_random);
            QTest::addRow("worker %d at %.0f %%", i % 3, part * 100) << i % 3 << part;
        }
    }
    void aKilledWorkerEndsTheRunByName() {
        QFETCH(int, victim);
        QFETCH(double, part);
        const QString task = "worker:" + QString::number(victim);
        // A moment after which the worker was through already proves nothing: earlier then.
        for (int attempt = 0; attempt < 5; ++attempt, part *= 0.8) {
            const auto ctl = m_machine.startCtl(arguments());
            QElapsedTimer sinceStart;
            sinceStart.start();
            pid_t pid = 0;
            QVERIFY(becomesTrue([&] { return (pid = m_machine.worker(task).pid) > 0; }, 10000));
            const auto rest =
                static_cast<int>(part * m_undisturbed) - static_cast<int>(sinceStart.elapsed());
            if (rest > 0)
                QTest::qWait(rest); // the random moment
            const bool killed = m_machine.worker(task).pid == pid && ::kill(pid, SIGKILL) == 0;
            QElapsedTimer sinceKill;
            sinceKill.start();
            const Outcome outcome = Machine::finish(*ctl, 30000);
            const auto took = sinceKill.elapsed();
            QVERIFY2(m_machine.isQuiet(), qPrintable(m_machine.processesText()));
            if (!killed || outcome.exitCode == 0)
                continue;
            QVERIFY2(took <= 5000, qPrintable(QString::number(took) + " ms\n" + outcome.all()));
            QCOMPARE(outcome.exitCode, 1);
            QCOMPARE(outcome.json()["status"].toString(), "failed");
            const QJsonObject failure = outcome.json()["failure"].toObject();
            QVERIFY2(failure["task"].toString() == task, qPrintable(outcome.all()));
            QVERIFY2(!failure["reason"].toString().isEmpty(), qPrintable(outcome.all()));
            QVERIFY2(!failure["host"].toString().isEmpty(), qPrintable(outcome.all()));
            QVERIFY2(outcome.err.contains(task), qPrintable(outcome.all()));
            QCOMPARE(m_machine.halfWrittenFiles().join(u' '), QString());
            return;
        }
        QFAIL("the worker was never there to be killed");
    }

    void aFrozenWorkerEndsTheRunByName() {
        const auto ctl = m_machine.startCtl(arguments({"fit.epochs=100000"}));
        QVERIFY(becomesTrue([&] { return m_machine.worker("worker:2").pid > 0; }, 10000));
        QTest::qWait(1500); // into the training
        const pid_t pid = m_machine.worker("worker:2").pid;
        QVERIFY(pid > 0 && ::kill(pid, SIGSTOP) == 0);
        const Outcome outcome = Machine::finish(*ctl, 30000);
        QCOMPARE(outcome.exitCode, 1);
        const QJsonObject failure = outcome.json()["failure"].toObject();
        QVERIFY2(failure["task"].toString() == "worker:2", qPrintable(outcome.all()));
        QVERIFY2(m_machine.isQuiet(), qPrintable(m_machine.processesText()));
    }

private:
    QStringList arguments(const QStringList& settings = {"fit.epochs=40"}) const {
        QStringList words{"run", exampleJob("digits"), "--local", "3", "--json"};
        for (const QString& setting : settings)
            words << "--set" << setting;
        return words;
    }

    Machine m_machine;
    std::mt19937 m_random;
    int m_undisturbed = 0;
};

QTEST_GUILESS_MAIN(TestKilledWorker)
#include "tst_killed_worker.moc"
