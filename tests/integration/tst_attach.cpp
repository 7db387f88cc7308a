// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// kill -9 of lockstepctl and of the desktop at random moments, then attach: nothing is lost and
// nothing is doubled.
#include "core/metrics/csv.h"
#include "core/run/run_folder.h"
#include "tests/integration/harness.h"

#include <QDir>
#include <QFile>
#include <QtTest>

#include <csignal>
#include <random>

using namespace lockstep;
using namespace lockstep::integration;

namespace {

QByteArray bytesOf(const QString& path) {
    QFile file(path);
    if (!file.exists())
        return {}; // as long as nothing was written
    return file.open(QIODevice::ReadOnly) ? file.readAll()
                                          : QByteArray("unreadable: " + path.toUtf8());
}

/// The rows of a CSV as (column → value); no value of ours holds a comma or a quote.
QList<QMap<QString, QString>> rowsOf(const QByteArray& csv) {
    QList<QMap<QString, QString>> rows;
    const QStringList lines = QString::fromUtf8(csv).split('\n', Qt::SkipEmptyParts);
    const QStringList columns = lines.value(0).split(',');
    for (const QString& line : lines.mid(1)) {
        QMap<QString, QString> row;
        const QStringList cells = line.split(',');
        for (qsizetype i = 0; i < columns.size(); ++i)
            row[columns[i]] = cells.value(i);
        rows += row;
    }
    return rows;
}

bool isTime(const QString& column) {
    return column == "time" || column == "seconds" || column.contains("_ms");
}

/// Epoch rows without what is a time, for comparison with another run.
QList<QMap<QString, QString>> epochRows(const QByteArray& csv) {
    QList<QMap<QString, QString>> epochs;
    for (QMap<QString, QString> row : rowsOf(csv)) {
        if (row["kind"] != "epoch")
            continue;
        for (const QString& column : row.keys())
            if (isTime(column))
                row.remove(column);
        epochs += row;
    }
    return epochs;
}

/// Empty where the step rows of each of `tasks` cover 1..steps once.
QString gapsIn(const QByteArray& csv, int tasks, qint64 steps) {
    QMap<QString, qint64> covered; // up to this step
    for (const auto& row : rowsOf(csv)) {
        if (row["kind"] != "step")
            continue;
        qint64& last = covered[row["task"]];
        if (row["first_step"].toLongLong() != last + 1)
            return row["task"] + ": a row begins with " + row["first_step"] + " after step " +
                   QString::number(last);
        last = row["last_step"].toLongLong();
    }
    if (covered.size() != tasks)
        return QString("%1 tasks").arg(covered.size());
    for (auto it = covered.begin(); it != covered.end(); ++it)
        if (it.value() != steps)
            return it.key() + ": the last step is " + QString::number(it.value());
    return {};
}

} // namespace

