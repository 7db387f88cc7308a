// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/json_reader.h"
#include "core/job/job_spec.h"
#include "core/job/settings.h"

#include <QTest>

using namespace lockstep;

class TestSettings : public QObject {
    Q_OBJECT

private slots:
    void setsValuesAsJsonOrElseText() {
        json::Value job = job::newJobDocument("x");
        QVERIFY(job::applySetting(job, "fit.epochs", "3").ok());
        QVERIFY(job::applySetting(job, "compile.optimizer", "sgd").ok());
        QVERIFY(job::applySetting(job, "compile.metrics.1", "\"accuracy\"").ok());
        QVERIFY(job::applySetting(job, "communication.timeout_seconds", "2.5").ok());
        QVERIFY(job::applyAssignment(job, "name=a=b").ok());
        QCOMPARE(json::findPath(job, "fit.epochs")->toInteger(), 3);
        QCOMPARE(json::findPath(job, "compile.optimizer")->toString(), std::string("sgd"));
        QCOMPARE(json::findPath(job, "compile.metrics.1")->toString(), std::string("accuracy"));
        QCOMPARE(json::findPath(job, "communication.timeout_seconds")->toNumber(), 2.5);
        QCOMPARE(json::findPath(job, "name")->toString(), std::string("a=b"));
    }

    void replacesTheOtherBatchSize() {
        json::Value job = job::newJobDocument("x");
        QVERIFY(job.find("fit")->contains("global_batch_size"));
        QVERIFY(job::applySetting(job, "fit.batch_size_per_replica", "16").ok());
        QVERIFY(!job.find("fit")->contains("global_batch_size"));
        QVERIFY(job::applySetting(job, "fit.global_batch_size", "64").ok());
        QVERIFY(!job.find("fit")->contains("batch_size_per_replica"));
        QVERIFY(job::applySetting(job, "data.validation_fraction", "0.2").ok());
        QVERIFY(job::setValue(job, "data.validation", json::Value::object()).ok());
        QVERIFY(!job.find("data")->contains("validation_fraction"));
    }

    void refusesAPathThatDoesNotFitAndChangesNothing() {
        json::Value job = job::newJobDocument("x");
        const json::Value before = job;
        const Status status = job::applySetting(job, "name.first", "1");
        QVERIFY(!status.ok());
        QCOMPARE(status.error().where, std::string("name.first"));
        QVERIFY(!job::applySetting(job, "compile.metrics.9", "1").ok());
        QVERIFY(!job::applySetting(job, "fit..epochs", "1").ok());
        QVERIFY(!job::applyAssignment(job, "fit.epochs").ok());
        QVERIFY(job == before);
    }

    void givesSetValuesNoLineOfTheFile() {
        auto job = json::parse(json::dumpPretty(job::newJobDocument("x")), "job.json");
        QVERIFY(job.ok());
        QVERIFY(job::applySetting(*job, "fit.epochs", "0").ok());
        Problems problems;
        job::parseJob(*job, "job.json", problems);
        QCOMPARE(problems.size(), std::size_t(1));
        QCOMPARE(problems[0].path, std::string("fit.epochs"));
        QCOMPARE(problems[0].line, 0);
    }
};

QTEST_APPLESS_MAIN(TestSettings)
#include "tst_settings.moc"
