// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/files.h"
#include "core/job/job_spec.h"
#include "core/run/job_package.h"
#include "core/run/run_folder.h"

#include <QFileInfo>
#include <QTemporaryDir>
#include <QTest>

using namespace lockstep;
using namespace lockstep::run;

namespace {

RunRecord someRecord() {
    RunRecord record;
    record.id = "20261201-081403-ab12cd";
    record.name = "digits";
    record.status = RunStatus::Failed;
    record.state = State::Failed;
    record.startedAt = 1'796'112'843.125;
    record.endedAt = 1'796'112'850.5;
    record.clusterFile = "lab.cluster.json";
    record.jobFile = "/home/u/数据 集/digits.job.json";
    record.cluster = json::Value::object({{"format", "lockstep-cluster"}});
    record.job = json::Value::object({{"name", "digits"}});
    record.tasks = {{"worker:0", "n0", "10.0.0.1:2222", "/base/m/runs/x/worker-0/1"}};
    record.files = {{"data.train.path", "/home/u/digits.csv.gz", "abcd"}};
    record.decisions = json::Value::object({{"algorithm", "ring"}});
    record.failure = Cause{"worker:0", "n0", "It was killed."};
    record.model = ModelFile{"model.safetensors", "ffff", 123};
    record.summary = json::Value::object({{"final", json::Value::object({{"loss", 0.5}})}});
    return record;
}

} // namespace

