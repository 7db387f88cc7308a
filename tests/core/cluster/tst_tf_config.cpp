// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/hash.h"
#include "core/cluster/tf_config.h"

#include <QTest>

#include <algorithm>

using namespace lockstep;
using namespace lockstep::cluster;

namespace {

TfConfig read(const std::string& text) {
    return TfConfig::parse(text).value();
}

std::string allOf(const Problems& problems) {
    std::string text;
    for (const Problem& problem : problems)
        text += describe(problem) + "\n";
    return text;
}

Problems errorsOf(Problems problems) {
    std::erase_if(problems, [](const Problem& p) { return p.severity != Severity::Error; });
    return problems;
}

std::vector<std::string> paths(const Problems& problems) {
    std::vector<std::string> paths;
    for (const Problem& problem : problems)
        paths.push_back(problem.path);
    return paths;
}

/// A resolver that never answers, so that only texts count and nothing is said about it.
std::vector<std::string> noNames(const std::string&) {
    return {};
}

ValidateOptions quiet() {
    ValidateOptions options;
    options.resolve = noNames;
    return options;
}

} // namespace

class TfConfigTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void readsTheEnvironmentAsTensorFlow() {
        QVERIFY(TfConfig::fromEnvironment(nullptr)->isLocal());
        QVERIFY(TfConfig::fromEnvironment("{}")->isLocal());
        for (const char* blank : {"", "  ", "\n"}) {
            const auto empty = TfConfig::fromEnvironment(blank);
            QVERIFY(!empty.ok());
            QVERIFY(empty.error().message.find("unset") != std::string::npos);
        }
        const auto torn = TfConfig::fromEnvironment("{cluster:{}}");
        QVERIFY(!torn.ok());
        QVERIFY(torn.error().message.find("column 2") != std::string::npos);
        QCOMPARE(torn.error().where, std::string("TF_CONFIG"));
        for (const char* other : {"[]", "3", "\"x\"", "null"})
            QVERIFY(!TfConfig::fromEnvironment(other).ok());
        QVERIFY(!TfConfig::parse(R"({"cluster":{},"cluster":{}})").ok());
    }

    // The table of what MultiWorkerMirroredStrategy takes; "hangs there" is refused here.
    void acceptsAndRejectsAsTensorFlow_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("errorPath"); // empty: accepted
        QTest::addColumn<int>("rank");
        QTest::addColumn<int>("world");
        QTest::addColumn<bool>("isChief");
        const auto ok = [](const char* name, const char* text, int rank, int world, bool isChief) {
            QTest::newRow(name) << text << "" << rank << world << isChief;
        };
        const auto bad = [](const char* name, const char* text, const char* path) {
            QTest::newRow(name) << text << path << -2 << -2 << false;
        };
        ok("an empty object is local mode", "{}", 0, 1, true);
        ok("an empty cluster is local mode", R"({"cluster":{}})", 0, 1, true);
        ok("an index may be a text",
           R"({"cluster":{"worker":["a:1","b:1"]},"task":{"type":"worker","index":"1"}})", 1, 2,
           false);
        bad("an index beyond the last",
            R"({"cluster":{"worker":["a:1","b:1"]},"task":{"type":"worker","index":2}})",
            "task.index");
        bad("a negative index",
            R"({"cluster":{"worker":["a:1","b:1"]},"task":{"type":"worker","index":-1}})",
            "task.index");
        bad("a cluster without task", R"({"cluster":{"worker":["a:1","b:1"]}})", "task");
        bad("a task without index",
            R"({"cluster":{"worker":["a:1","b:1"]},"task":{"type":"worker"}})", "task.index");
        bad("a task without type", R"({"cluster":{"worker":["a:1","b:1"]},"task":{"index":0}})",
            "task.type");
        ok("a task without cluster is local mode", R"({"task":{"type":"worker","index":5}})", 0, 1,
           true);
        ok("with a chief, worker 0 is not it",
           R"({"cluster":{"chief":["a:1"],"worker":["b:1"]},"task":{"type":"worker","index":0}})",
           1, 2, false);
        ok("the chief is rank 0",
           R"({"cluster":{"worker":["b:1"],"chief":["a:1"]},"task":{"type":"chief","index":0}})", 0,
           2, true);
        bad("two chiefs",
            R"({"cluster":{"chief":["a:1","b:1"]},"task":{"type":"chief","index":0}})",
            "cluster.chief");
        bad("two evaluators",
            R"({"cluster":{"worker":["c:1"],"evaluator":["a:1","b:1"]},"task":{"type":"worker","index":0}})",
            "cluster.evaluator");
        bad("the type master",
            R"({"cluster":{"worker":["a:1"]},"task":{"type":"master","index":0}})", "task.type");
        ok("a master in the cluster is ignored",
           R"({"cluster":{"master":["m:1"],"worker":["a:1","b:1"]},"task":{"type":"worker","index":0}})",
           0, 2, true);
        bad("a ps task",
            R"({"cluster":{"worker":["a:1"],"ps":["b:1"]},"task":{"type":"ps","index":0}})",
            "cluster.ps task.type");
        bad("a ps in the cluster",
            R"({"cluster":{"worker":["a:1"],"ps":["b:1"]},"task":{"type":"worker","index":0}})",
            "cluster.ps");
        ok("an evaluator is a cluster of its own",
           R"({"cluster":{"worker":["a:1","b:1"],"evaluator":["c:1"]},"task":{"type":"evaluator","index":0}})",
           0, 1, true);
        ok("an evaluator is not counted by workers",
           R"({"cluster":{"worker":["a:1","b:1"],"evaluator":["c:1"]},"task":{"type":"worker","index":1}})",
           1, 2, false);
        ok("one worker", R"({"cluster":{"worker":["a:1"]},"task":{"type":"worker","index":0}})", 0,
           1, true);
        bad("a job that is a text",
            R"({"cluster":{"worker":"a:1"},"task":{"type":"worker","index":0}})", "cluster.worker");
        bad("a job that is an object",
            R"({"cluster":{"worker":{"1":"a:1"}},"task":{"type":"worker","index":0}})",
            "cluster.worker");
        bad("an empty job",
            R"({"cluster":{"worker":[],"chief":["a:1"]},"task":{"type":"chief","index":0}})",
            "cluster.worker");
        bad("an address that is a number",
            R"({"cluster":{"worker":["a:1",2222]},"task":{"type":"worker","index":0}})",
            "cluster.worker.1");
        bad("an address that is a URL",
            R"({"cluster":{"worker":["b:1","http://a:1"]},"task":{"type":"worker","index":0}})",
            "cluster.worker.1");
        bad("an address without port",
            R"({"cluster":{"worker":["b:1","a"]},"task":{"type":"worker","index":0}})",
            "cluster.worker.1");
        ok("IPv6 in brackets",
           R"({"cluster":{"worker":["[::1]:2222"]},"task":{"type":"worker","index":0}})", 0, 1,
           true);
        ok("unknown keys are tolerated",
           R"({"cluster":{"worker":["a:1"]},"task":{"type":"worker","index":0},"environment":"cloud","job":{"x":1},"rpc_layer":"grpc","session_master":"","service":{},"model_dir":"/m"})",
           0, 1, true);
        bad("a cluster that is a list", R"({"cluster":["a:1"]})", "cluster task");
        bad("a cluster that is null", R"({"cluster":null})", "cluster task");
        bad("a task that is a text", R"({"cluster":{"worker":["a:1"]},"task":"worker"})", "task");
        bad("a job name with a slip",
            R"({"cluster":{"worker":["a:1"],"workers":["b:1"]},"task":{"type":"worker","index":0}})",
            "cluster.workers");
    }
    void acceptsAndRejectsAsTensorFlow() {
        QFETCH(QString, text);
        QFETCH(QString, errorPath);
        const TfConfig config = read(text.toStdString());
        const Problems errors = errorsOf(validate(config, quiet()));
        QString found;
        for (const std::string& path : paths(errors))
            found += (found.isEmpty() ? "" : " ") + QString::fromStdString(path);
        QVERIFY2(found == errorPath, allOf(errors).c_str());
        if (errorPath.isEmpty()) {
            QTEST(config.rank(), "rank");
            QTEST(config.worldSize(), "world");
            QTEST(config.isChief(), "isChief");
        }
        for (const Problem& error : errors)
            QVERIFY2(!error.message.empty() && error.message.back() == '.' && error.line == 1,
                     describe(error).c_str());
    }

    void warnsWhereAProcessWouldTrainAlone() {
        const Problems alone = validate(read(R"({"task":{"type":"worker","index":5}})"));
        QCOMPARE(paths(alone), std::vector<std::string>{"task"});
        const Problems slip = validate(read(R"({"clusters":{"worker":["a:1","b:1"]}})"));
        QCOMPARE(paths(slip), std::vector<std::string>{"clusters"});
        QVERIFY(slip[0].hint.find("\"cluster\"") != std::string::npos);
        QVERIFY(validate(read(R"({"job":{},"environment":"cloud","model_dir":"x"})")).empty());
    }

    void givesOneMessageForEveryWrongIndex_data() {
        QTest::addColumn<QString>("index");
        QTest::addColumn<int>("errors");
        QTest::addColumn<int>("warnings");
        const auto row = [](const char* index, int errors, int warnings) {
            QTest::newRow(index) << index << errors << warnings;
        };
        row("0", 0, 0);
        row("1", 0, 0);
        row("\"1\"", 0, 1);
        for (const char* wrong : {"-1", "2", "1.0", "1.9", "true", "1e9", "99999999999999999999",
                                  "\"a\"", "\"-1\"", "\"2\"", "\"\"", "[0]", "{}"})
            row(wrong, 1, 0);
        row("null", 1, 0);
    }
    void givesOneMessageForEveryWrongIndex() {
        QFETCH(QString, index);
        QFETCH(int, errors);
        const TfConfig config =
            read(R"({"cluster":{"worker":["a:1","b:1"]},"task":{"type":"worker","index":)" +
                 index.toStdString() + "}}");
        const Problems problems = validate(config, quiet());
        const Problems wrong = errorsOf(problems);
        QCOMPARE(static_cast<int>(wrong.size()), errors);
        QTEST(static_cast<int>(problems.size() - wrong.size()), "warnings");
        QCOMPARE(config.own().has_value(), errors == 0);
        if (errors == 0)
            return;
        QCOMPARE(wrong[0].path, std::string("task.index"));
        if (index != "null")
            QVERIFY2(wrong[0].message.ends_with("is outside 0…1."), wrong[0].message.c_str());
        QVERIFY(wrong[0].expected.find("0…1") != std::string::npos);
    }

    void suggestsTheJobThatWasMeant() {
        const Problems problems = validate(
            read(R"({"cluster":{"worker_hosts":["a:1"]},"task":{"type":"worker","index":0}})"));
        QCOMPARE(problems[0].path, std::string("cluster"));
        QCOMPARE(problems[1].path, std::string("cluster.worker_hosts"));
        QVERIFY(problems[1].hint.find("\"worker\"") != std::string::npos);
        QVERIFY(problems[1].expected.find("\"chief\"") != std::string::npos);
        QCOMPARE(problems[2].path, std::string("task.type"));
    }

    void explainsAChiefThatTheClusterLacks() {
        const Problems problems = errorsOf(validate(
            read(R"({"cluster":{"worker":["a:1","b:1"]},"task":{"type":"chief","index":0}})")));
        QCOMPARE(paths(problems), std::vector<std::string>{"task.type"});
        QVERIFY(problems[0].hint.find("add \"chief\"") != std::string::npos);
        QVERIFY(problems[0].hint.find("\"worker\" with index 0") != std::string::npos);
    }

    void ranksTheChiefFirst() {
        const auto ranksOf = [](const char* cluster) {
            QStringList rows;
            for (const Rank& rank : read(std::string(R"({"cluster":)") + cluster + "}").ranks())
                rows << QString::fromStdString(std::to_string(rank.rank) + " " + rank.task.text() +
                                               " " + rank.address + (rank.isChief ? " *" : ""));
            return rows;
        };
        QCOMPARE(ranksOf(R"({"worker":["b:1","c:1"],"chief":["a:1"],"evaluator":["e:1"]})"),
                 QStringList({"0 chief:0 a:1 *", "1 worker:0 b:1", "2 worker:1 c:1"}));
        QCOMPARE(ranksOf(R"({"worker":["a:1","b:1","c:1"]})"),
                 QStringList({"0 worker:0 a:1 *", "1 worker:1 b:1", "2 worker:2 c:1"}));
        QVERIFY(ranksOf("{}").isEmpty());
        QCOMPARE(read(R"({"cluster":{"worker":["a:1"],"chief":["b:1"]}})").chief().value(),
                 (TaskId{TaskType::Chief, 0}));
    }

    void refusesLoopbackAcrossMachines() {
        const char* text =
            "{\"cluster\":{\"chief\":[\"localhost:0000\"],\n\"worker\":[\"localhost:1111\"]},"
            "\"task\":{\"type\":\"chief\",\"index\":0}}";
        ValidateOptions options;
        options.hosts = Hosts::Several;
        const Problems problems = validate(read(text), options);
        QCOMPARE(paths(problems),
                 (std::vector<std::string>{"cluster.chief.0", "cluster.worker.0"}));
        QVERIFY(hasErrors({problems[0]}) && hasErrors({problems[1]}));
        QCOMPARE(problems[0].line, 1);
        QCOMPARE(problems[1].line, 2);
        QVERIFY(problems[0].hint.find("own address") != std::string::npos);

        const Problems mixed = validate(read(
            R"({"cluster":{"worker":["127.0.0.1:1","10.0.0.2:1"]},"task":{"type":"worker","index":0}})"));
        QCOMPARE(paths(errorsOf(mixed)), std::vector<std::string>{"cluster.worker.0"});
    }

    void warnsOfLoopbackWhereAllAre() {
        const TfConfig config = read(
            R"({"cluster":{"worker":["127.0.0.1:1","localhost:2"]},"task":{"type":"worker","index":0}})");
        const Problems problems = validate(config, quiet());
        QCOMPARE(paths(problems), std::vector<std::string>{"cluster.worker.0"});
        QVERIFY(!hasErrors(problems));
        ValidateOptions one = quiet();
        one.hosts = Hosts::One;
        QVERIFY(validate(config, one).empty());
    }

    void findsOneAddressBehindTwoNames() {
        ValidateOptions options;
        int calls = 0;
        options.resolve = [&](const std::string& name) -> std::vector<std::string> {
            ++calls;
            return name == "node-a" ? std::vector<std::string>{"10.0.0.5"}
                                    : std::vector<std::string>{};
        };
        const Problems problems = validate(
            read(
                R"({"cluster":{"worker":["10.0.0.5:2222","node-a:2222","node-a:2223","NODE-A:2224"]},"task":{"type":"worker","index":0}})"),
            options);
        QCOMPARE(paths(problems), std::vector<std::string>{"cluster.worker.1"});
        QVERIFY(hasErrors(problems));
        QVERIFY(problems[0].message.find("cluster.worker.0") != std::string::npos);
        QVERIFY(problems[0].message.find("10.0.0.5:2222") != std::string::npos);
        QCOMPARE(calls, 1);
    }

    void comparesTextWithoutAResolverAndSaysSo() {
        const auto check = [](const char* workers) {
            return validate(read(std::string(R"({"cluster":{"worker":)") + workers +
                                 R"(},"task":{"type":"worker","index":0}})"));
        };
        const Problems unsure = check(R"(["10.0.0.5:2222","node-a:2222","node-b:2222"])");
        QCOMPARE(unsure.size(), std::size_t(1));
        QVERIFY(!hasErrors(unsure));
        QVERIFY(unsure[0].message.find("as text only") != std::string::npos);
        QVERIFY(check(R"(["10.0.0.5:2222","10.0.0.6:2222"])").empty());
        QVERIFY(check(R"(["node-a:2222","node-b:2223"])").empty());
        for (const char* twins : {R"(["N1:1","n1.:1"])", R"(["[fd00::1]:1","[FD00:0::1]:1"])",
                                  R"(["10.0.0.1:1","[::ffff:10.0.0.1]:1"])"})
            QCOMPARE(paths(errorsOf(check(twins))), std::vector<std::string>{"cluster.worker.1"});
        QCOMPARE(paths(errorsOf(check(R"(["localhost:1","127.0.0.1:1"])"))),
                 std::vector<std::string>{"cluster.worker.1"});
    }

    void warnsOfANameThatIsLoopbackHere() {
        ValidateOptions options;
        options.resolve = [](const std::string& name) -> std::vector<std::string> {
            return {name == "n1" ? "127.0.1.1" : "10.0.0.2"};
        };
        const Problems problems = validate(
            read(R"({"cluster":{"worker":["n1:1","n2:1"]},"task":{"type":"worker","index":0}})"),
            options);
        QCOMPARE(paths(problems), std::vector<std::string>{"cluster.worker.0"});
        QVERIFY(!hasErrors(problems));
        QVERIFY(problems[0].message.find("127.0.1.1") != std::string::npos);
    }

    void returnsAllProblemsInTheOrderOfTheDocument() {
        const char* text = "{\n"
                           " \"task\": {\"type\": \"boss\", \"index\": true},\n"
                           " \"cluster\": {\n"
                           "  \"ps\": [\"p:1\"],\n"
                           "  \"worker\": [\"a:1\",\n"
                           "   \"a:1\",\n"
                           "   7,\n"
                           "   \"b\"],\n"
                           "  \"chief\": [\"x:1\", \"y:1\"]}}\n";
        ValidateOptions options = quiet();
        options.file = "tf.json";
        const Problems problems = validate(read(text), options);
        QCOMPARE(paths(problems), (std::vector<std::string>{"task.type", "task.index", "cluster.ps",
                                                            "cluster.worker.1", "cluster.worker.2",
                                                            "cluster.worker.3", "cluster.chief"}));
        std::vector<int> lines;
        for (const Problem& problem : problems) {
            QCOMPARE(problem.file, std::string("tf.json"));
            lines.push_back(problem.line);
        }
        QCOMPARE(lines, (std::vector<int>{2, 2, 4, 6, 7, 8, 9}));
    }

    void allowsByUse() {
        const TfConfig config = read(
            R"({"cluster":{"worker":["a:1"],"ps":["b:1"],"evaluator":["c:1"]},"task":{"type":"ps","index":0}})");
        ValidateOptions options = quiet();
        options.use = Use::Command;
        QVERIFY2(validate(config, options).empty(), allOf(validate(config, options)).c_str());
        options.use = Use::ModelJob;
        QCOMPARE(paths(validate(config, options)),
                 (std::vector<std::string>{"cluster.ps", "cluster.evaluator", "task.type"}));
        options = quiet();
        options.ownTask = OwnTask::Optional;
        QVERIFY(validate(read(R"({"cluster":{"worker":["a:1"]}})"), options).empty());
    }

    void keepsBytesThroughParseAndDump_data() {
        QTest::addColumn<QString>("text");
        for (
            const char* text :
            {R"({})",
             R"({"cluster":{"worker":["10.0.0.1:2222","10.0.0.2:2222"]},"task":{"type":"worker","index":0}})",
             "{\"cluster\":{\"worker\":[\"n0:2222\"]},"
             "\"x\":\"it's $HOME \\\"q\\\" \\\\ 中文 \\n\"}",
             R"({"task":{"index":1,"type":"worker","extra":null},"cluster":{"worker":["[fe80::1%eth0]:1","[FD00:0::1]:2"],"chief":["a:1"]},"z":[1.5,true,{}]})"})
            QTest::newRow(text) << QString::fromUtf8(text);
    }
    void keepsBytesThroughParseAndDump() {
        QFETCH(QString, text);
        const std::string bytes = text.toStdString();
        const std::string back = read(bytes).dump();
        QCOMPARE(back, bytes);
        QCOMPARE(toHex(sha256(back)), toHex(sha256(bytes)));
        QCOMPARE(read(back).dump(), bytes);
    }

    void writesOneClusterForAllTasks() {
        const TfConfig config = TfConfig::make({{TaskType::Worker, "b:1"},
                                                {TaskType::Evaluator, "e:1"},
                                                {TaskType::Chief, "a:1"},
                                                {TaskType::Worker, "c:1"}},
                                               TaskId{TaskType::Worker, 1});
        QCOMPARE(config.dump(),
                 std::string(R"({"cluster":{"chief":["a:1"],"worker":["b:1","c:1"],)"
                             R"("evaluator":["e:1"]},"task":{"type":"worker","index":1}})"));
        const TfConfig chief = config.forTask({TaskType::Chief, 0});
        QCOMPARE(chief.clusterHash(), config.clusterHash());
        QCOMPARE(chief.clusterHash(),
                 toHex(sha256(R"({"chief":["a:1"],"worker":["b:1","c:1"],"evaluator":["e:1"]})")));
        QVERIFY(chief.isChief());
        QCOMPARE(config.rank(), 2);
        QCOMPARE(config.find({TaskType::Worker, 0})->address, Address::parse("b:1").value());
        QVERIFY(!config.find({TaskType::Worker, 2}));
    }

    void keepsUnknownKeysForAnotherTask() {
        const TfConfig config = read(
            R"({"environment":"cloud","task":{"index":0,"cloud":"x","type":"worker"},"cluster":{"worker":["a:1","b:1"]}})");
        QCOMPARE(
            config.forTask({TaskType::Worker, 1}).dump(),
            std::string(
                R"({"environment":"cloud","task":{"index":1,"cloud":"x","type":"worker"},"cluster":{"worker":["a:1","b:1"]}})"));
    }
};

QTEST_APPLESS_MAIN(TfConfigTest)
#include "tst_tf_config.moc"
