// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// A program of the user's own on two hosts over SSH: pushed, started with its TF_CONFIG, its output
// brought home, its loss charted. A shell script stands in for TensorFlow and prints Keras' lines.
#include "tests/support/lab.h"
#include "tests/support/sshd.h"

#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QNetworkInterface>
#include <QTemporaryDir>
#include <QtTest>

#include <functional>
#include <vector>

using lockstep::support::Ended;
using lockstep::support::freePort;
using lockstep::support::Lab;
using lockstep::support::Sshd;

namespace {

const QString kCtl = QStringLiteral(LOCKSTEP_BIN_DIR "/lockstepctl");
const QString kStandIn =
    QStringLiteral(LOCKSTEP_SOURCE_DIR "/tests/core/run/data/keras_stand_in.sh");
const QStringList kTasks{"worker:0", "worker:1"};

QByteArray bytesOf(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

bool write(const QString& path, const QByteArray& bytes) {
    QFile file(path);
    return file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size();
}

/// An address of this machine that is not loopback; empty where it has none.
QString ownAddress() {
    for (const QHostAddress& address : QNetworkInterface::allAddresses())
        if (address.protocol() == QAbstractSocket::IPv4Protocol && !address.isLoopback() &&
            !address.isLinkLocal())
            return address.toString();
    return {};
}

/// Two hosts, and how lockstepctl is started that reaches them.
struct Hosts {
    QStringList starter; ///< words before lockstepctl's own
    QString data;        ///< its XDG_DATA_HOME
    QString cluster;     ///< file
    std::function<QByteArray(const QString& host, const QString& path)> read;
};

/// What ssh_config has of this server.
QByteArray partOf(Sshd& server, const char* alias) {
    server.writeKnownHosts();
    const QString text = "Host %1\n  HostName 127.0.0.1\n  Port %2\n  IdentityFile %3\n"
                         "  IdentitiesOnly yes\n  UserKnownHostsFile %4\n";
    return text.arg(alias).arg(server.port()).arg(server.clientKey(), server.knownHosts()).toUtf8();
}

/// The values of a column of metrics.csv in the rows of this kind and task.
QList<double> column(const QByteArray& csv, const QByteArray& kind, const QString& task,
                     const QByteArray& name) {
    const QList<QByteArray> lines = csv.trimmed().split('\n');
    const auto place = lines.value(0).split(',').indexOf(name);
    QList<double> values;
    for (const QByteArray& line : lines) {
        const QList<QByteArray> cells = line.split(',');
        if (cells.value(0) == kind && cells.value(1) == task.toUtf8())
            values.push_back(cells.value(place).toDouble());
    }
    return values;
}

} // namespace

class TestCommandOverSsh : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        QVERIFY(QDir(m_folder.path()).mkpath("own"));
        QVERIFY(QFile::copy(kStandIn, path("own/train.sh")));
        QVERIFY(write(path("own/settings.txt"), "steps 4\n"));
        QVERIFY(write(path("own.job.json"), R"({"format": "lockstep-job", "version": 1,
            "name": "own", "kind": "command", "argv": ["./train.sh"], "push": "own"})"));
    }

    // Both are one machine with one base folder: neither may disturb the other.
    void chartsTwoLoopbackHosts() {
        const QString missing = lockstep::support::missingSshd();
        if (!missing.isEmpty() && qgetenv("LOCKSTEP_REQUIRE").split(',').contains("sshd"))
            QFAIL(qPrintable(missing));
        if (!missing.isEmpty())
            QSKIP(qPrintable(missing));
        const QString address = ownAddress();
        if (address.isEmpty())
            QSKIP("This machine has no address but loopback.");
        Sshd first;
        Sshd second;
        QVERIFY(first.isRunning() && second.isRunning());
        const QString config = path("ssh_config");
        QVERIFY(write(config, partOf(first, "first") + partOf(second, "second")));
        const QString cluster = path("loopback.cluster.json");
        const QString worker = R"({"ssh": "%1", "address": "%2:%3", "base": "%4"})";
        const QString base = path("base");
        QVERIFY(QDir().mkpath(base));
        QVERIFY(write(cluster,
                      R"({"format": "lockstep-cluster", "version": 1, "name": "loopback",
            "workers": [)" +
                          worker.arg("first", address).arg(freePort()).arg(base).toUtf8() + ", " +
                          worker.arg("second", address).arg(freePort()).arg(base).toUtf8() + "]}"));
        const QString data = path("loopback-data");
        chartsBoth({{"env", "LOCKSTEP_SSH_CONFIG=" + config, "XDG_DATA_HOME=" + data},
                    data,
                    cluster,
                    [](const QString&, const QString& file) { return bytesOf(file); }});
    }

    void chartsTwoHostsOfTheLab() {
        LOCKSTEP_NEEDS_LAB();
        Lab lab({"n0", "n1 shell=fish noisy"});
        QVERIFY2(lab.isUp(), qPrintable(lab.error()));
        const QString data = path("lab-data");
        chartsBoth({lab.controller() + QStringList{"env", "XDG_DATA_HOME=" + data}, data,
                    lab.clusterFile({"n0", "n1"}), [&](const QString& host, const QString& file) {
                        return bytesOf(lab.hostPath(host, file));
                    }});
    }

    // A14, D11, D13: started with variables that no shell takes and with an agent; the accounts are
    // not root and have no sudo.
    void handsOnWhatIsAllowedAndNeedsNoRoot() {
        LOCKSTEP_NEEDS_LAB();
        Lab lab({"n0", "n1 shell=fish noisy"});
        QVERIFY2(lab.isUp(), qPrintable(lab.error()));
        for (const char* host : {"n0", "n1"}) {
            const Ended sudo = lab.onController(
                {"ssh", "-F", lab.sshConfig(), host, "sh -c 'sudo -n true || echo no sudo'"});
            QVERIFY2(sudo.out.contains("no sudo"), sudo.err.constData());
        }
        QVERIFY(write(path("env.job.json"), R"({"format": "lockstep-job", "version": 1,
            "name": "env", "kind": "command", "pass_env": ["A", "FOO*", "BASH*"],
            "argv": ["sh", "-c", "echo uid=$(id -u); env"]})"));
        const QString data = path("env-data");
        const Hosts hosts{lab.controller() + QStringList{"env", "XDG_DATA_HOME=" + data,
                                                         "FOO.BAR=1", "BASH_FUNC_m%%=() { echo; }",
                                                         "A=$'x\ny", "UNASKED=1"},
                          data,
                          lab.clusterFile({"n0", "n1"}),
                          {}};
        const auto agent = lab.startOnController({"ssh-agent", "-D", "-a", path("agent")});
        QTRY_VERIFY(QFile::exists(path("agent")));
        qputenv("SSH_AUTH_SOCK", path("agent").toUtf8());
        const Ended ended =
            ctl(hosts, {"run", path("env.job.json"), "--cluster", hosts.cluster, "--yes"});
        qunsetenv("SSH_AUTH_SOCK");
        agent->kill();
        QVERIFY(agent->waitForFinished(5000));
        const QByteArray said = ended.out + ended.err;
        QVERIFY2(ended.exitCode == 0, said.constData());
        for (const char* name : {"FOO.BAR", "BASH_FUNC_m%%"})
            QVERIFY2(said.contains(name), said.constData()); // told that they are left out
        const QString runs = data + "/lockstep/runs/";
        const QString run = QDir(runs).entryList(QDir::Dirs | QDir::NoDotAndDotDot).value(0);
        for (const char* task : {"worker-0", "worker-1"}) {
            const QByteArray out = bytesOf(runs + run + '/' + task + "/1/stdout.log");
            QVERIFY2(out.contains("A=$'x\ny\n"), out.constData());
            QVERIFY2(out.contains("TF_CONFIG={") && out.contains("uid=") &&
                         !out.contains("uid=0\n"),
                     out.constData());
            for (const char* name : {"FOO.BAR", "BASH_FUNC", "UNASKED", "SSH_AUTH_SOCK"})
                QVERIFY2(!out.contains(name), out.constData());
        }
    }

