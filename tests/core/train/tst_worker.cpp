// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// Whole workers as threads of this process, joined over loopback: what the engine promises, within
// reach of the sanitizers.
#include "core/archive/safetensors.h"
#include "core/base/files.h"
#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/train/worker.h"
#include "core/wire/event.h"

#include <QTcpServer>
#include <QTemporaryDir>
#include <QTest>

#include <cmath>
#include <mutex>
#include <thread>

using namespace lockstep;
using namespace lockstep::train;

namespace {

std::string jobText(int globalBatch, int rows, const std::string& extraData = {}) {
    return R"({"format":"lockstep-job","version":1,"name":"t","model":{"class_name":"Sequential","config":{"layers":[
        {"class_name":"InputLayer","config":{"batch_shape":[null,10]}},
        {"class_name":"Dense","config":{"units":16,"activation":"relu"}},
        {"class_name":"Dropout","config":{"rate":0.25}},
        {"class_name":"Dense","config":{"units":1}}]}},
        "compile":{"optimizer":"adam","loss":"mse","metrics":["mae"]},
        "data":{"train":{"source":"random_uniform","rows":)" +
           std::to_string(rows) + R"(,"features":10,"labels":1,"seed":1},"shuffle":10000)" +
           extraData + R"(},"fit":{"epochs":3,"global_batch_size":)" + std::to_string(globalBatch) +
           R"(},"communication":{"join_timeout_seconds":20,"timeout_seconds":20},"threads_per_worker":1,"seed":7})";
}

struct Ended {
    Outcome outcome = Outcome::Failed;
    std::vector<wire::EpochEnded> epochs;
    std::vector<wire::Steps> steps;
    std::optional<wire::Failed> failed;
    std::optional<wire::Finished> finished;
    std::string err;
};

std::vector<int> freePorts(int count) {
    std::vector<std::unique_ptr<QTcpServer>> servers;
    std::vector<int> ports;
    for (int i = 0; i < count; ++i) {
        servers.push_back(std::make_unique<QTcpServer>());
        servers.back()->listen(QHostAddress::LocalHost);
        ports.push_back(servers.back()->serverPort());
    }
    return ports;
}

Ended collect(const std::string& runDir, Outcome outcome) {
    Ended ended;
    ended.outcome = outcome;
    wire::LineSplitter splitter;
    const auto bytes = files::read(runDir + "/events.jsonl");
    for (const std::string& line : splitter.add(bytes ? *bytes : "")) {
        const auto event = wire::decode(line);
        if (!event)
            continue;
        if (const auto* epoch = std::get_if<wire::EpochEnded>(&event->body))
            ended.epochs.push_back(*epoch);
        if (const auto* steps = std::get_if<wire::Steps>(&event->body))
            ended.steps.push_back(*steps);
        if (const auto* failed = std::get_if<wire::Failed>(&event->body))
            ended.failed = *failed;
        if (const auto* finished = std::get_if<wire::Finished>(&event->body))
            ended.finished = *finished;
    }
    return ended;
}

/// Runs `workers` workers to their end, each with the job that `jobOf` gives it.
std::vector<Ended> runAll(const QTemporaryDir& folder, int workers,
                          const std::function<std::string(int)>& jobOf, std::stop_token stop = {}) {
    std::string addresses;
    for (const int port : freePorts(workers))
        addresses +=
            (addresses.empty() ? "\"" : ",\"") + ("127.0.0.1:" + std::to_string(port)) + "\"";
    std::vector<Ended> ended(static_cast<std::size_t>(workers));
    std::vector<std::jthread> threads;
    for (int i = 0; i < workers; ++i)
        threads.emplace_back([&, i] {
            Launch launch;
            launch.version = "test";
            launch.runDir = folder.filePath(QString::number(i)).toStdString();
            launch.jobFile = launch.runDir + "/job.json";
            QVERIFY(files::makeFolders(launch.runDir).ok());
            QVERIFY(files::writeAtomic(launch.jobFile, jobOf(i), files::Durability::Renamed).ok());
            launch.tfConfig = R"({"cluster":{"worker":[)" + addresses +
                              R"(]},"task":{"type":"worker","index":)" + std::to_string(i) + "}}";
            const auto spec = json::Value::object({{"format", "lockstep-spec"},
                                                   {"version", 1},
                                                   {"run", "test-run"},
                                                   {"secret", std::string(64, 'a')},
                                                   {"attempt", 1},
                                                   {"task", "worker:" + std::to_string(i)}});
            QVERIFY(files::writeAtomic(launch.runDir + "/spec.json", json::dump(spec)).ok());
            Surroundings surroundings;
            std::mutex mutex;
            std::string err;
            surroundings.err = [&](const std::string& line) {
                const std::lock_guard lock(mutex);
                err += line + "\n";
            };
            surroundings.stop = stop;
            const Outcome outcome = runWorker(launch, surroundings);
            ended[static_cast<std::size_t>(i)] = collect(launch.runDir, outcome);
            ended[static_cast<std::size_t>(i)].err = err;
        });
    threads.clear();
    return ended;
}

} // namespace

