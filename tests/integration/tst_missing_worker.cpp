// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// Workers that never come: the others end at the deadline, or at once, and name who is missing.
#include "core/base/json.h"
#include "core/base/json_reader.h"
#include "tests/integration/harness.h"

#include <QElapsedTimer>
#include <QFile>
#include <QtTest>

#include <array>

using namespace lockstep;
using namespace lockstep::integration;

class TestMissingWorker : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void threeOfFourStartedByHandNameTheFourth() {
        const QString job = patientJob(3);
        const std::vector<int> ports = freePorts(4);
        std::array<std::unique_ptr<QProcess>, 3> workers;
        QElapsedTimer timer;
        timer.start();
        for (std::size_t i = 0; i < workers.size(); ++i)
            workers[i] = m_machine.startWorker({"train", "--job", job},
                                               Machine::tfConfig(ports, static_cast<int>(i)));
        for (const auto& worker : workers) {
            const Outcome outcome = Machine::finish(*worker, 20000);
            QCOMPARE(outcome.exitCode, 1);
            QVERIFY2(outcome.err.contains("worker:3"), qPrintable(outcome.all()));
            QVERIFY2(outcome.err.contains(":" + QString::number(ports[3])),
                     qPrintable(outcome.all()));
            for (const char* present : {"worker:0 ", "worker:1 ", "worker:2 "})
                QVERIFY2(!outcome.err.contains(QString(present) + "has not"),
                         qPrintable(outcome.all()));
        }
        const auto took = timer.elapsed();
        QVERIFY2(took >= 2900 && took <= 8000, qPrintable(QString::number(took)));
    }

    void allFourStartedByHandTrain() {
        const QString job = patientJob(30);
        const std::vector<int> ports = freePorts(4);
        std::array<std::unique_ptr<QProcess>, 4> workers;
        for (std::size_t i = workers.size(); i-- > 0;) // the chief last
            workers[i] = m_machine.startWorker({"train", "--job", job},
                                               Machine::tfConfig(ports, static_cast<int>(i)));
        for (const auto& worker : workers) {
            const Outcome outcome = Machine::finish(*worker, 60000);
            QVERIFY2(outcome.exitCode == 0, qPrintable(outcome.all()));
        }
    }

    void aWorkerWithoutTfConfigSaysSo() {
        const auto worker = m_machine.startWorker({"train", "--job", patientJob(3)}, "");
        const Outcome outcome = Machine::finish(*worker, 20000);
        QCOMPARE(outcome.exitCode, 2);
        QVERIFY2(outcome.err.contains("TF_CONFIG"), qPrintable(outcome.all()));
    }

    void aWorkerThatDisagreesWithTheLauncherDoesNotTrainAlone() {
        const std::vector<int> ports = freePorts(1);
        const auto worker =
            m_machine.startWorker({"train", "--job", patientJob(3), "--expect-workers", "2"},
                                  Machine::tfConfig(ports, 0));
        const Outcome outcome = Machine::finish(*worker, 20000);
        QCOMPARE(outcome.exitCode, 2);
        QVERIFY2(outcome.err.contains("2") && outcome.err.contains("TF_CONFIG"),
                 qPrintable(outcome.all()));
    }

    void aLaunchWhoseFourthWorkerCannotBeExecutedNamesIt() {
        // Stands in for the worker program: the same, but worker:3 is told to execute what is none.
        const QByteArray script =
            "#!/bin/sh\n"
            "real=" LOCKSTEP_BIN_DIR "/lockstep-worker\n"
            "[ \"$1\" = supervise ] || exec \"$real\" \"$@\"\n"
            "read -r line\n"
            "case \"$line\" in *'\"worker:3\"'*)\n"
            "  line=$(printf '%s' \"$line\" |\n"
            "    sed 's|\"program\": *\"[^\"]*\"|\"program\":\"/no/such/worker\"|');;\n"
            "esac\n"
            "printf '%s\\n' \"$line\" | \"$real\" \"$@\"\n";
        const QString program = m_machine.write("worker.sh", script);
        QFile::setPermissions(program, QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
        m_machine.setEnvironment("LOCKSTEP_WORKER", program);
        QElapsedTimer timer;
        timer.start();
        const Outcome outcome =
            m_machine.ctl({"run", exampleJob("digits"), "--local", "4", "--json", "--set",
                           "communication.join_timeout_seconds=10"});
        QCOMPARE(outcome.exitCode, 1);
        QVERIFY2(timer.elapsed() < 15000, qPrintable(QString::number(timer.elapsed())));
        QVERIFY2(outcome.json()["failure"].toObject()["task"].toString() == "worker:3",
                 qPrintable(outcome.all()));
        QVERIFY2(outcome.err.contains("worker:3"), qPrintable(outcome.all()));
    }

    void cleanup() {
        QVERIFY2(m_machine.isQuiet(), qPrintable(m_machine.processesText()));
        QCOMPARE(m_machine.halfWrittenFiles().join(u' '), QString());
    }

private:
    /// The iris job with this join deadline, its data beside it.
    QString patientJob(int joinSeconds) const {
        auto job = json::parseFile(exampleJob("iris").toStdString());
        if (!job || !json::setPath(*job, "communication.join_timeout_seconds", joinSeconds))
            qFatal("the iris job cannot be read");
        QFile data(LOCKSTEP_SOURCE_DIR "/resources/examples/iris/iris.csv");
        if (!data.open(QIODevice::ReadOnly))
            qFatal("the iris data cannot be read");
        m_machine.write("iris.csv", data.readAll());
        return m_machine.write("iris.job.json", QByteArray::fromStdString(json::dumpPretty(*job)));
    }

    Machine m_machine;
};

QTEST_GUILESS_MAIN(TestMissingWorker)
#include "tst_missing_worker.moc"
