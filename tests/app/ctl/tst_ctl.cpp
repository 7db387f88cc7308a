// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// lockstepctl from outside: standard output, standard error, exit code. The worker program only
// pretends to train.
#include "core/base/files.h"
#include "core/base/json.h"
#include "core/base/json_reader.h"
#include "core/cluster/cluster_spec.h"
#include "core/run/port_check.h"

#include <QDir>
#include <QElapsedTimer>
#include <QProcess>
#include <QRandomGenerator>
#include <QTemporaryDir>
#include <QTest>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>

using namespace lockstep;

namespace {

struct Ran {
    int exitCode = -1;
    QByteArray out;
    QByteArray err;

    json::Value lastLine() const {
        const QByteArray line = out.trimmed().split('\n').last();
        auto value = json::parse(line.toStdString(), "output");
        return value ? std::move(*value) : json::Value();
    }
};

const char* kJob = R"({"format": "lockstep-job", "version": 1, "name": "pretended",
 "model": {"class_name": "Sequential", "config": {"layers": [
   {"class_name": "InputLayer", "config": {"batch_shape": [null, 10]}},
   {"class_name": "Dense", "config": {"units": 1}}]}},
 "compile": {"optimizer": "adam", "loss": "mse"},
 "data": {"train": {"source": "random_uniform", "rows": 100, "features": 10, "labels": 1,
                    "seed": 1}},
 "fit": {"epochs": 2}, "seed": 1})";

int listenAt(int port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(fd, 1) != 0)
        return -1;
    return fd;
}

} // namespace

class TstCtl : public QObject {
    Q_OBJECT

    QTemporaryDir m_data;
    QString m_job;

    QString path(const char* name) const { return m_data.filePath(QString::fromLatin1(name)); }

    void write(const char* name, const std::string& text) const {
        QVERIFY(files::writeAtomic(path(name).toStdString(), text));
    }

    QProcessEnvironment environment(const QStringList& fake = {}) const {
        auto environment = QProcessEnvironment::systemEnvironment();
        environment.insert(QStringLiteral("XDG_DATA_HOME"), m_data.path());
        environment.insert(QStringLiteral("LOCKSTEP_WORKER"),
                           QStringLiteral(LOCKSTEP_BUILD_DIR "/tests/fake_worker"));
        for (const QString& assignment : fake)
            environment.insert(assignment.section(u'=', 0, 0), assignment.section(u'=', 1));
        return environment;
    }

    std::unique_ptr<QProcess> start(const QStringList& words, const QStringList& fake = {}) const {
        auto process = std::make_unique<QProcess>();
        process->setProcessEnvironment(environment(fake));
        process->start(QStringLiteral(LOCKSTEP_BIN_DIR "/lockstepctl"), words);
        return process;
    }

