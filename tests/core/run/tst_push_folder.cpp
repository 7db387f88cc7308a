// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/files.h"
#include "core/base/hash.h"
#include "core/run/push_folder.h"

#include <QTemporaryDir>
#include <QTest>

#include <sys/stat.h>
#include <unistd.h>

using namespace lockstep;
using namespace lockstep::run;

class TstPushFolder : public QObject {
    Q_OBJECT

    std::unique_ptr<QTemporaryDir> m_folder;

    std::string path(const std::string& name) const {
        return m_folder->path().toStdString() + "/" + name;
    }
    void write(const std::string& name, const std::string& bytes, unsigned mode = 0644) const {
        QVERIFY(files::makeFolders(path(name).substr(0, path(name).rfind('/'))));
        QVERIFY(files::writeAtomic(path(name), bytes, files::Durability::Renamed, mode));
    }
    static job::JobSpec jobWith(const std::string& members) {
        Problems problems;
        const auto document = json::parse(
            R"({"format": "lockstep-job", "version": 1, "kind": "command", )" + members + "}", "j");
        return job::parseJob(*document, "j", problems);
    }
    PushManifest scan(const std::string& members, Problems& problems) const {
        return scanFolder(jobWith(members), m_folder->path().toStdString(), problems);
    }

private Q_SLOTS:
    void init() {
        m_folder = std::make_unique<QTemporaryDir>();
        write("src/train.py", "print(1)\n");
        write("src/run.sh", "#!/bin/sh\n", 0755);
    }

    void listsFilesWithSizeAndHash() {
        QVERIFY(files::makeFolders(path("src/empty")));
        write("src/__pycache__/train.pyc", "x");
        write("src/.git/config", "x");
        write("src/big.log", "x");
        QCOMPARE(::symlink("../src/train.py", path("src/link").c_str()), 0);
        Problems problems;
        // A link may not leave the folder even to come back to it.
        (void)scan(R"("argv": ["x"], "push": "src")", problems);
        QCOMPARE(problems.size(), std::size_t{1});
        QCOMPARE(::unlink(path("src/link").c_str()), 0);
        QCOMPARE(::symlink("train.py", path("src/link").c_str()), 0);
        problems.clear();
        const PushManifest manifest =
            scan(R"("argv": ["x"], "push": {"folder": "src/", "ignore": ["*.log"]})", problems);
        QVERIFY(problems.empty());
        std::string paths;
        for (const auto& entry : manifest.entries)
            paths += entry.path + " ";
        QCOMPARE(paths, std::string("empty link run.sh train.py "));
        const auto* train = manifest.find("train.py");
        QCOMPARE(train->sha256, toHex(sha256("print(1)\n")));
        QCOMPARE(train->size, 9);
        QVERIFY(!train->isProgram);
        QVERIFY(manifest.find("run.sh")->isProgram);
        QCOMPARE(manifest.find("link")->target, std::string("train.py"));
        QCOMPARE(manifest.files(), 2);
        QCOMPARE(manifest.bytes(), 19);
        const auto back = manifestFromJson(toJson(manifest), "push.json");
        QVERIFY(back);
        QVERIFY(back->entries == manifest.entries);
        QCOMPARE(back->folder, path("src"));
        QVERIFY(!manifestFromJson(json::Value::object(), "push.json"));
    }

    void refusesWhatCannotBePushed_data() {
        QTest::addColumn<QString>("kind");
        QTest::addColumn<QString>("words");
        QTest::newRow("no folder") << "missing"
                                   << "There is no folder";
        QTest::newRow("link out") << "link"
                                  << "not inside the folder";
        QTest::newRow("absolute link") << "absolute"
                                       << "not inside the folder";
        QTest::newRow("pipe") << "pipe"
                              << "neither a file nor a folder";
    }
    void refusesWhatCannotBePushed() {
        QFETCH(QString, kind);
        QFETCH(QString, words);
        if (kind == QStringLiteral("link"))
            QCOMPARE(::symlink("../../secret", path("src/l").c_str()), 0);
        if (kind == QStringLiteral("absolute"))
            QCOMPARE(::symlink("/etc/passwd", path("src/l").c_str()), 0);
        if (kind == QStringLiteral("pipe"))
            QCOMPARE(::mkfifo(path("src/p").c_str(), 0600), 0);
        Problems problems;
        (void)scan(kind == QStringLiteral("missing") ? R"("argv": ["x"], "push": "none")"
                                                     : R"("argv": ["x"], "push": "src")",
                   problems);
        QCOMPARE(problems.size(), std::size_t{1});
        QCOMPARE(problems[0].path, std::string("push"));
        QVERIFY2(QString::fromStdString(problems[0].message).contains(words),
                 problems[0].message.c_str());
    }

    void findsProgramsThatWouldNotStart_data() {
        QTest::addColumn<QString>("members");
        QTest::addColumn<QString>("path");
        const auto row = [](const char* members, const char* path) {
            QTest::addRow("%s", members) << members << path;
        };
        row(R"("argv": ["./run.sh"])", "");
        row(R"("argv": ["python3", "train.py"])", "");
        row(R"("argv": ["/usr/bin/x"])", "");
        row(R"("argv": ["./train.py"])", "argv");
        row(R"("argv": ["bin/none"])", "argv");
        row(R"("argv": ["../run.sh"], "working_directory": "sub")", "");
        row(R"("argv": ["./none"], "working_directory": "/srv")", "");
        row(R"("argv": ["./run.sh"], "tasks": {"worker:1": {"argv": ["./none"]}})",
            "tasks.worker:1.argv");
    }
    void findsProgramsThatWouldNotStart() {
        QFETCH(QString, members);
        QFETCH(QString, path);
        const std::string text = members.toStdString() + R"(, "push": "src")";
        Problems problems;
        const PushManifest manifest = scan(text, problems);
        problems = checkPushedPrograms(jobWith(text), manifest);
        QCOMPARE(problems.size(), std::size_t(path.isEmpty() ? 0 : 1));
        if (!path.isEmpty())
            QCOMPARE(problems[0].path, path.toStdString());
    }

    void saysSizesForPeople() {
        QCOMPARE(sizeText(0), std::string("0 bytes"));
        QCOMPARE(sizeText(999), std::string("999 bytes"));
        QCOMPARE(sizeText(1400), std::string("1.4 KB"));
        QCOMPARE(sizeText(999'960), std::string("1.0 MB"));
        QCOMPARE(sizeText(45'000'000'000), std::string("45.0 GB"));
    }
};

QTEST_APPLESS_MAIN(TstPushFolder)
#include "tst_push_folder.moc"
