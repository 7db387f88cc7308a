// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/files.h"
#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/train/identity.h"

#include <QTemporaryDir>
#include <QTest>

using namespace lockstep;
using namespace lockstep::train;

namespace {

const std::string kTwo =
    R"({"cluster":{"worker":["10.0.0.1:2222","10.0.0.2:2222"]},"task":{"type":"worker","index":1}})";

std::string textOf(const Problems& problems) {
    std::string text;
    for (const Problem& problem : problems)
        text += describe(problem) + "\n";
    return text;
}

std::string specText(const std::string& secret, int attempt, const std::string& task) {
    return json::dump(json::Value::object({{"format", "lockstep-spec"},
                                           {"version", 1},
                                           {"run", "r1"},
                                           {"secret", secret},
                                           {"attempt", attempt},
                                           {"task", task}}));
}

} // namespace

class TestIdentity : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void trainsAloneWithoutTheVariable() {
        Problems problems;
        const auto identity = identify({}, "job", problems);
        QVERIFY2(identity, textOf(problems).c_str());
        QCOMPARE(identity->world(), 1);
        QCOMPARE(identity->task, std::string("worker:0"));
        QVERIFY(!identity->isAuthenticated);
    }

    void findsItsRankAndItsPeers() {
        Launch launch;
        launch.tfConfig =
            R"({"cluster":{"chief":["a:1"],"worker":["b:1","a:2"]},"task":{"type":"worker","index":1}})";
        Problems problems;
        const auto identity = identify(launch, "job", problems);
        QVERIFY2(identity, textOf(problems).c_str());
        QCOMPARE(identity->rank, 2);
        QCOMPARE(identity->tasks(), (std::vector<std::string>{"chief:0", "worker:0", "worker:1"}));
        QCOMPARE(identity->workersHere, 2);
        QCOMPARE(identity->configHash, toHex(sha256(*launch.tfConfig)));
    }

    void refusesToTrainAloneWhenMoreAreExpected() {
        Launch launch;
        launch.expectedWorkers = 2;
        Problems problems;
        QVERIFY(!identify(launch, "job", problems));
        QVERIFY2(textOf(problems).find("would train alone") != std::string::npos,
                 textOf(problems).c_str());
        QVERIFY2(textOf(problems).find("2 workers") != std::string::npos, textOf(problems).c_str());
    }

    void refusesAnotherClusterThanTheLaunchers() {
        Launch launch;
        launch.tfConfig = kTwo;
        launch.clusterHash = std::string(64, '0');
        Problems problems;
        QVERIFY(!identify(launch, "job", problems));
        QVERIFY(textOf(problems).find("--cluster-hash") != std::string::npos);
    }

    void refusesABlankVariable() {
        Launch launch;
        launch.tfConfig = "";
        Problems problems;
        QVERIFY(!identify(launch, "job", problems));
        QVERIFY(textOf(problems).find("TF_CONFIG") != std::string::npos);
    }

    void takesRunAndSecretFromTheSpec() {
        const QTemporaryDir folder;
        Launch launch;
        launch.tfConfig = kTwo;
        launch.runDir = folder.path().toStdString();
        const std::string spec = specText(std::string(62, '0') + "0f", 2, "worker:1");
        QVERIFY(files::writeAtomic(launch.runDir + "/spec.json", spec).ok());
        Problems problems;
        const auto identity = identify(launch, "job", problems);
        QVERIFY2(identity, textOf(problems).c_str());
        QCOMPARE(identity->run, std::string("r1"));
        QCOMPARE(identity->attempt, 2);
        QCOMPARE(int(identity->secret[31]), 15);
        QVERIFY(identity->isAuthenticated);
    }

    void refusesTheFolderOfAnotherTask() {
        const QTemporaryDir folder;
        Launch launch;
        launch.tfConfig = kTwo;
        launch.runDir = folder.path().toStdString();
        const std::string spec = specText(std::string(64, 'a'), 1, "worker:0");
        QVERIFY(files::writeAtomic(launch.runDir + "/spec.json", spec).ok());
        Problems problems;
        QVERIFY(!identify(launch, "job", problems));
        QVERIFY(textOf(problems).find("worker:0") != std::string::npos);
    }

    void derivesEqualSecretsForWorkersStartedByHand() {
        Launch first;
        first.tfConfig = kTwo;
        Launch second = first;
        second.tfConfig =
            R"({"task":{"type":"worker","index":0},"cluster":{"worker":["10.0.0.1:2222","10.0.0.2:2222"]}})";
        Problems problems;
        const auto a = identify(first, "job", problems);
        const auto b = identify(second, "job", problems);
        const auto c = identify(first, "another job", problems);
        QVERIFY(a && b && c);
        QCOMPARE(a->run, b->run);
        QVERIFY(a->secret == b->secret);
        QVERIFY(a->secret != c->secret);
    }
};

QTEST_APPLESS_MAIN(TestIdentity)
#include "tst_identity.moc"