class TstRecords : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void comesBackFromItsText() {
        const RunRecord record = someRecord();
        const auto value = json::parse(json::dumpPretty(toJson(record)), "run.json");
        QVERIFY(value);
        const auto read = recordFromJson(*value, "run.json");
        QVERIFY2(read.ok(), read ? "" : describe(read.error()).c_str());
        QCOMPARE(json::dump(toJson(*read)), json::dump(toJson(record)));
        QCOMPARE(read->startedAt, record.startedAt);
        QVERIFY(read->tasks == record.tasks);
        QVERIFY(read->failure == record.failure);
        QVERIFY(read->model == record.model);
    }

    void refusesANewerRecordByName() {
        json::Value value = toJson(someRecord());
        value.set("version", 2);
        const auto read = recordFromJson(value, "run.json");
        QVERIFY(!read && read.error().code == Code::NewerFormat);
    }

    void refusesWhatIsNoRecord_data() {
        QTest::addColumn<QString>("key");
        QTest::newRow("another format") << "format";
        QTest::newRow("no id") << "run";
        QTest::newRow("no status") << "status";
        QTest::newRow("no state") << "state";
    }
    void refusesWhatIsNoRecord() {
        QFETCH(QString, key);
        json::Value value = toJson(someRecord());
        value.remove(key.toStdString());
        const auto read = recordFromJson(value, "run.json");
        QVERIFY(!read && read.error().code == Code::Corrupt);
    }

    void putsTheFailureIntoTheResult() {
        const json::Value result = resultObject(someRecord(), json::Value::object({}));
        QCOMPARE(json::dump(result),
                 std::string(R"({"run":"20261201-081403-ab12cd","status":"failed","workers":1,)"
                             R"("failure":{"task":"worker:0","host":"n0",)"
                             R"("reason":"It was killed."}})"));
    }

    void sortsIdsByTime() {
        const std::string early = newRunId(1'000'000'000);
        const std::string late = newRunId(1'000'000'001);
        QVERIFY(early < late);
        QVERIFY(isRunId(early));
        QCOMPARE(early.substr(0, 16), std::string("20010909-014640-"));
        QVERIFY(newRunId(5) != newRunId(5));
        QVERIFY(!isRunId("20010909-014640-ABCDEF"));
        QVERIFY(!isRunId("../../../etc/passwd.."));
        QVERIFY(!isRunId(""));
    }

    void findsARunByTheBeginningOfItsId() {
        QTemporaryDir data;
        const std::string root = data.path().toStdString();
        QCOMPARE(findRun(root, "last").error().code, Code::NotFound);
        for (const char* id : {"20261201-081403-ab12cd", "20261201-081403-ab99cd",
                               "20261202-000000-000000", "no-run"})
            QVERIFY(files::makeFolders(root + "/runs/" + id));
        QCOMPARE(*findRun(root, "20261202"), std::string("20261202-000000-000000"));
        QCOMPARE(*findRun(root, "last"), std::string("20261202-000000-000000"));
        QCOMPARE(*findRun(root, "20261201-081403-ab1"), std::string("20261201-081403-ab12cd"));
        QCOMPARE(findRun(root, "20261201").error().code, Code::InvalidArgument);
        QCOMPARE(findRun(root, "2025").error().code, Code::NotFound);
        QCOMPARE(findRun(root, "").error().code, Code::NotFound);
    }

    void givesOneWriterAFolder() {
        QTemporaryDir data;
        const RunFolder folder(data.path().toStdString(), "20261201-081403-ab12cd");
        QVERIFY(folder.create());
        {
            auto first = WriterLock::tryTake(folder);
            QVERIFY(first);
            QVERIFY(!WriterLock::tryTake(folder));
            auto moved = std::move(*first);
            QVERIFY(!WriterLock::tryTake(folder));
        }
        QVERIFY(WriterLock::tryTake(folder));
    }

    void keepsItsSecretToItself() {
        QTemporaryDir data;
        const RunFolder folder(data.path().toStdString(), "20261201-081403-ab12cd");
        QVERIFY(folder.create());
        const auto secret = folder.secret();
        QCOMPARE(secret->size(), std::size_t{64});
        QCOMPARE(*folder.secret(), *secret);
        const QFileInfo spec(QString::fromStdString(folder.path() + "/spec.json"));
        QCOMPARE(spec.permissions() & (QFile::ReadGroup | QFile::ReadOther), QFile::Permissions());
    }

    void exportsAModelOnlyWithTheRightBytes() {
        QTemporaryDir data;
        const std::string root = data.path().toStdString();
        const RunFolder folder(root, "20261201-081403-ab12cd");
        QVERIFY(folder.create());
        RunRecord record = someRecord();
        record.model.reset();
        QVERIFY(folder.save(record));
        const std::string target = root + "/out.safetensors";
        QCOMPARE(exportModel(folder, target, ModelFormat::Safetensors).error().code,
                 Code::NotFound);
        record.model = ModelFile{"model.safetensors", std::string(64, '0'), 3};
        QVERIFY(folder.save(record));
        QVERIFY(files::writeAtomic(folder.modelPath(), "abc"));
        QCOMPARE(exportModel(folder, target, ModelFormat::Safetensors).error().code, Code::Corrupt);
        QVERIFY(!QFile::exists(QString::fromStdString(target)));
        record.model->sha256 = *sha256OfFile(folder.modelPath());
        QVERIFY(folder.save(record));
        QVERIFY(exportModel(folder, target, ModelFormat::Safetensors));
        QCOMPARE(*files::read(target), std::string("abc"));
    }

    void renamesTheJobsFilesAfterTheirContent() {
        json::Value document = job::newJobDocument("j");
        document.set("data", json::Value::object({{"train", json::Value::object({
                                                                {"source", "csv"},
                                                                {"path", "../data/a b.csv"},
                                                            })}}));
        Problems problems;
        const auto spec = job::parseJob(document, "/home/u/jobs/j.json", problems);
        auto files = filesToPush(spec, "/home/u/jobs");
        QCOMPARE(files.size(), std::size_t{1});
        QCOMPARE(files[0].file, std::string("/home/u/data/a b.csv"));
        files[0].sha256 = std::string(40, 'f');
        const json::Value packaged = packagedJob(document, files);
        QCOMPARE(packaged.find("data")->find("train")->find("path")->toString(),
                 std::string("files/ffffffffffffffff/a b.csv"));
        const json::Value absolute = jobWithAbsoluteFiles(document, files);
        QCOMPARE(absolute.find("data")->find("train")->find("path")->toString(),
                 std::string("/home/u/data/a b.csv"));
    }

    void movesBetweenStatesByItsTableAlone() {
        QVERIFY(mayFollow(State::Idle, State::Validating));
        QVERIFY(mayFollow(State::Launching, State::Stopping));
        QVERIFY(mayFollow(State::Training, State::Detached));
        QVERIFY(!mayFollow(State::Validating, State::Training));
        QVERIFY(!mayFollow(State::Launching, State::Refused));
        for (int i = 0; i <= static_cast<int>(State::Detached); ++i) {
            const auto from = static_cast<State>(i);
            QVERIFY(stateFromName(stateName(from)) == from);
            for (int j = 0; j <= static_cast<int>(State::Detached); ++j)
                if (isFinal(from))
                    QVERIFY(!mayFollow(from, static_cast<State>(j)));
        }
    }
};

QTEST_APPLESS_MAIN(TstRecords)
#include "tst_records.moc"
