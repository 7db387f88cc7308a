// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/json_reader.h"
#include "core/job/job_spec.h"

#include <QTest>

#include <algorithm>

using namespace lockstep;
using namespace lockstep::job;

namespace {

const char* const kDense = R"({"format": "lockstep-job", "version": 1, "name": "dense-regression",
 "model": {"class_name": "Sequential", "config": {"layers": [
   {"class_name": "InputLayer", "config": {"batch_shape": [null, 10]}},
   {"class_name": "Dense", "config": {"units": 16, "activation": "relu"}},
   {"class_name": "Dense", "config": {"units": 1}}]}},
 "compile": {"optimizer": "adam", "loss": "mse", "metrics": ["mae"]},
 "data": {"train": {"source": "random_uniform", "rows": 1000, "features": 10, "labels": 1, "seed": 1},
          "shuffle": 10000, "auto_shard_policy": "DATA"},
 "fit": {"epochs": 5, "batch_size_per_replica": 64},
 "communication": {"implementation": "AUTO", "timeout_seconds": 60},
 "seed": 1})";

json::Value parsed(const std::string& text) {
    auto value = json::parse(text, "x.job.json");
    if (!value.ok())
        qFatal("%s", describe(value.error()).c_str());
    return std::move(value).value();
}

struct Read {
    JobSpec job;
    Problems problems;
};

Read read(const json::Value& document) {
    Read result;
    result.job = parseJob(document, "x.job.json", result.problems);
    return result;
}

} // namespace

class TestJobSpec : public QObject {
    Q_OBJECT

private slots:
    void readsTheSeedExample() {
        const auto [job, problems] = read(parsed(kDense));
        QVERIFY2(problems.empty(), problems.empty() ? "" : describe(problems[0]).c_str());
        QCOMPARE(job.name, std::string("dense-regression"));
        QCOMPARE(job.compile.optimizer.className, std::string("adam"));
        QVERIFY(job.compile.optimizer.config.isObject());
        QCOMPARE(job.compile.optimizer.line, 6);
        QCOMPARE(job.compile.metrics.size(), std::size_t(1));
        QCOMPARE(job.compile.metrics[0].path, std::string("compile.metrics.0"));
        const auto& source = std::get<RandomUniformSource>(job.data.train);
        QCOMPARE(source.rows, 1000);
        QCOMPARE(source.seed, std::uint64_t(1));
        QCOMPARE(job.data.shuffle, 10000);
        QVERIFY(job.data.shardPolicy == ShardPolicy::Data);
        QCOMPARE(job.fit.epochs, 5);
        QCOMPARE(job.fit.batchSizePerReplica, std::optional<std::int64_t>(64));
        QVERIFY(!job.fit.globalBatchSize);
        QVERIFY(job.model.isObject());
    }

    void fillsInDefaults() {
        const auto [job, problems] = read(parsed(R"({"format": "lockstep-job", "version": 1,
            "model": "model.json", "compile": {"optimizer": {"class_name": "SGD"}, "loss": "mse"},
            "data": {"train": {"source": "csv", "path": "d.csv"}}})"));
        QVERIFY2(problems.empty(), problems.empty() ? "" : describe(problems[0]).c_str());
        QCOMPARE(job.fit.globalBatchSize, std::optional<std::int64_t>(32));
        QCOMPARE(job.fit.epochs, 1);
        QCOMPARE(job.communication.joinTimeoutSeconds, 60.0);
        QCOMPARE(job.communication.heartbeatTimeoutSeconds, 5.0);
        QCOMPARE(job.communication.timeoutSeconds, 60.0);
        QVERIFY(job.data.shardPolicy == ShardPolicy::Auto);
        const auto& csv = std::get<CsvSource>(job.data.train);
        QCOMPARE(std::get<std::int64_t>(csv.label), -1);
        QCOMPARE(csv.scale, 1.0);
        QVERIFY(!csv.header);
        const auto files = fileReferences(job);
        QCOMPARE(files.size(), std::size_t(2));
        QCOMPARE(files[0].path, std::string("model"));
        QCOMPARE(files[1].file, std::string("d.csv"));
        QCOMPARE(resolvePath(folderOf("/a/b/x.job.json"), "d.csv"), std::string("/a/b/d.csv"));
        QCOMPARE(resolvePath(folderOf("x.job.json"), "d.csv"), std::string("d.csv"));
        QCOMPARE(resolvePath("/a", "/d.csv"), std::string("/d.csv"));
    }

