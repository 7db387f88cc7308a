// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// Wrong input: one clear message with place and hint, exit status 2 before anything was started, no
// process and no half-written file left.
#include "core/base/json.h"
#include "core/base/json_reader.h"
#include "tests/integration/harness.h"

#include <QDir>
#include <QTcpServer>
#include <QtTest>

using namespace lockstep;
using namespace lockstep::integration;

namespace {

constexpr const char* kJob = R"({
  "format": "lockstep-job", "version": 1, "name": "small",
  "model": {"class_name": "Sequential", "config": {"layers": [
    {"class_name": "InputLayer", "config": {"batch_shape": [null, 2]}},
    {"class_name": "Dense", "config": {"units": 4, "activation": "relu"}},
    {"class_name": "Dense", "config": {"units": 3, "activation": "softmax"}}]}},
  "compile": {"optimizer": "sgd", "loss": "sparse_categorical_crossentropy"},
  "data": {"train": {"source": "csv", "path": "small.csv"}},
  "fit": {"epochs": 2, "global_batch_size": 4}
})";

constexpr const char* kCsv = "1,2,0\n2,3,1\n3,4,2\n4,5,0\n5,6,1\n6,7,2\n";

} // namespace

class TestBadInput : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theGoodInputTrains() {
        // What all others differ from in one place.
        m_machine.write("small.csv", kCsv);
        m_machine.write("small.job.json", kJob);
        const Outcome outcome = m_machine.ctl({"run", "small.job.json", "--local", "2"});
        QVERIFY2(outcome.exitCode == 0, qPrintable(outcome.all()));
    }

    void aWrongJobIsRefused_data() {
        QTest::addColumn<QString>("path"); // in the job
        QTest::addColumn<QString>("value");
        QTest::addColumn<QStringList>("words"); // that the message holds
        const auto row = [](const char* name, const char* path, const char* value,
                            const QStringList& words) {
            QTest::newRow(name) << path << value << words;
        };
        row("a text for a number", "fit.epochs", R"("many")", {"fit.epochs", "many", "number"});
        row("a number for an object", "compile", "3", {"compile", "3"});
        row("no epochs", "fit.epochs", "0", {"fit.epochs", "0"});
        row("an unknown layer", "model.config.layers.1.class_name", R"("Dens")",
            {"model.config.layers.1", "Dens", "Dense"});
        row("an unknown optimizer", "compile.optimizer", R"("sdg")", {"compile.optimizer", "sgd"});
        row("an unknown loss", "compile.loss", R"("mze")", {"compile.loss", "mze"});
        row("an unknown activation", "model.config.layers.1.config.activation", R"("rellu")",
            {"model.config.layers.1", "rellu", "relu"});
        row("units that are none", "model.config.layers.1.config.units", "-4",
            {"model.config.layers.1", "-4"});
        row("more features than columns", "model.config.layers.0.config.batch_shape", "[null, 5]",
            {"5", "2"});
        row("a label outside of the classes", "model.config.layers.2.config.units", "2",
            {"small.csv:3", "2"});
        row("a data file that is not there", "data.train.path", R"("gone.csv")",
            {"data.train.path", "gone.csv"});
        row("a label column that is not there", "data.train.label", "7", {"data.train.label", "7"});
        row("a newer version", "version", "2", {"version", "2"});
        row("another format", "format", R"("lockstep-cluster")", {"small.job.json"});
        row("a deadline of nothing", "communication.timeout_seconds", "0",
            {"communication.timeout_seconds"});
        row("a validation fraction of 1", "data.validation_fraction", "1",
            {"data.validation_fraction"});
    }
    void aWrongJobIsRefused() {
        QFETCH(QString, path);
        QFETCH(QString, value);
        QFETCH(QStringList, words);
        json::Value job = *json::parse(kJob, "job");
        QVERIFY(
            json::setPath(job, path.toStdString(), *json::parse(value.toStdString(), "v")).ok());
        m_machine.write("small.csv", kCsv);
        m_machine.write("small.job.json", QByteArray::fromStdString(json::dumpPretty(job)));
        refused({"run", "small.job.json", "--local", "2"}, words);
        refused({"validate", "small.job.json"}, words);
    }

    void wrongDataIsRefused_data() {
        QTest::addColumn<QByteArray>("csv");
        QTest::addColumn<QStringList>("words");
        QTest::newRow("nothing") << QByteArray() << QStringList{"small.csv"};
        QTest::newRow("only empty lines") << QByteArray("\n\n") << QStringList{"small.csv"};
        QTest::newRow("a ragged row")
            << QByteArray("1,2,0\n2,3,1\n3,4\n") << QStringList{"small.csv", "3", "2"};
        QTest::newRow("a word") << QByteArray("1,2,0\n2,three,1\n")
                                << QStringList{"small.csv", "2", "three"};
        QTest::newRow("a label of 1.5") << QByteArray("1,2,0\n2,3,1.5\n") << QStringList{"1.5"};
        QTest::newRow("a negative label") << QByteArray("1,2,0\n2,3,-1\n") << QStringList{"-1"};
        QTest::newRow("an empty cell")
            << QByteArray("1,2,0\n2,,1\n") << QStringList{"small.csv", "2"};
        QTest::newRow("bytes that are no text")
            << QByteArray("\x1f\x8b\x08\x00garbage", 11) << QStringList{"small.csv"};
    }
    void wrongDataIsRefused() {
        QFETCH(QByteArray, csv);
        QFETCH(QStringList, words);
        m_machine.write("small.csv", csv);
        m_machine.write("small.job.json", kJob);
        refused({"run", "small.job.json", "--local", "2"}, words);
    }

    void wrongFilesAreRefused_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<QStringList>("words");
        const auto row = [](const char* name, const QStringList& arguments,
                            const QStringList& words) {
            QTest::newRow(name) << arguments << words;
        };
        row("no such job", {"run", "gone.job.json", "--local", "1"}, {"gone.job.json"});
        row("a folder for a job", {"run", ".", "--local", "1"}, {"folder"});
        row("a job that is no JSON", {"run", "broken.json", "--local", "1"},
            {"broken.json", "line 2"});
        row("an empty job", {"run", "empty.json", "--local", "1"}, {"empty.json", "empty"});
        row("no such cluster", {"run", "small.job.json", "--cluster", "gone.json"}, {"gone.json"});
        row("a cluster that is no JSON", {"run", "small.job.json", "--cluster", "broken.json"},
            {"broken.json", "line 2"});
        row("a job for a cluster", {"run", "small.job.json", "--cluster", "small.job.json"},
            {"small.job.json", "cluster"});
        row("one address twice", {"run", "small.job.json", "--cluster", "twice.json"},
            {"twice.json", "workers.1.address", "127.0.0.1:20007"});
        row("an address without a port", {"run", "small.job.json", "--cluster", "portless.json"},
            {"portless.json", "workers.0.address", "port"});
        row("no worker", {"run", "small.job.json", "--cluster", "none.json"},
            {"none.json", "workers"});
        row("a base that cannot be written", {"run", "small.job.json", "--cluster", "base.json"},
            {"/proc/lockstep"});
        row("neither cluster nor local", {"run", "small.job.json"}, {"--cluster", "--local"});
        row("no workers", {"run", "small.job.json", "--local", "0"}, {"--local"});
        row("a setting that does not fit",
            {"run", "small.job.json", "--local", "1", "--set", "model.config.layers.9.x=1"},
            {"model.config.layers.9"});
        row("a setting without a value", {"run", "small.job.json", "--local", "1", "--set", "fit"},
            {"fit"});
        row("an unknown option", {"run", "small.job.json", "--locl", "1"}, {"locl"});
        row("an unknown command", {"rnu"}, {"rnu"});
        row("an unknown run", {"attach", "20200101-000000-aaaaaa"}, {"20200101-000000-aaaaaa"});
        row("a task that is not there", {"tf-config", "two.json", "--task", "worker:2"},
            {"worker:2"});
    }
    void wrongFilesAreRefused() {
        QFETCH(QStringList, arguments);
        QFETCH(QStringList, words);
        const auto cluster = [&](const char* name, const QByteArray& workers) {
            m_machine.write(name,
                            "{\"format\": \"lockstep-cluster\", \"version\": 1,\n \"workers\": [" +
                                workers + "]}\n");
        };
        m_machine.write("small.csv", kCsv);
        m_machine.write("small.job.json", kJob);
        m_machine.write("broken.json", "{\n \"format\": lockstep\n}");
        m_machine.write("empty.json", "");
        cluster("none.json", "");
        cluster("two.json", R"({"ssh": null, "address": "127.0.0.1:20007"},
                               {"ssh": null, "address": "127.0.0.1:20008"})");
        cluster("twice.json", R"({"ssh": null, "address": "127.0.0.1:20007"},
                                 {"ssh": null, "address": "127.0.0.1:20007"})");
        cluster("portless.json", R"({"ssh": null, "address": "127.0.0.1"})");
        cluster("base.json",
                R"({"ssh": null, "address": "127.0.0.1:20007", "base": "/proc/lockstep"})");
        refused(arguments, words);
    }

    void aBusyPortIsRefused() {
        QTcpServer other;
        QVERIFY(other.listen(QHostAddress::LocalHost));
        const QByteArray address = "127.0.0.1:" + QByteArray::number(other.serverPort());
        m_machine.write("small.csv", kCsv);
        m_machine.write("small.job.json", kJob);
        m_machine.write("busy.json",
                        "{\"format\": \"lockstep-cluster\", \"version\": 1, \"workers\": ["
                        "{\"ssh\": null, \"address\": \"" +
                            address + "\"}]}");
        refused({"run", "small.job.json", "--cluster", "busy.json"},
                {QString::fromUtf8(address), "worker:0"});
    }

    void aFolderThatTakesNoFilesIsRefused() {
        m_machine.write("small.csv", kCsv);
        m_machine.write("small.job.json", kJob);
        Machine other;
        other.write("small.csv", kCsv);
        other.write("small.job.json", kJob);
        const QString inTheWay = other.write("file", "x") + "/data";
        other.setEnvironment("XDG_DATA_HOME", inTheWay);
        const Outcome outcome = other.ctl({"run", "small.job.json", "--local", "1"});
        QCOMPARE(outcome.exitCode, 2);
        QVERIFY2(outcome.err.contains(inTheWay), qPrintable(outcome.all()));
        QVERIFY2(other.isQuiet(), qPrintable(other.processesText()));
    }

    void everyHelpIsThere() {
        for (const char* command : {"", "run", "validate", "tf-config", "runs", "status", "attach",
                                    "stop", "logs", "metrics", "export"}) {
            QStringList arguments{"--help"};
            if (*command)
                arguments.prepend(command);
            const Outcome outcome = m_machine.ctl(arguments);
            QVERIFY2(outcome.exitCode == 0, command);
            QVERIFY2(outcome.out.contains("sage"), qPrintable(outcome.all()));
            QCOMPARE(outcome.err, QString());
        }
    }

private:
    void refused(const QStringList& arguments, const QStringList& words) {
        const QStringList before = runs();
        const Outcome outcome = m_machine.ctl(arguments, 20000);
        QVERIFY2(outcome.exitCode == 2,
                 qPrintable(QString("exit status %1\n").arg(outcome.exitCode) + outcome.all()));
        const QString text = arguments.first() == "validate" ? outcome.all() : outcome.err;
        for (const QString& word : words)
            QVERIFY2(text.contains(word), qPrintable("no \"" + word + "\" in:\n" + outcome.all()));
        QVERIFY2(text.split('\n', Qt::SkipEmptyParts).size() <= 8, qPrintable(text)); // one message
        QVERIFY2(m_machine.isQuiet(), qPrintable(m_machine.processesText()));
        QCOMPARE(m_machine.halfWrittenFiles().join(u' '), QString());
        QCOMPARE(runs(), before);
    }

    /// Run folders on the control side.
    QStringList runs() const {
        return QDir(m_machine.path("data/lockstep/runs"))
            .entryList(QDir::Dirs | QDir::NoDotAndDotDot);
    }

    Machine m_machine;
};

QTEST_GUILESS_MAIN(TestBadInput)
#include "tst_bad_input.moc"
