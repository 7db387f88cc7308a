// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/cluster/cluster_spec.h"

#include <QTest>

using namespace lockstep;
using namespace lockstep::cluster;

namespace {

ClusterSpec withWorkers(const std::string& workers) {
    return ClusterSpec(json::parse(R"({"format":"lockstep-cluster","version":1,"name":"x",)"
                                   R"("workers":)" +
                                       workers + "}",
                                   "x")
                           .value());
}

ValidateOptions quiet() {
    ValidateOptions options;
    options.resolve = [](const std::string&) { return std::vector<std::string>(); };
    return options;
}

/// "path" of each error and "(path)" of each warning.
QString found(const Problems& problems) {
    QStringList words;
    for (const Problem& problem : problems) {
        const QString path = QString::fromStdString(problem.path);
        words << (problem.severity == Severity::Error ? path : "(" + path + ")");
    }
    return words.join(' ');
}

} // namespace

class ClusterValidateTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void findsWhatIsWrongWithWorkers_data() {
        QTest::addColumn<QString>("workers");
        QTest::addColumn<QString>("expected");
        const auto row = [](const char* name, const char* workers, const char* expected) {
            QTest::newRow(name) << workers << expected;
        };
        row("two hosts are fine",
            R"([{"ssh":"alice@n0","address":"10.0.0.1:2222"},{"ssh":"n1","address":"10.0.0.2:2222","env":{"NCCL_SOCKET_IFNAME":"eth0"}}])",
            "");
        row("everything that is optional",
            R"([{"ssh":{"host":"n0","user":"a","port":22,"identity_file":"/k","proxy_jump":"gw"},"address":"n0:1","task":"chief","name":"one","env":{},"devices":[0,1],"base":"/data"},{"ssh":"n1","address":"n1:1","devices":"cpu","task":"worker"},{"ssh":"n2","address":"n2:1","task":"evaluator"}])",
            "");
        row("no list", R"(3)", "workers");
        row("null for the list", R"(null)", "workers");
        row("an empty list", R"([])", "workers");
        row("entries that are no objects", R"([1,null])", "workers workers.0 workers.1");
        row("nothing in a worker", R"([{}])", "(workers.0.ssh) workers.0.address");
        row("an unknown key", R"([{"ssh":null,"address":"a:1","adress":"b:1"}])",
            "(workers.0.adress)");
        row("wrong kinds",
            R"([{"ssh":5,"address":5,"name":5,"task":5,"env":5,"devices":5,"base":5}])",
            "workers workers.0.ssh workers.0.address workers.0.name workers.0.task workers.0.env "
            "workers.0.devices workers.0.base");
        row("destinations that are none",
            R"([{"ssh":"","address":"a:1"},{"ssh":"n0 -p 22","address":"b:1"},{"ssh":"-oX","address":"c:1"},{"ssh":"u@-x","address":"d:1"},{"ssh":"u@","address":"e:1"}])",
            "workers.0.ssh workers.1.ssh workers.2.ssh workers.3.ssh workers.4.ssh");
        row("parts of a destination",
            R"([{"ssh":{"user":"a b","port":0,"hots":"x"},"address":"a:1"}])",
            "workers.0.ssh.user workers.0.ssh.port (workers.0.ssh.hots) workers.0.ssh.host");
        row("addresses", R"([{"ssh":"a","address":"a"},{"ssh":"b","address":"fd00::1:2222"}])",
            "workers.0.address workers.1.address");
        row("the same address twice",
            R"([{"ssh":"a","address":"a:1"},{"ssh":"b","address":"A:1"}])", "workers.1.address");
        row("a host with two ports is fine",
            R"([{"ssh":"a","address":"a:1"},{"ssh":"a","address":"a:2"}])", "");
        row("two chiefs",
            R"([{"ssh":"a","address":"a:1","task":"chief"},{"ssh":"b","address":"b:1","task":"chief"}])",
            "workers.1.task");
        row("two evaluators",
            R"([{"ssh":"a","address":"a:1"},{"ssh":"b","address":"b:1","task":"evaluator"},{"ssh":"c","address":"c:1","task":"evaluator"}])",
            "workers.2.task");
        row("only an evaluator", R"([{"ssh":"b","address":"b:1","task":"evaluator"}])", "workers");
        row("a ps", R"([{"ssh":"a","address":"a:1"},{"ssh":"b","address":"b:1","task":"ps"}])",
            "workers.1.task");
        row("an index that is written", R"([{"ssh":"a","address":"a:1","task":"worker:0"}])",
            "workers workers.0.task");
        row("a type that is none",
            R"([{"ssh":"a","address":"a:1"},{"ssh":"b","address":"b:1","task":"worke"}])",
            "workers.1.task");
        row("variables",
            R"([{"ssh":"a","address":"a:1","env":{"FOO.BAR":"1","1A":"x","TF_CONFIG":"{}","LOCKSTEP_RUN_ID":"1","N":1,"Z":"a\u0000b","OK":"a\nb"}}])",
            "workers.0.env.FOO.BAR workers.0.env.1A workers.0.env.TF_CONFIG "
            "workers.0.env.LOCKSTEP_RUN_ID workers.0.env.N workers.0.env.Z");
        row("devices",
            R"([{"ssh":"a","address":"a:1","devices":[0,0,-1,"x",null]},{"ssh":"b","address":"b:1","devices":[]},{"ssh":"c","address":"c:1","devices":"gpu"}])",
            "workers.0.devices.1 workers.0.devices.2 workers.0.devices.3 workers.0.devices.4 "
            "workers.1.devices workers.2.devices");
        row("a base that is not absolute", R"([{"ssh":"a","address":"a:1","base":"~/x"}])",
            "workers.0.base");
        row("a name twice",
            R"([{"ssh":"a","address":"a:1","name":"x"},{"ssh":"b","address":"b:1","name":"x"}])",
            "(workers.1.name)");
    }
    void findsWhatIsWrongWithWorkers() {
        QFETCH(QString, workers);
        const Problems problems = validate(withWorkers(workers.toStdString()), quiet());
        QTEST(found(problems), "expected");
        for (const Problem& problem : problems)
            QVERIFY2(problem.line == 1 && problem.message.ends_with('.'),
                     describe(problem).c_str());
    }

    void judgesLoopbackByTheMachines_data() {
        QTest::addColumn<QString>("workers");
        QTest::addColumn<QString>("expected");
        const auto row = [](const char* name, const char* workers, const char* expected) {
            QTest::newRow(name) << workers << expected;
        };
        row("all here: nothing to say",
            R"([{"ssh":null,"address":"127.0.0.1:1"},{"ssh":null,"address":"localhost:2"}])", "");
        row("all on one other machine: a warning",
            R"([{"ssh":"a","address":"127.0.0.1:1"},{"ssh":"bob@a","address":"[::1]:2"}])",
            "(workers.0.address)");
        row("two machines",
            R"([{"ssh":"a","address":"localhost:1111"},{"ssh":"b","address":"127.0.0.1:2222"}])",
            "workers.0.address workers.1.address");
        row("the same loopback on two machines is said once each",
            R"([{"ssh":"a","address":"localhost:1"},{"ssh":"b","address":"localhost:1"}])",
            "workers.0.address workers.1.address");
        row("two machines, one port wrong",
            R"([{"ssh":"a","task":"chief","address":"localhost:0000"},{"ssh":"b","address":"localhost:1111"}])",
            "workers.0.address workers.1.address");
        row("here and there",
            R"([{"ssh":null,"address":"127.0.0.1:1"},{"ssh":"b","address":"10.0.0.2:1"}])",
            "workers.0.address");
        row("two ports of one gateway are two machines",
            R"([{"ssh":{"host":"203.0.113.7","port":2201},"address":"127.0.0.1:1"},{"ssh":{"host":"203.0.113.7","port":2202},"address":"127.0.0.1:2"}])",
            "workers.0.address workers.1.address");
        row("here, mixed with an address of the network",
            R"([{"ssh":null,"address":"127.0.0.1:1"},{"ssh":null,"address":"10.0.0.2:1"}])",
            "workers.0.address");
        row("no address at all",
            R"([{"ssh":"a","address":"0.0.0.0:1"},{"ssh":"b","address":"10.0.0.2:1"}])",
            "workers.0.address");
    }
    void judgesLoopbackByTheMachines() {
        QFETCH(QString, workers);
        QTEST(found(validate(withWorkers(workers.toStdString()), quiet())), "expected");
    }

    void namesBothEntriesOfOneAddress() {
        ValidateOptions options;
        options.resolve = [](const std::string& name) -> std::vector<std::string> {
            return name == "node-a" ? std::vector<std::string>{"fd00::9", "10.0.0.5"}
                                    : std::vector<std::string>{};
        };
        const Problems problems =
            validate(withWorkers("[{\"ssh\":\"a\",\"address\":\"10.0.0.5:2222\"},\n"
                                 "{\"ssh\":\"b\",\"address\":\"node-a:2222\"}]"),
                     options);
        QCOMPARE(found(problems), QString("workers.1.address"));
        QCOMPARE(problems[0].line, 2);
        QVERIFY(problems[0].message.find("node-a:2222") != std::string::npos);
        QVERIFY(problems[0].message.find("workers.0.address") != std::string::npos);
        QVERIFY(problems[0].message.find("10.0.0.5") != std::string::npos);
    }

    void saysThatItComparedText() {
        const auto spec = withWorkers(
            R"([{"ssh":"a","address":"10.0.0.5:2222"},{"ssh":"b","address":"node-a:2222"}])");
        const Problems problems = validate(spec);
        QCOMPARE(found(problems), QString("(workers.1.address)"));
        QVERIFY(problems[0].message.find("as text only") != std::string::npos);
    }

    void keepsAnEvaluatorExceptForAModelJob() {
        const auto spec = withWorkers(
            R"([{"ssh":"a","address":"a:1"},{"ssh":"e","address":"e:1","task":"evaluator"},{"ssh":"p","address":"p:1","task":"ps"}])");
        ValidateOptions options = quiet();
        QCOMPARE(found(validate(spec, options)), QString("workers.2.task"));
        QVERIFY(validate(spec, options)[0].message.find("wait for ps 0") != std::string::npos);
        options.use = Use::ModelJob;
        QCOMPARE(found(validate(spec, options)), QString("workers.1.task workers.2.task"));
        options.use = Use::Command;
        QVERIFY(validate(spec, options).empty());
    }

    void warnsOfUnknownKeysAtTheTop() {
        const ClusterSpec spec(
            json::parse(
                R"({"format":"lockstep-cluster","version":1,"nmae":"x","workers":[{"ssh":null,"address":"a:1"}]})",
                "x")
                .value());
        const Problems problems = validate(spec, quiet());
        QCOMPARE(found(problems), QString("(nmae)"));
        QVERIFY(problems[0].hint.find("\"name\"") != std::string::npos);
        QCOMPARE(found(validate(ClusterSpec(json::Value::object()), quiet())), QString("workers"));
    }
};

QTEST_APPLESS_MAIN(ClusterValidateTest)
#include "tst_cluster_validate.moc"