    static Ran finish(QProcess& process) {
        if (!process.waitForFinished(60'000))
            process.kill();
        return {process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1,
                process.readAllStandardOutput(), process.readAllStandardError()};
    }

    Ran ctl(const QStringList& words, const QStringList& fake = {}) const {
        const auto process = start(words, fake);
        return finish(*process);
    }

    QStringList runWords(const QStringList& more = {}) const {
        return QStringList{QStringLiteral("run"), m_job, QStringLiteral("--local"),
                           QStringLiteral("2")} +
               more;
    }

    /// Waits for the run's id on the first line of a started run.
    static QString idOf(QProcess& process) {
        QByteArray head;
        QElapsedTimer timer;
        timer.start();
        while (!head.contains('\n') && timer.elapsed() < 30'000) {
            process.waitForReadyRead(200);
            head += process.readAllStandardOutput();
        }
        return QString::fromUtf8(head).section(u' ', 1, 1).section(u':', 0, 0);
    }

    /// Where the run's files lie on the host.
    static QString hostFolder(const QString& root, const QString& id) {
        const auto machines = QDir(root).entryList(QDir::Dirs | QDir::NoDotAndDotDot);
        for (const QString& machine : machines)
            if (machine != QStringLiteral("runs") &&
                QDir(root + u'/' + machine + QStringLiteral("/runs/") + id).exists())
                return root + u'/' + machine + QStringLiteral("/runs/") + id;
        return {};
    }

    QByteArray bytesOf(const QString& file) const {
        const auto bytes = files::read(file.toStdString());
        return bytes ? QByteArray::fromStdString(*bytes) : QByteArray("missing");
    }

private Q_SLOTS:
    void initTestCase() {
        m_job = path("pretended.job.json");
        write("pretended.job.json", kJob);
    }

    void helpsWithEveryCommand() {
        const Ran list = ctl({QStringLiteral("--help")});
        QCOMPARE(list.exitCode, 0);
        QVERIFY(list.out.contains("exit codes"));
        for (const char* name : {"run", "validate", "tf-config", "runs", "status", "attach", "stop",
                                 "logs", "metrics", "export"}) {
            QVERIFY(list.out.contains(QByteArray("  ") + name));
            const Ran help = ctl({QString::fromLatin1(name), QStringLiteral("--help")});
            QCOMPARE(help.exitCode, 0);
            QVERIFY(help.out.contains(QByteArray("usage: lockstepctl ") + name));
            QVERIFY(help.out.contains("exit codes:"));
            QVERIFY(help.err.isEmpty());
        }
    }

    void refusesWrongInput_data() {
        QTest::addColumn<QStringList>("words");
        QTest::addColumn<QString>("words2");
        const auto row = [](const char* name, const char* words, const char* expected) {
            QTest::newRow(name) << QString::fromLatin1(words).split(u' ')
                                << QString::fromLatin1(expected);
        };
        row("an unknown command", "rum", "Did you mean run?");
        row("an unknown option", "run JOB --locl 2", "Did you mean --local?");
        row("no job", "run --local 2", "JOB");
        row("no workers", "run JOB", "--cluster FILE or --local N");
        row("both kinds of workers", "run JOB --local 2 --cluster x", "either");
        row("no number", "run JOB --local two", "whole number");
        row("no workers at all", "run JOB --local 0", "whole number");
        row("a missing job file", "run /no/such.job.json --local 2", "/no/such.job.json");
        row("a missing cluster file", "run JOB --cluster /no/such.json", "/no/such.json");
        row("a setting without value", "run JOB --local 1 --set fit.epochs", "fit.epochs");
        row("a setting of a wrong type", "run JOB --local 1 --set fit.epochs=many", "fit.epochs");
        row("a run where there is none", "status 2099", "There are no runs yet");
        row("an export without target", "export last", "-o");
        row("an export to an unknown format", "export last -o x --format onnx", "weights.h5");
        row("a missing file to validate", "validate /no/such.json", "/no/such.json");
    }
    void refusesWrongInput() {
        QFETCH(QStringList, words);
        QFETCH(QString, words2);
        words.replaceInStrings(QStringLiteral("JOB"), m_job);
        const Ran ran = ctl(words);
        QCOMPARE(ran.exitCode, 2);
        QVERIFY2(QString::fromUtf8(ran.err).contains(words2), ran.err.constData());
    }

    void endsWithOneLineOfJson() {
        const Ran ran = ctl(runWords({QStringLiteral("--json")}));
        QVERIFY2(ran.exitCode == 0, ran.err.constData());
        QCOMPARE(ran.out.count('\n'), 1);
        const json::Value line = ran.lastLine();
        std::vector<std::string> keys;
        for (const json::Member& member : line.members())
            keys.push_back(member.key);
        QCOMPARE(keys, (std::vector<std::string>{"run", "status", "workers", "epochs", "final",
                                                 "digest", "samples_per_second", "step_ms"}));
        QCOMPARE(line.find("status")->toString(), std::string("finished"));
        QCOMPARE(json::dump(*json::findPath(line, "final")),
                 json::dump(line.find("epochs")->items().back()));
        QVERIFY(line.find("digest")->contains("worker:1"));
    }

    void tellsPeopleWhereWhatIs() {
        const Ran ran = ctl(runWords());
        QCOMPARE(ran.exitCode, 0);
        QVERIFY(ran.out.contains("  worker:1   127.0.0.1:"));
        QVERIFY(ran.out.contains("All 2 workers have joined."));
        QVERIFY(ran.out.contains("Epoch 1/2\n10/10 - 0s - loss: 0.1000\n"));
        const QByteArray last = ran.out.trimmed().split('\n').last();
        QVERIFY2(last.startsWith("The model is ") && QFile::exists(QString::fromUtf8(last.mid(13))),
                 last.constData());
    }

    void tellsWhoFailed() {
        const Ran ran =
            ctl(runWords({QStringLiteral("--json")}), {QStringLiteral("FAKE_EXIT_AT=5")});
        QCOMPARE(ran.exitCode, 1);
        const json::Value line = ran.lastLine();
        QCOMPARE(line.find("status")->toString(), std::string("failed"));
        const json::Value* failure = line.find("failure");
        QVERIFY(failure && failure->find("task")->toString().rfind("worker:", 0) == 0);
        QVERIFY(ran.err.contains("out of luck"));
    }

    void showsARunThatIsOver() {
        const QString id = QString::fromStdString(
            ctl(runWords({QStringLiteral("--json")})).lastLine().find("run")->toString());
        const Ran runs = ctl({QStringLiteral("runs")});
        QVERIFY(runs.out.contains(id.toUtf8() + "  finished         2"));
        const Ran status = ctl({QStringLiteral("status"), id, QStringLiteral("--json")});
        QCOMPARE(json::findPath(status.lastLine(), "tasks")->size(), std::size_t{2});
        const Ran logs =
            ctl({QStringLiteral("logs"), id, QStringLiteral("--task"), QStringLiteral("worker:1")});
        QVERIFY(logs.out.contains("Started as rank 1 of 2"));
        QVERIFY(!logs.out.contains("worker:0 "));
        QCOMPARE(ctl({QStringLiteral("export"), id, QStringLiteral("-o"), path("m.safetensors")})
                     .exitCode,
                 0);
        QCOMPARE(bytesOf(path("m.safetensors")), QByteArray("a model of 20 steps"));
        const Ran again = ctl({QStringLiteral("attach"), id});
        QCOMPARE(again.exitCode, 0);
        QVERIFY(again.out.contains("Epoch 2/2"));
        QCOMPARE(ctl({QStringLiteral("stop"), id}).exitCode, 0);
    }

    void startsAndLooksAwayThenStops() {
        const Ran started = ctl(runWords({QStringLiteral("--detach"), QStringLiteral("--json")}),
                                {QStringLiteral("FAKE_STEPS=100000")});
        QCOMPARE(started.exitCode, 0);
        const json::Value line = started.lastLine();
        QCOMPARE(line.find("status")->toString(), std::string("started"));
        const QString id = QString::fromStdString(line.find("run")->toString());
        const Ran status = ctl({QStringLiteral("status"), id});
        QVERIFY2(status.out.contains("running"), status.out.constData());
        QVERIFY2(status.out.contains("training"), status.out.constData());
        const Ran stopped = ctl({QStringLiteral("stop"), id});
        QVERIFY2(stopped.exitCode == 0, stopped.err.constData());
        QVERIFY(stopped.out.contains("stopped"));
    }

    void stopsOnInterrupt() {
        const auto process =
            start(runWords({QStringLiteral("--json")}), {QStringLiteral("FAKE_STEPS=100000")});
        QByteArray err;
        QElapsedTimer timer;
        timer.start();
        while (!err.contains("have joined") && timer.elapsed() < 30'000) {
            process->waitForReadyRead(100);
            err += process->readAllStandardError();
        }
        ::kill(static_cast<pid_t>(process->processId()), SIGINT);
        const Ran ran = finish(*process);
        QCOMPARE(ran.exitCode, 1);
        QCOMPARE(ran.lastLine().find("status")->toString(), std::string("stopped"));
    }

    void refusesABusyPortBeforeAWorkerStarts() {
        // The first run holds its ports while the second one asks for them.
        const auto port = run::findFreePorts(2, 41'000).value_or(0);
        write("two.cluster.json", json::dump(cluster::localCluster(2, port).document()));
        const QStringList words{QStringLiteral("run"), m_job, QStringLiteral("--cluster"),
                                path("two.cluster.json")};
        const int listener = listenAt(port + 1);
        QVERIFY(listener >= 0);
        const Ran ran = ctl(words + QStringList{QStringLiteral("--json")});
        ::close(listener);
        QCOMPARE(ran.exitCode, 2);
        QVERIFY2(ran.err.contains("workers.1.address"), ran.err.constData());
        QCOMPARE(ran.lastLine().find("status")->toString(), std::string("failed"));
        QVERIFY(ran.lastLine().find("failure")->find("reason")->toString().find("in use") !=
                std::string::npos);
    }

    void refusesAFolderThatCannotBeWritten() {
        auto process = std::make_unique<QProcess>();
        auto sealed = environment();
        // A file where the folder should be: also root cannot write there.
        write("sealed", "");
        sealed.insert(QStringLiteral("XDG_DATA_HOME"), path("sealed"));
        process->setProcessEnvironment(sealed);
        process->start(QStringLiteral(LOCKSTEP_BIN_DIR "/lockstepctl"), runWords());
        const Ran ran = finish(*process);
        QCOMPARE(ran.exitCode, 2);
        QVERIFY2(ran.err.contains(path("sealed").toUtf8()), ran.err.constData());
    }

    void printsTfConfigs() {
        write("lab.cluster.json", R"({"format": "lockstep-cluster", "version": 1, "name": "lab",
            "workers": [{"ssh": null, "address": "127.0.0.1:2222"},
                        {"ssh": null, "address": "127.0.0.1:2223"}]})");
        const Ran one =
            ctl({QStringLiteral("tf-config"), path("lab.cluster.json"), QStringLiteral("--task"),
                 QStringLiteral("worker:1"), QStringLiteral("--as"), QStringLiteral("env")});
        QCOMPARE(one.out,
                 QByteArray("TF_CONFIG='{\"cluster\":{\"worker\":[\"127.0.0.1:2222\","
                            "\"127.0.0.1:2223\"]},\"task\":{\"type\":\"worker\",\"index\":1}}'\n"));
        const Ran all = ctl({QStringLiteral("tf-config"), path("lab.cluster.json")});
        QCOMPARE(all.out.count('\n'), 2);
        const Ran none = ctl({QStringLiteral("tf-config"), path("lab.cluster.json"),
                              QStringLiteral("--task"), QStringLiteral("worker:7")});
        QCOMPARE(none.exitCode, 2);
    }

    void judgesFiles() {
        write("bad.cluster.json", R"({"format": "lockstep-cluster", "version": 1, "name": "lab",
            "workers": [{"ssh": null, "address": "127.0.0.1:0"},
                        {"ssh": null, "address": "127.0.0.1"}]})");
        const Ran bad = ctl({QStringLiteral("validate"), path("bad.cluster.json")});
        QCOMPARE(bad.exitCode, 2);
        QVERIFY(bad.err.contains("workers.0.address") && bad.err.contains("workers.1.address"));
        const Ran good = ctl({QStringLiteral("validate"), m_job});
        QVERIFY2(good.exitCode == 0, good.err.constData());
        const Ran json = ctl({QStringLiteral("validate"), m_job, QStringLiteral("--json")});
        QVERIFY(json.lastLine().find("description"));
    }

    /// kill -9 of the control program at random moments, then attach: nothing lost, nothing
    /// doubled.
    void losesNothingWhenItIsKilled() {
        const quint32 seed = QRandomGenerator::global()->generate();
        QRandomGenerator random(seed);
        qInfo("seed %u", seed);
        for (int round = 0; round < 6; ++round) {
            const auto process = start(
                runWords(), {QStringLiteral("FAKE_STEPS=60"), QStringLiteral("FAKE_STEP_MS=4")});
            const QString id = idOf(*process);
            QVERIFY(!id.isEmpty());
            // A moment between the first line and the end, about 0.6 s later.
            process->waitForFinished(static_cast<int>(random.bounded(600)));
            process->kill();
            process->waitForFinished();
            const Ran attached = ctl({QStringLiteral("attach"), id, QStringLiteral("--json")});
            QVERIFY2(attached.exitCode == 0, attached.err.constData());
            QCOMPARE(attached.lastLine().find("status")->toString(), std::string("finished"));

            const QString root = m_data.path() + QStringLiteral("/lockstep");
            const QString there = hostFolder(root, id);
            QVERIFY(!there.isEmpty());
            QCOMPARE(ctl({QStringLiteral("metrics"), id, QStringLiteral("--csv"), path("a.csv")})
                         .exitCode,
                     0);
            QCOMPARE(ctl({QStringLiteral("metrics"), there, QStringLiteral("--csv"), path("b.csv")})
                         .exitCode,
                     0);
            const QByteArray csv = bytesOf(path("a.csv"));
            QCOMPARE(csv, bytesOf(path("b.csv")));
            QCOMPARE(csv.count("\nstep,worker:0,"), 120);
            QCOMPARE(csv.count("\nepoch,worker:1,"), 2);
        }
    }
};

QTEST_GUILESS_MAIN(TstCtl)
#include "tst_ctl.moc"
