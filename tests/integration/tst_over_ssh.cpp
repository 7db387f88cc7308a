// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// The same run on hosts with real sshds: behind a jump host, with fish and noisy start-up files, on
// Debian 11, on another port.
#include "core/metrics/csv.h"
#include "tests/support/lab.h"
#include "tests/support/sanitizer.h"

#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QtTest>

#include <algorithm>

using lockstep::support::Ended;
using lockstep::support::Lab;

namespace {

const QString kCtl = QStringLiteral(LOCKSTEP_BIN_DIR "/lockstepctl");
const QString kDesktop = QStringLiteral(LOCKSTEP_BIN_DIR "/lockstep");
const QString kJob =
    QStringLiteral(LOCKSTEP_SOURCE_DIR "/resources/examples/digits/digits.job.json");

/// Those of default.lab, where n2 is a Debian 11 that a sanitized helper does not run on.
const QStringList kHosts =
    lockstep::support::kIsSanitized
        ? QStringList{"gw jump", "n0", "n1 shell=fish noisy", "n2", "n3 port=2222", "n4 via=gw"}
        : QStringList();

/// What --json ends with.
QJsonObject lastLine(const QByteArray& out) {
    return QJsonDocument::fromJson(out.trimmed().split('\n').last()).object();
}

QByteArray bytesOf(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

/// Seconds that something stays away. The true 60 and 90 are run before a release.
int awaySeconds() {
    const int wanted = qEnvironmentVariableIntValue("LOCKSTEP_AWAY_SECONDS");
    return wanted > 0 ? wanted : 8;
}

/// For a run's end: it takes longer the longer something stays away, and on a busy machine.
int endDeadline() {
    return std::max(240, 6 * awaySeconds()) * 1000;
}

} // namespace

class TestOverSsh : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        LOCKSTEP_NEEDS_LAB();
        m_lab = std::make_unique<Lab>(kHosts);
        QVERIFY2(m_lab->isUp(), qPrintable(m_lab->error()));
    }

    void fourHostsTrainToTheDigestOfThisMachine() {
        QByteArray cluster = R"({"format": "lockstep-cluster", "version": 1, "name": "four",
            "workers": [)";
        for (const char* host : {"n1", "n2", "n3", "n4"}) {
            const QString name = QString::fromLatin1(host);
            cluster += QStringLiteral(R"(%1{"ssh": "%2", "address": "%3:3222"})")
                           .arg(name == "n1" ? "" : ", ", name, m_lab->dataAddress(name))
                           .toUtf8();
        }
        const QString file = m_lab->home() + "/four.cluster.json";
        QFile out(file);
        QVERIFY(out.open(QIODevice::WriteOnly) && out.write(cluster + "]}") > 0);
        out.close();
        const QJsonObject far = run({"--cluster", file});
        const QJsonObject near = run({"--local", "4"});
        const QJsonObject digests = far["digest"].toObject();
        QCOMPARE(digests.size(), 4);
        for (const QString& task : digests.keys()) {
            QCOMPARE(digests[task].toString().size(), 64);
            QCOMPARE(digests[task], near["digest"].toObject()[task]);
        }
        // Nothing of ours runs there any more.
        for (const char* host : {"n1", "n2", "n3", "n4"}) {
            const QByteArray seen = argumentsOn(host);
            QVERIFY2(!seen.contains("lockstep"), seen.constData());
        }
    }

    void argumentsOnTheHostsShowNoContents() {
        QDir(runsFolder()).removeRecursively();
        const auto running = m_lab->startOnController(
            {kCtl, "run", kJob, "--yes", "--cluster", m_lab->home() + "/four.cluster.json", "--set",
             "threads_per_worker=1", "--set", "fit.epochs=2000"});
        const QString run = idOfARunThatTrains();
        QVERIFY(!run.isEmpty());
        const QByteArray token =
            QJsonDocument::fromJson(bytesOf(runsFolder() + '/' + run + "/spec.json"))
                .object()["secret"]
                .toString()
                .toUtf8();
        QCOMPARE(token.size(), 64);
        for (const char* host : {"n1", "n2", "n3", "n4"}) {
            const QByteArray seen = argumentsOn(host);
            QVERIFY2(seen.contains(" train "), seen.constData());
            for (const QByteArray& word : {QByteArray("\"cluster\""), QByteArray("\"secret\""),
                                           QByteArray("TF_CONFIG="), QByteArray("{"), token})
                QVERIFY2(!seen.contains(word), seen.constData());
        }
        running->terminate();
        QVERIFY(running->waitForFinished(30'000));
        QTRY_VERIFY_WITH_TIMEOUT(!argumentsOn("n1").contains("lockstep"), 30'000);
    }

    // F1, D12
    void losesNothingWhereTheControllerIsKilled() {
        const auto running = startLongRun();
        const QString run = idOfARunThatTrains();
        QVERIFY2(!run.isEmpty(), running->readAllStandardError().constData());
        running->kill();
        QVERIFY(running->waitForFinished(5000));
        // One host is away when the next one comes; the others are followed as soon as it is back.
        QVERIFY2(m_lab->drop("controller", "n3"), qPrintable(m_lab->error()));
        const auto attached = m_lab->startOnController({kCtl, "attach", run, "--json"});
        QTest::qWait(awaySeconds() * 1000);
        QCOMPARE(attached->state(), QProcess::Running);
        QVERIFY2(m_lab->heal(), qPrintable(m_lab->error()));
        endsWhole(*attached, run);
    }

    // F1
    void losesNothingWhereTheDesktopIsKilled_data() {
        QTest::addColumn<bool>("byDesktop");
        QTest::newRow("a new window") << true;
        QTest::newRow("lockstepctl attach") << false;
    }
    void losesNothingWhereTheDesktopIsKilled() {
        QFETCH(bool, byDesktop);
        if (!QFile::exists(kDesktop))
            QSKIP("The desktop is not built.");
        qputenv("QT_QPA_PLATFORM", "offscreen");
        QDir(runsFolder()).removeRecursively();
        const QString job = m_lab->home() + "/long.job.json";
        QByteArray text = bytesOf(kJob);
        text.replace("\"epochs\": 30",
                     "\"epochs\": " + QByteArray::number(300 + 60 * awaySeconds()));
        const QString data = m_lab->home() + "/digits.csv.gz";
        QVERIFY(QFile::exists(data) ||
                QFile::copy(QFileInfo(kJob).path() + "/digits.csv.gz", data));
        QFile file(job);
        QVERIFY(file.open(QIODevice::WriteOnly) && file.write(text) == text.size());
        file.close();
        const QString cluster = m_lab->home() + "/four.cluster.json";
        const auto first = m_lab->startOnController({kDesktop, cluster, job, "--launch", "--yes"});
        const QString run = idOfARunThatTrains();
        QVERIFY2(!run.isEmpty(), first->readAllStandardError().constData());
        first->kill();
        QVERIFY(first->waitForFinished(5000));
        QTest::qWait(awaySeconds() * 1000);
        for (const char* host : {"n1", "n2", "n3", "n4"})
            QVERIFY2(argumentsOn(host).contains(" train "), host); // still in mid-run
        const auto second = m_lab->startOnController(byDesktop ? QStringList{kDesktop, cluster, job}
                                                               : QStringList{kCtl, "attach", run});
        if (!byDesktop)
            return endsWhole(*second, run);
        QTRY_VERIFY_WITH_TIMEOUT(
            bytesOf(runsFolder() + '/' + run + "/run.json").contains("\"status\": \"finished\""),
            endDeadline());
        isWhole(run);
        QCOMPARE(second->state(), QProcess::Running);
        second->kill();
        QVERIFY(second->waitForFinished(5000));
    }

    // D12
    void losesNothingWhereAHostFallsSilent() {
        const auto running = startLongRun();
        const QString run = idOfARunThatTrains();
        QVERIFY(!run.isEmpty());
        QVERIFY2(m_lab->drop("controller", "n3") && m_lab->drop("n3", "controller"),
                 qPrintable(m_lab->error()));
        QTest::qWait(awaySeconds() * 1000);
        QCOMPARE(running->state(), QProcess::Running);
        QVERIFY2(m_lab->heal(), qPrintable(m_lab->error()));
        endsWhole(*running, run);
        QVERIFY2(m_said.contains("out of sight") && m_said.contains("in sight again"),
                 m_said.constData());
    }

    // A host that was restarted is not one that is out of sight.
    void tellsThatAHostWasRestarted() {
        const auto running = startLongRun();
        QVERIFY(!idOfARunThatTrains().isEmpty());
        QVERIFY2(m_lab->reboot("n3"), qPrintable(m_lab->error()));
        QVERIFY(QTest::qWaitFor([&] { return running->state() == QProcess::NotRunning; }, 60'000));
        m_said = running->readAllStandardError();
        QCOMPARE(running->exitCode(), 1);
        QVERIFY2(m_said.contains("Failed: worker:2") && m_said.contains("restarted"),
                 m_said.right(600).constData());
    }

private:
    QString runsFolder() const { return m_lab->home() + "/.local/share/lockstep/runs"; }

    /// Of all processes of a host.
    QByteArray argumentsOn(const char* host) const {
        return m_lab->onHost(QString::fromLatin1(host), {"ps", "axww", "-o", "args="}).out;
    }

    /// On four hosts, for longer than something stays away; a lost line is noticed in 3 s.
    std::unique_ptr<QProcess> startLongRun() {
        QDir(runsFolder()).removeRecursively();
        const QString config = m_lab->home() + "/quick.ssh_config";
        QFile file(config);
        if (file.open(QIODevice::WriteOnly))
            file.write("ServerAliveInterval 1\nServerAliveCountMax 2\nConnectTimeout 3\nInclude " +
                       m_lab->sshConfig().toUtf8() + '\n');
        qputenv("LOCKSTEP_SSH_CONFIG", config.toUtf8());
        return m_lab->startOnController(
            {kCtl, "run", kJob, "--yes", "--cluster", m_lab->home() + "/four.cluster.json", "--set",
             "threads_per_worker=1", "--set",
             "fit.epochs=" + QString::number(300 + 60 * awaySeconds()), "--json"});
    }

    QString idOfARunThatTrains() {
        QString id;
        const bool trains = QTest::qWaitFor(
            [&] {
                const QStringList runs =
                    QDir(runsFolder()).entryList(QDir::Dirs | QDir::NoDotAndDotDot);
                id = runs.value(0);
                return !id.isEmpty() &&
                       bytesOf(runsFolder() + '/' + id + "/worker-0/1/events.jsonl")
                           .contains("\"event\":\"steps\"");
            },
            30'000);
        return trains ? id : QString();
    }

    /// The program ends well, and nothing of the run is lost.
    void endsWhole(QProcess& program, const QString& run) {
        QVERIFY(QTest::qWaitFor([&] { return program.state() == QProcess::NotRunning; },
                                endDeadline()));
        m_said = program.readAllStandardError();
        QVERIFY2(program.exitCode() == 0, m_said.constData());
        isWhole(run);
    }

    /// Copies and CSV are those of the hosts' own files.
    void isWhole(const QString& run) {
        const QJsonObject record =
            QJsonDocument::fromJson(bytesOf(runsFolder() + '/' + run + "/run.json")).object();
        const QJsonArray tasks = record["tasks"].toArray();
        QCOMPARE(tasks.size(), 4);
        std::vector<lockstep::metrics::EventsFile> own;
        for (const auto& each : tasks) {
            const QJsonObject task = each.toObject();
            const QString host = task["host"].toString();
            for (const char* name : {"events.jsonl", "stdout.log", "stderr.log"}) {
                const QByteArray there =
                    m_lab->onHost(host, {"cat", task["run_folder"].toString() + '/' + name}).out;
                const QString copy = runsFolder() + '/' + run + '/' +
                                     task["task"].toString().replace(':', '-') + "/1/" + name;
                QVERIFY2(bytesOf(copy) == there, qPrintable(copy));
                if (name == QByteArray("events.jsonl")) {
                    QVERIFY(there.contains("\"event\":\"finished\""));
                    own.push_back({task["task"].toString().toStdString(), 1, there.toStdString()});
                }
            }
        }
        const QString csv = m_lab->home() + "/metrics.csv";
        QCOMPARE(m_lab->onController({kCtl, "metrics", run, "--csv", csv}).exitCode, 0);
        QVERIFY(bytesOf(csv) == QByteArray::fromStdString(lockstep::metrics::toCsv(own).text));
    }

    QJsonObject run(const QStringList& where) {
        const Ended ended = m_lab->onController(
            QStringList{kCtl, "run", kJob, "--yes"}
                << where
                << QStringList{"--set", "threads_per_worker=1", "--set", "fit.epochs=3", "--json"},
            {}, 120'000);
        if (ended.exitCode != 0)
            qWarning("%s%s", ended.out.constData(), ended.err.constData());
        return lastLine(ended.out);
    }

    std::unique_ptr<Lab> m_lab;
    QByteArray m_said; ///< the last program's standard error
};

QTEST_GUILESS_MAIN(TestOverSsh)
#include "tst_over_ssh.moc"