    void reportsEverythingWrongAtOnce() {
        const auto [job, problems] = read(parsed(R"({"format": "lockstep-job", "version": 1,
 "model": 7,
 "compile": {"optimiser": "adam", "loss": "mse"},
 "data": {"train": {"source": "cvs", "path": ""}, "validation_fraction": 1.5},
 "fit": {"epochs": 0, "global_batch_size": 8, "batch_size_per_replica": 2},
 "communication": {"timeout_seconds": 0},
 "seed": -1})"));
        const std::vector<std::pair<std::string, int>> expected = {
            {"model", 2},
            {"compile.optimiser", 3},
            {"compile.optimizer", 3},
            {"data.train.source", 4},
            {"data.validation_fraction", 4},
            {"fit.epochs", 5},
            {"fit.batch_size_per_replica", 5},
            {"communication.timeout_seconds", 6},
            {"seed", 7}};
        QCOMPARE(problems.size(), expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i) {
            QCOMPARE(problems[i].path, expected[i].first);
            QCOMPARE(problems[i].line, expected[i].second);
            QCOMPARE(problems[i].file, std::string("x.job.json"));
        }
        QVERIFY(problems[1].severity == Severity::Warning);
        QCOMPARE(problems[1].hint, std::string("Did you mean \"optimizer\"?"));
        QCOMPARE(problems[3].hint, std::string("Did you mean \"csv\"?"));
    }

    void refuses_data() {
        QTest::addColumn<QString>("path");
        QTest::addColumn<QString>("value");
        QTest::addColumn<QString>("place");
        const auto row = [](const char* name, const char* path, const char* value,
                            const char* place = nullptr) {
            QTest::newRow(name) << path << value << (place ? place : path);
        };
        row("another format", "format", "\"lockstep-cluster\"");
        row("a newer version", "version", "2");
        row("an unknown kind", "kind", "\"script\"");
        row("an empty model path", "model", "\"\"");
        row("a model without class", "model", "{}", "model.class_name");
        row("no optimizer", "compile.optimizer", "null");
        row("an empty optimizer", "compile.optimizer", "\"\"");
        row("an optimizer that is a number", "compile.optimizer", "3");
        row("an optimizer's config that is no object", "compile.optimizer",
            "{\"class_name\": \"SGD\", \"config\": 1}", "compile.optimizer.config");
        row("a config without class name", "compile.loss", "{\"config\": {}}",
            "compile.loss.class_name");
        row("metrics that are a text", "compile.metrics", "\"mae\"");
        row("a metric that is null", "compile.metrics", "[null]", "compile.metrics.0");
        row("the policy FILE", "data.auto_shard_policy", "\"FILE\"");
        row("an unknown policy", "data.auto_shard_policy", "\"ROWS\"");
        row("a train source of null", "data.train", "null");
        row("a train source that is a path", "data.train", "\"d.csv\"");
        row("no rows", "data.train.rows", "0");
        row("rows that are a text", "data.train.rows", "\"10\"");
        row("a shuffle buffer that is negative", "data.shuffle", "-1");
        row("a fraction of 1", "data.validation_fraction", "1");
        row("a label by name without header", "data.train",
            R"({"source":"csv","path":"d.csv","label":"x"})", "data.train.label");
        row("a scale of 0", "data.train", R"({"source":"csv","path":"d.csv","scale":0})",
            "data.train.scale");
        row("a batch of 0", "fit.batch_size_per_replica", "0");
        row("an unknown scaling", "fit.learning_rate_scaling", "\"square\"");
        row("an endless join", "communication.join_timeout_seconds", "0");
        row("no heartbeat", "communication.heartbeat_timeout_seconds", "0");
        row("a negative timeout", "communication.timeout_seconds", "-1");
        row("NCCL without GPUs", "communication.implementation", "\"nccl\"");
        row("no threads", "threads_per_worker", "0");
    }
    void refuses() {
        QFETCH(QString, path);
        QFETCH(QString, value);
        QFETCH(QString, place);
        json::Value document = parsed(kDense);
        QVERIFY(json::setPath(document, path.toStdString(), parsed(value.toStdString())).ok());
        const Problems problems = read(document).problems;
        QCOMPARE(problems.size(), std::size_t(1));
        QVERIFY(problems[0].severity == Severity::Error);
        QCOMPARE(problems[0].path, place.toStdString());
        QVERIFY(!problems[0].message.empty());
        QVERIFY(!problems[0].expected.empty());
    }

