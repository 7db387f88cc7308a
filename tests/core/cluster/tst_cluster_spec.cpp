// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/cluster/cluster_spec.h"

#include <QTest>

using namespace lockstep;
using namespace lockstep::cluster;

namespace {

constexpr const char* kLab = R"({
  "format": "lockstep-cluster",
  "version": 1,
  "site": {"rack": 4},
  "name": "lab 中",
  "workers": [
    {"note": "fast", "ssh": "alice@n0", "address": "10.0.0.1:2222"},
    {
      "ssh": {"host": "n1", "user": "bob", "port": 2200, "x": 1},
      "address": "[fd00::1]:2222",
      "task": "chief"
    },
    {"ssh": null, "address": "10.0.0.3:2222", "env": {"A": "its q"}, "name": "third"},
    {"ssh": "n4", "address": "10.0.0.4:2222", "task": "evaluator"}
  ]
}
)";

ClusterSpec lab() {
    return ClusterSpec(json::parse(kLab, "lab").value());
}

} // namespace

class ClusterSpecTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void derivesIndexesFromOrder() {
        QStringList tasks;
        for (const Worker& worker : lab().workers())
            tasks << QString::fromStdString(worker.task.text());
        QCOMPARE(tasks, QStringList({"worker:0", "chief:0", "worker:1", "evaluator:0"}));