class TestWorker : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void anyNumberOfWorkersEqualsOne_data() {
        QTest::addColumn<int>("globalBatch");
        QTest::addColumn<int>("rows");
        QTest::newRow("the batch divides, the rows do not") << 12 << 100;
        QTest::newRow("nothing divides") << 7 << 40;
        QTest::newRow("fewer rows in a batch than workers") << 3 << 10;
        QTest::newRow("one row is left for the last step") << 8 << 33;
    }

    void anyNumberOfWorkersEqualsOne() {
        QFETCH(int, globalBatch);
        QFETCH(int, rows);
        std::vector<wire::EpochEnded> alone;
        for (int workers = 1; workers <= 4; ++workers) {
            const QTemporaryDir folder;
            const auto ended = runAll(folder, workers, [&](int) {
                return jobText(globalBatch, rows, R"(,"validation_fraction":0.2)");
            });
            for (const Ended& worker : ended) {
                QVERIFY2(worker.outcome == Outcome::Done, worker.err.c_str());
                QCOMPARE(worker.epochs.size(), std::size_t{3});
                QCOMPARE(worker.epochs[2].digest, ended[0].epochs[2].digest);
                QVERIFY(worker.finished);
                QCOMPARE(worker.finished->digest, ended[0].epochs[2].digest);
            }
            if (workers == 1)
                alone = ended[0].epochs;
            for (std::size_t epoch = 0; epoch < alone.size(); ++epoch) {
                QCOMPARE(ended[0].epochs[epoch].values.size(), std::size_t{4});
                for (std::size_t i = 0; i < 4; ++i) {
                    const double expected = alone[epoch].values[i].second;
                    const double got = ended[0].epochs[epoch].values[i].second;
                    QVERIFY2(
                        std::abs(got - expected) <= 1e-5 * std::abs(expected),
                        (std::to_string(got) + " expected " + std::to_string(expected)).c_str());
                }
            }
        }
    }

    void twoRunsGiveTheSameBitsAndCoverEveryStepOnce() {
        std::string digest;
        for (int attempt = 0; attempt < 2; ++attempt) {
            const QTemporaryDir folder;
            const auto ended = runAll(folder, 3, [](int) { return jobText(10, 95); });
            QVERIFY2(ended[0].finished, ended[0].err.c_str());
            if (attempt > 0)
                QCOMPARE(ended[0].finished->digest, digest);
            digest = ended[0].finished->digest;
            for (const Ended& worker : ended) {
                std::int64_t next = 1;
                std::int64_t rows = 0;
                for (const wire::Steps& steps : worker.steps) {
                    QCOMPARE(steps.first, next);
                    next = steps.last + 1;
                    rows += steps.rows;
                }
                QCOMPARE(next, std::int64_t{31});
                QCOMPARE(rows, std::int64_t{3 * 95});
            }
        }
    }

    void theChiefAloneWritesTheModelWhoseBytesAreTheDigest() {
        const QTemporaryDir folder;
        const auto ended = runAll(folder, 2, [](int) { return jobText(10, 50); });
        QVERIFY2(ended[0].finished, ended[0].err.c_str());
        const auto model =
            archive::read(folder.filePath(QStringLiteral("0/model.safetensors")).toStdString());
        QVERIFY(model.ok());
        Sha256Stream hash;
        std::vector<std::string> names;
        std::size_t slotArrays = 0; // behind the variables
        for (const archive::Array& array : model->arrays) {
            if (array.name.starts_with("optimizer/")) {
                ++slotArrays;
                continue;
            }
            hash.add(array.bytes);
            names.push_back(array.name);
        }
        QCOMPARE(slotArrays % names.size(), std::size_t{0});
        QCOMPARE(toHex(hash.finish()), ended[0].finished->digest);
        QCOMPARE(names, (std::vector<std::string>{"dense/kernel", "dense/bias", "dense_1/kernel",
                                                  "dense_1/bias"}));
        QVERIFY(!QFile::exists(folder.filePath(QStringLiteral("1/model.safetensors"))));
    }

    void namesTheWorkerThatWasGivenAnotherJob() {
        const QTemporaryDir folder;
        const auto ended = runAll(folder, 2, [](int i) { return jobText(i == 0 ? 10 : 12, 50); });
        for (const Ended& worker : ended) {
            QVERIFY(worker.outcome == Outcome::Failed);
            QVERIFY(worker.failed);
            QVERIFY2(worker.failed->reason.find("worker:1 has another job") != std::string::npos,
                     worker.failed->reason.c_str());
        }
    }

    void stoppingEndsAllOfThem() {
        const QTemporaryDir folder;
        std::stop_source stop;
        std::jthread stopper([&] {
            const QString events = folder.filePath(QStringLiteral("0/events.jsonl"));
            while (!QFile::exists(events) || QFileInfo(events).size() < 3000)
                QTest::qWait(5);
            stop.request_stop();
        });
        const auto ended = runAll(
            folder, 2,
            [](int) {
                std::string job = jobText(2, 1000);
                return job.replace(job.find("\"epochs\":3"), 10, "\"epochs\":100000");
            },
            stop.get_token());
        for (const Ended& worker : ended) {
            QVERIFY(worker.outcome == Outcome::Failed);
            QVERIFY(worker.failed);
            QCOMPARE(worker.failed->verdict, std::string("stopped"));
        }
    }

    void refusesWrongInputBeforeAnythingStarts() {
        const QTemporaryDir folder;
        const auto ended = runAll(folder, 1, [](int) {
            std::string job = jobText(10, 50);
            return job.replace(job.find("\"relu\""), 6, "\"rleu\"");
        });
        QVERIFY(ended[0].outcome == Outcome::WrongInput);
        QVERIFY2(ended[0].err.find("rleu") != std::string::npos, ended[0].err.c_str());
        QVERIFY2(ended[0].err.find("layers.1") != std::string::npos, ended[0].err.c_str());
    }
};

QTEST_GUILESS_MAIN(TestWorker)
#include "tst_worker.moc"