class TestAttach : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        m_random.seed(printedSeed());
        const Outcome outcome = m_machine.ctl(arguments());
        QVERIFY2(outcome.exitCode == 0, qPrintable(outcome.all()));
        const Outcome csv =
            m_machine.ctl({"metrics", "last", "--csv", m_machine.path("plain.csv")});
        QVERIFY2(csv.exitCode == 0, qPrintable(csv.all()));
        QVERIFY(!newRun().isEmpty()); // seen, from now on
        m_plain = bytesOf(m_machine.path("plain.csv"));
        m_steps = 0;
        for (const auto& row : rowsOf(m_plain))
            m_steps = std::max(m_steps, row["last_step"].toLongLong());
        QVERIFY(m_steps > 100);
        QCOMPARE(gapsIn(m_plain, kWorkers, m_steps), QString());
    }

    void attachingContinues_data() {
        QTest::addColumn<bool>("byDesktop");
        QTest::addColumn<QList<int>>("moments"); // ms of life of each program that is killed
        const int kills = qEnvironmentVariableIntValue("LOCKSTEP_KILLS");
        std::uniform_int_distribution<int> life(50, 2000);
        for (int i = 0; i < (kills > 0 ? kills : 4); ++i) {
            QList<int> moments{life(m_random)};
            if (i % 2)
                moments += {life(m_random) / 2, life(m_random) / 2};
            const bool byDesktop = hasDesktop() && i % 4 >= 2;
            QTest::addRow("%d: %d kills of %s, the first after %d ms", i, int(moments.size()),
                          byDesktop ? "the desktop" : "lockstepctl", moments[0])
                << byDesktop << moments;
        }
    }
    void attachingContinues() {
        QFETCH(bool, byDesktop);
        QFETCH(QList<int>, moments);
        QString run;
        for (const int moment : moments) {
            auto ctl = byDesktop ? startDesktop(run.isEmpty())
                                 : m_machine.startCtl(run.isEmpty() ? arguments()
                                                                    : QStringList{"attach", run});
            if (run.isEmpty())
                QVERIFY2(becomesTrue([&] { return !(run = newRun()).isEmpty(); }, 10000),
                         "no run appeared");
            QTest::qWait(moment); // the random moment
            ctl->kill();
            Machine::finish(*ctl, 5000);
        }
        const Outcome outcome = m_machine.ctl({"attach", run, "--json"});
        // Killed before the workers were started, there is nothing to continue, and it says so.
        if (outcome.exitCode != 0) {
            QCOMPARE(outcome.exitCode, 1);
            QVERIFY2(!QString::fromUtf8(
                          bytesOf(m_machine.hostRunFolder(run) + "/worker-0/1/events.jsonl"))
                          .contains("\"event\":\"planned\""),
                     qPrintable(outcome.all()));
            QVERIFY2(m_machine.isQuiet(), qPrintable(m_machine.processesText()));
            return;
        }
        QCOMPARE(outcome.json()["status"].toString(), "finished");
        const QString file = m_machine.path("attached.csv");
        const Outcome exported = m_machine.ctl({"metrics", run, "--csv", file});
        QVERIFY2(exported.exitCode == 0, qPrintable(exported.all()));
        const QByteArray csv = bytesOf(file);

        const auto own = run::readEventsFiles(m_machine.hostRunFolder(run).toStdString());
        QVERIFY(own.ok());
        QCOMPARE(own->size(), std::size_t{kWorkers});
        QVERIFY(csv == QByteArray::fromStdString(metrics::toCsv(*own).text));
        QVERIFY(epochRows(csv) == epochRows(m_plain));
        QCOMPARE(gapsIn(csv, kWorkers, m_steps), QString());
        compareCopies(run);
        QVERIFY2(m_machine.isQuiet(), qPrintable(m_machine.processesText()));
    }

    void aStoppedRunLeavesNoProcess() {
        const Outcome detached = m_machine.ctl(arguments({"fit.epochs=100000"}) << "--detach");
        QVERIFY2(detached.exitCode == 0, qPrintable(detached.all()));
        QCOMPARE(detached.json()["status"].toString(), "started");
        const QString run = detached.json()["run"].toString();
        QVERIFY(m_machine.worker("worker:1").pid > 0);
        const Outcome stopped = m_machine.ctl({"stop", run});
        QVERIFY2(stopped.exitCode == 0, qPrintable(stopped.all()));
        QVERIFY2(m_machine.isQuiet(500), qPrintable(m_machine.processesText()));
        const Outcome attached = m_machine.ctl({"attach", run, "--json"});
        QCOMPARE(attached.exitCode, 1);
        QCOMPARE(attached.json()["status"].toString(), "stopped");
    }

private:
    static constexpr int kWorkers = 2;

    QStringList arguments(const QStringList& settings = {"fit.epochs=100"}) const {
        QStringList words{"run", exampleJob("digits"), "--local", QString::number(kWorkers),
                          "--json"};
        for (const QString& setting : settings)
            words << "--set" << setting;
        return words;
    }

    static bool hasDesktop() { return QFileInfo::exists(LOCKSTEP_BIN_DIR "/lockstep"); }

    /// With the job of arguments(). Started again, it attaches to the run that is at work.
    std::unique_ptr<QProcess> startDesktop(bool launches) const {
        const QString data = QFileInfo(exampleJob("digits")).path() + "/digits.csv.gz";
        QByteArray job = bytesOf(exampleJob("digits"));
        job.replace("\"digits.csv.gz\"", "\"" + data.toUtf8() + "\"");
        job.replace("\"epochs\": 30", "\"epochs\": 100");
        QStringList words{m_machine.cluster(kWorkers), m_machine.write("desktop.job.json", job)};
        if (launches)
            words += "--launch";
        return m_machine.startDesktop(words);
    }

    /// The run whose record is newer than all that were seen before.
    QString newRun() {
        const QStringList runs = QDir(m_machine.path("data/lockstep/runs"))
                                     .entryList(QDir::Dirs | QDir::NoDotAndDotDot, QDir::Name);
        for (const QString& run : runs) {
            if (m_seen.contains(run) ||
                !QFileInfo::exists(m_machine.controlRunFolder(run) + "/run.json"))
                continue;
            m_seen += run;
            return run;
        }
        return {};
    }

    /// Every file that the control side copied is, byte for byte, the worker's own.
    void compareCopies(const QString& run) {
        qsizetype compared = 0;
        for (int worker = 0; worker < kWorkers; ++worker) {
            for (const char* name : {"events.jsonl", "stdout.log", "stderr.log"}) {
                const QString file = QString("/worker-%1/1/%2").arg(worker).arg(name);
                const QByteArray own = bytesOf(m_machine.hostRunFolder(run) + file);
                QVERIFY2(bytesOf(m_machine.controlRunFolder(run) + file) == own, qPrintable(file));
                compared += own.size();
            }
        }
        QVERIFY(compared > 10000);
    }

    Machine m_machine;
    std::mt19937 m_random;
    QByteArray m_plain;
    qint64 m_steps = 0;
    QStringList m_seen;
};

QTEST_GUILESS_MAIN(TestAttach)
#include "tst_attach.moc"
