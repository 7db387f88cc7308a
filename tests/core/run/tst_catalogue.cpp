// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/files.h"
#include "core/run/catalogue.h"
#include "core/run/run_folder.h"

#include <QTemporaryDir>
#include <QTest>

#include <cmath>
#include <filesystem>

using namespace lockstep;
using namespace lockstep::run;

namespace {

RunRecord put(const std::string& root, const std::string& id, double loss) {
    RunRecord record;
    record.id = id;
    record.name = "job 训练-一号";
    record.status = RunStatus::Finished;
    record.state = State::Finished;
    record.startedAt = 1'000.5;
    record.endedAt = 2'000.25;
    record.tasks.resize(2);
    record.summary = json::Value::object({{"final", json::Value::object({{"loss", loss}})}});
    if (std::isnan(loss))
        record.summary = json::Value::object({{"final", json::Value::object({{"loss", "NaN"}})}});
    const RunFolder folder(root, id);
    if (!folder.create() || !folder.save(record))
        qFatal("the run folder cannot be written");
    return record;
}

} // namespace

class TstCatalogue : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void listsTheRunFoldersNewestFirst() {
        QTemporaryDir data;
        const std::string root = data.path().toStdString();
        const RunRecord first = put(root, "20260101-000000-aaaaaa", 0.1);
        const RunRecord second = put(root, "20260102-000000-aaaaaa", std::nan(""));
        Catalogue catalogue(root);
        QVERIFY(catalogue.open());
        const auto entries = catalogue.entries();
        QCOMPARE(entries->size(), std::size_t{2});
        QCOMPARE((*entries)[0].id, second.id);
        QVERIFY(std::isnan(*(*entries)[0].finalLoss));
        QVERIFY((*entries)[1] == entryOf(first));
        QCOMPARE((*entries)[1].workers, 2);
    }

    void isMadeAnewWhereItCannotBeRead_data() {
        QTest::addColumn<QByteArray>("bytes");
        QTest::newRow("no database") << QByteArray("this is no database at all, not one bit of it");
        QTest::newRow("empty") << QByteArray();
        QTest::newRow("cut") << QByteArray("SQLite format 3\0", 16);
    }
    void isMadeAnewWhereItCannotBeRead() {
        QFETCH(QByteArray, bytes);
        QTemporaryDir data;
        const std::string root = data.path().toStdString();
        put(root, "20260101-000000-aaaaaa", 0.1);
        QVERIFY(files::writeAtomic(root + "/catalogue.sqlite", bytes.toStdString()));
        Catalogue catalogue(root);
        const Status opened = catalogue.open();
        QVERIFY2(opened.ok(), opened ? "" : describe(opened.error()).c_str());
        QCOMPARE(catalogue.entries()->size(), std::size_t{1});
    }

    void seesWhatOtherProgramsDid() {
        QTemporaryDir data;
        const std::string root = data.path().toStdString();
        RunRecord record = put(root, "20260101-000000-aaaaaa", 0.1);
        Catalogue one(root);
        QVERIFY(one.open());
        put(root, "20260103-000000-aaaaaa", 0.1);
        record.status = RunStatus::Stopped;
        QVERIFY(RunFolder(root, record.id).save(record));
        QVERIFY(one.refresh());
        QCOMPARE(one.entries()->size(), std::size_t{2});
        QVERIFY((*one.entries())[1].status == RunStatus::Stopped);
        std::filesystem::remove_all(RunFolder(root, record.id).path());
        QVERIFY(one.refresh());
        QCOMPARE(one.entries()->size(), std::size_t{1});
    }

    void namesFoldersThatItCannotRead() {
        QTemporaryDir data;
        const std::string root = data.path().toStdString();
        const std::string id = "20260101-000000-aaaaaa";
        QVERIFY(files::makeFolders(root + "/runs/" + id));
        QVERIFY(files::writeAtomic(root + "/runs/" + id + "/run.json", "{\"half\":"));
        Catalogue catalogue(root);
        QVERIFY(catalogue.open());
        QCOMPARE(catalogue.unreadable(), std::vector<std::string>{id});
        QVERIFY(catalogue.entries()->empty());
    }

    void removesARunButNotUnderAWriter() {
        QTemporaryDir data;
        const std::string root = data.path().toStdString();
        const RunRecord record = put(root, "20260101-000000-aaaaaa", 0.1);
        Catalogue catalogue(root);
        QVERIFY(catalogue.open());
        {
            const auto lock = WriterLock::tryTake(RunFolder(root, record.id));
            QVERIFY(lock);
            QVERIFY(!catalogue.remove(record.id));
        }
        QVERIFY(catalogue.remove(record.id));
        QVERIFY(!RunFolder(root, record.id).exists());
        QVERIFY(catalogue.entries()->empty());
        QVERIFY(!catalogue.remove("../runs"));
    }
};

QTEST_GUILESS_MAIN(TstCatalogue)
#include "tst_catalogue.moc"