    void refusesWhatIsNoObject() {
        QVERIFY(hasErrors(read(parsed("[]")).problems));
        QVERIFY(hasErrors(read(parsed("{}")).problems));
    }

    void refusesBothValidationSourceAndFraction() {
        json::Value document = parsed(kDense);
        document.find("data")->set("validation", *json::findPath(document, "data.train"));
        QVERIFY(read(document).problems.empty());
        document.find("data")->set("validation_fraction", 0.2);
        const Problems problems = read(document).problems;
        QCOMPARE(problems.size(), std::size_t(1));
        QCOMPARE(problems[0].path, std::string("data.validation_fraction"));
    }

    void keepsUnknownKeysInTheDocument() {
        json::Value document = parsed(kDense);
        document.set("x-color", "blue");
        document.find("fit")->set("epoch", 3);
        const auto [job, problems] = read(document);
        QVERIFY(!hasErrors(problems));
        QCOMPARE(problems.size(), std::size_t(2));
        QVERIFY(std::any_of(problems.begin(), problems.end(), [](const Problem& p) {
            return p.path == "fit.epoch" && p.hint == "Did you mean \"epochs\"?";
        }));
        QVERIFY(job.document == document);
    }

    void takesKerasSerializedObjects() {
        json::Value document = parsed(kDense);
        QVERIFY(json::setPath(document, "compile.loss", parsed(R"({"module": "keras.losses",
            "class_name": "SparseCategoricalCrossentropy",
            "config": {"from_logits": true}, "registered_name": null})"))
                    .ok());
        const auto [job, problems] = read(document);
        QVERIFY(problems.empty());
        QCOMPARE(job.compile.loss.className, std::string("SparseCategoricalCrossentropy"));
        QVERIFY(job.compile.loss.config.find("from_logits")->toBool());
    }

    void takesTrueAsAFullShuffle() {
        json::Value document = parsed(kDense);
        document.find("data")->set("shuffle", true);
        QCOMPARE(read(document).job.data.shuffle, kShuffleAll);
        document.find("data")->set("shuffle", false);
        QCOMPARE(read(document).job.data.shuffle, 0);
    }

    void readsCommandJobs() {
        const auto [job, problems] = read(parsed(R"({"format": "lockstep-job", "version": 1,
            "kind": "command", "argv": ["python3", "train.py", ""], "env": {"A": "1"},
            "working_directory": "/srv/job"})"));
        QVERIFY2(problems.empty(), problems.empty() ? "" : describe(problems[0]).c_str());
        QVERIFY(job.kind == JobKind::Command);
        QCOMPARE(job.command.argv.size(), std::size_t(3));
        QCOMPARE(job.command.env[0].second, std::string("1"));
        QCOMPARE(job.command.workingDirectory, std::string("/srv/job"));
    }

    void refusesBadCommandJobs() {
        const Problems problems = read(parsed(R"({"format": "lockstep-job", "version": 1,
            "kind": "command", "argv": [], "env": {"A=B": "1", "TF_CONFIG": "{}", "N": 1}})"))
                                      .problems;
        QCOMPARE(problems.size(), std::size_t(4));
        QVERIFY(hasErrors(read(parsed(R"({"format": "lockstep-job", "version": 1,
            "kind": "command"})"))
                              .problems));
    }

    void makesANewJobThatIsValid() {
        const auto document = newJobDocument("first");
        QVERIFY(read(document).problems.empty());
        QCOMPARE(read(document).job.name, std::string("first"));
    }
};

QTEST_APPLESS_MAIN(TestJobSpec)
#include "tst_job_spec.moc"