        ClusterSpec moved = lab();
        moved.move(2, 0);
        QCOMPARE(moved.find({TaskType::Worker, 0})->name, std::string("third"));
        moved.remove(0);
        QCOMPARE(moved.find({TaskType::Worker, 0})->sshText(), std::string("alice@n0"));
        QVERIFY(!moved.find({TaskType::Worker, 1}));
    }

    void showsWorkersToPeople() {
        const std::vector<Worker> workers = lab().workers();
        QCOMPARE(workers[0].displayName(), std::string("worker:0"));
        QCOMPARE(workers[2].displayName(), std::string("third"));
        QCOMPARE(workers[1].sshText(), std::string("bob@n1:2200"));
        QCOMPARE(workers[2].sshText(), std::string("this machine"));
        QVERIFY(workers[2].isOnThisMachine());
    }

    void generatesTheSameClusterForEveryTask() {
        const std::string cluster = R"({"cluster":{"chief":["[fd00::1]:2222"],)"
                                    R"("worker":["10.0.0.1:2222","10.0.0.3:2222"],)"
                                    R"("evaluator":["10.0.0.4:2222"]},"task":)";
        for (const Worker& worker : lab().workers()) {
            const auto config = tfConfigFor(lab(), worker.task);
            QVERIFY(config.ok());
            QCOMPARE(config->dump(), cluster + R"({"type":")" + typeName(worker.type) +
                                         R"(","index":)" + std::to_string(worker.task.index) +
                                         "}}");
            QCOMPARE(config->clusterHash(), tfConfigOf(lab()).clusterHash());
            QCOMPARE(config->own().value(), worker.task);
            ValidateOptions options;
            QVERIFY(validate(*config, options).empty());
        }
        const auto none = tfConfigFor(lab(), {TaskType::Worker, 2});
        QVERIFY(!none.ok());
        QCOMPARE(none.error().code, Code::NotFound);
        QVERIFY(none.error().message.find("worker:0, worker:1") != std::string::npos);
    }

    void tabulatesRanksWithOneChief() {
        QStringList rows;
        for (const Rank& rank : rankTable(lab()))
            rows << QString::fromStdString(std::to_string(rank.rank) + " " + rank.task.text() +
                                           " " + rank.address + (rank.isChief ? " *" : ""));
        QCOMPARE(rows, QStringList({"0 chief:0 [fd00::1]:2222 *", "1 worker:0 10.0.0.1:2222",
                                    "2 worker:1 10.0.0.3:2222"}));
    }

    void keepsBytesAndUnknownKeys() {
        QCOMPARE(json::dumpPretty(lab().document()), std::string(kLab));

        ClusterSpec spec = lab();
        for (std::size_t i = 0; i < spec.size(); ++i)
            spec.set(i, spec.workers()[i]);
        QCOMPARE(json::dumpPretty(spec.document()), std::string(kLab));
    }

    void keepsAnyTextInVariables() {
        const std::string text = "it's $HOME \"q\" \\ 中文 \n";
        ClusterSpec spec = localCluster(1, 2222);
        Worker worker = spec.workers()[0];
        worker.env = {{"X", text}};
        spec.set(0, worker);
        const auto back = json::parse(json::dumpPretty(spec.document()), "x");
        QCOMPARE(ClusterSpec(*back).workers()[0].env[0].second, text);
        QVERIFY(validate(spec).empty());
    }

    void editsOnlyWhatChanged() {
        ClusterSpec spec = lab();
        Worker worker = spec.workers()[0];
        worker.address = "10.0.0.9:1";
        worker.type = TaskType::Evaluator;
        spec.set(0, worker);
        QCOMPARE(
            json::dump(spec.document().find("workers")->items()[0]),
            std::string(
                R"({"note":"fast","ssh":"alice@n0","address":"10.0.0.9:1","task":"evaluator"})"));
        worker.type = TaskType::Worker;
        worker.env = {{"B", "1"}};
        worker.devices = json::Value::array({0, 1});
        spec.set(0, worker);
        QCOMPARE(
            json::dump(spec.document().find("workers")->items()[0]),
            std::string(
                R"({"note":"fast","ssh":"alice@n0","address":"10.0.0.9:1","env":{"B":"1"},"devices":[0,1]})"));
        spec.setName("other");
        QCOMPARE(spec.document().members()[3].key, std::string("name"));
        QCOMPARE(spec.name(), std::string("other"));
    }

    void survivesMalformedDocuments() {
        for (const char* text : {"null", "3", "[]", "{}", R"({"workers":3})",
                                 R"({"workers":[1,null,{"address":5,"env":[],"task":7}]})"}) {
            ClusterSpec spec(json::parse(text, "x").value());
            QCOMPARE(spec.workers().size(), spec.size());
            QVERIFY(hasErrors(validate(spec)));
            spec.add(Worker{});
            QCOMPARE(spec.workers().size(), spec.size());
            (void)tfConfigOf(spec).dump();
        }
    }

    void makesAClusterOnThisMachine() {
        const ClusterSpec spec = localCluster(3, 2222);
        QCOMPARE(json::dump(spec.document()),
                 std::string(R"({"format":"lockstep-cluster","version":1,"name":"local-3",)"
                             R"("workers":[{"ssh":null,"address":"127.0.0.1:2222"},)"
                             R"({"ssh":null,"address":"127.0.0.1:2223"},)"
                             R"({"ssh":null,"address":"127.0.0.1:2224"}]})"));
        QVERIFY(validate(spec).empty());
        QVERIFY(hasErrors(validate(localCluster(2, 65535))));
        QCOMPARE(tfConfigFor(spec, {TaskType::Worker, 1})->rank(), 1);
    }

    void importsATfConfig() {
        const std::string text =
            R"({"cluster":{"worker":["n1:2222","[fe80::1%eth0]:1","127.0.0.1:3"],"chief":["n0:2222"],"evaluator":["e:1"]}})";
        const ClusterSpec spec = fromTfConfig(TfConfig::parse(text).value());
        QStringList rows;
        for (const Worker& worker : spec.workers())
            rows << QString::fromStdString(worker.task.text() + " " + worker.sshText() + " " +
                                           worker.address);
        QCOMPARE(rows, QStringList({"chief:0 n0 n0:2222", "worker:0 n1 n1:2222",
                                    "worker:1 fe80::1%eth0 [fe80::1%eth0]:1",
                                    "worker:2 this machine 127.0.0.1:3", "evaluator:0 e e:1"}));
        QCOMPARE(tfConfigOf(spec).ranks().size(), std::size_t(4));
    }
};

QTEST_APPLESS_MAIN(ClusterSpecTest)
#include "tst_cluster_spec.moc"