private:
    QString path(const QString& name) const { return m_folder.filePath(name); }

    static Ended ctl(const Hosts& hosts, const QStringList& words) {
        return lockstep::support::runToEnd(hosts.starter + QStringList{kCtl} + words, {}, 120'000);
    }

    void chartsBoth(const Hosts& hosts) {
        const QStringList launch{"run", path("own.job.json"), "--cluster", hosts.cluster, "--yes"};
        const Ended ended = ctl(hosts, launch + QStringList{"--json"});
        QVERIFY2(ended.exitCode == 0, (ended.out + ended.err).constData());
        const QJsonObject result =
            QJsonDocument::fromJson(ended.out.trimmed().split('\n').last()).object();
        QCOMPARE(result["status"].toString(), "finished");
        QCOMPARE(result["final"].toObject()["loss"].toDouble(), 0.5);
        const QString run = result["run"].toString();

        hasCharts(hosts, run);
        if (!QTest::currentTestFailed())
            hasOutput(hosts, run);
        if (!QTest::currentTestFailed())
            saysHowItEnded(hosts, run);
        if (QTest::currentTestFailed())
            return;
        // Nothing is sent twice, and both start from the folder again.
        QVERIFY(write(path("own/settings.txt"), "steps 5 of " + hosts.data.toUtf8()));
        const Ended again = ctl(hosts, launch);
        QVERIFY2(again.exitCode == 0, again.err.constData());
        QVERIFY2(again.out.contains("got 1 file that it lacked"), again.out.constData());
    }

    static void hasCharts(const Hosts& hosts, const QString& run) {
        const QString file = hosts.data + "/metrics.csv";
        const Ended metrics = ctl(hosts, {"metrics", run, "--csv", file});
        QVERIFY2(metrics.exitCode == 0, metrics.err.constData());
        const QByteArray csv = bytesOf(file);
        // Each epoch: two redraws, which hold the sum over the workers, and the end.
        for (const QString& task : kTasks) {
            const QList<double> steps = column(csv, "step", task, "last_step");
            QCOMPARE(steps, (QList<double>{1, 2, 4, 5, 6, 8, 9, 10, 12}));
            QCOMPARE(column(csv, "epoch", task, "loss"), (QList<double>{0.7, 0.6, 0.5}));
            QCOMPARE(column(csv, "epoch", task, "mae"), (QList<double>{0.25, 0.25, 0.25}));
            QCOMPARE(column(csv, "step", task, "total_ms_mean").last(), 12.0);
            QCOMPARE(column(csv, "step", task, "loss_mean"),
                     (QList<double>{0.7, 0.7, 0.7, 0.6, 0.6, 0.6, 0.5, 0.5, 0.5}));
        }
    }

    /// The hosts' own files came home whole, and the log shows both workers' lines.
    static void hasOutput(const Hosts& hosts, const QString& run) {
        const QString folder = hosts.data + "/lockstep/runs/" + run;
        const QJsonArray tasks =
            QJsonDocument::fromJson(bytesOf(folder + "/run.json")).object()["tasks"].toArray();
        QCOMPARE(tasks.size(), kTasks.size());
        for (const auto& each : tasks) {
            const QJsonObject task = each.toObject();
            const QString home = folder + '/' + task["task"].toString().replace(':', '-') + "/1/";
            for (const QString name : {"stdout.log", "stdout.idx", "stderr.log"}) {
                const QByteArray there =
                    hosts.read(task["host"].toString(), task["run_folder"].toString() + '/' + name);
                QVERIFY2(!there.isEmpty(), qPrintable(name));
                QVERIFY2(bytesOf(home + name) == there, qPrintable(home + name));
            }
        }
        const Ended logs = ctl(hosts, {"logs", run});
        const QList<QByteArray> lines = logs.out.split('\n');
        const auto count = [&](const QString& task, const QByteArray& words) {
            return std::count_if(lines.begin(), lines.end(), [&](const QByteArray& line) {
                return line.contains(' ' + task.toUtf8() + ' ') && line.contains(words);
            });
        };
        for (const QString& task : kTasks) {
            const QByteArray index = task.mid(task.indexOf(':') + 1).toUtf8();
            QCOMPARE(count(task, "\"task\":{\"type\":\"worker\",\"index\":" + index + "}"), 1);
            QCOMPARE(count(task, "stderr: to stderr"), 1);
            QCOMPARE(count(task, "Epoch 3/3"), 1);
            QCOMPARE(count(task, "4/4 [====] - 0s 12ms/step - loss: 0.5000"), 1);
            QCOMPARE(count(task, "ETA"), 0); // what a terminal does not show any more
        }
    }

    static void saysHowItEnded(const Hosts& hosts, const QString& run) {
        const Ended status = ctl(hosts, {"status", run});
        QCOMPARE(status.out.count(" finished     epoch 3, step 12\n"), 2);
        const Ended model = ctl(hosts, {"export", run, "-o", hosts.data + "/model.safetensors"});
        QCOMPARE(model.exitCode, 2);
        QVERIFY2(model.err.contains("a program of your own"), model.err.constData());
    }

    QTemporaryDir m_folder;
};

QTEST_GUILESS_MAIN(TestCommandOverSsh)
#include "tst_command_over_ssh.moc"
