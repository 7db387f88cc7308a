// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/agent/assemble.h"
#include "core/base/files.h"
#include "core/base/hash.h"

#include <QTemporaryDir>
#include <QTest>

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <thread>

#include "agent_process.h"

using namespace lockstep;
using namespace lockstep::agent;

namespace fs = std::filesystem;

namespace {

FolderEntry file(const std::string& path, const std::string& bytes) {
    FolderEntry entry;
    entry.path = path;
    entry.sha256 = toHex(sha256(bytes));
    entry.size = static_cast<std::int64_t>(bytes.size());
    return entry;
}

FolderEntry linkTo(const std::string& path, const std::string& target) {
    FolderEntry entry;
    entry.kind = FolderEntry::Kind::Link;
    entry.path = path;
    entry.target = target;
    return entry;
}

FolderEntry folder(const std::string& path) {
    FolderEntry entry;
    entry.kind = FolderEntry::Kind::Folder;
    entry.path = path;
    return entry;
}

} // namespace

class TstAssemble : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;
    int m_count = 0;

    std::string path(const std::string& name) const {
        return m_folder.path().toStdString() + '/' + name;
    }
    AssembleRequest request(std::vector<FolderEntry> entries) {
        return {path("store"), path("run" + std::to_string(++m_count) + "/push"),
                std::move(entries)};
    }
    void store(const std::string& bytes) const {
        QVERIFY(files::makeFolders(path("store")));
        QVERIFY(files::writeAtomic(path("store/" + toHex(sha256(bytes))), bytes));
    }

private Q_SLOTS:
    void asksForWhatIsMissingAndMakesTheRest() {
        FolderEntry program = file("run.sh", "#!/bin/sh\n");
        program.isProgram = true;
        const auto wanted = request({program, folder("empty"), file("src/a.py", "a = 1\n"),
                                     file("src/again.py", "a = 1\n"), linkTo("now", "src/a.py")});
        auto reply = assemble(wanted);
        QVERIFY(reply);
        QCOMPARE(reply->missing.size(), std::size_t{2}); // the same bytes are asked for once
        QVERIFY(!fs::exists(wanted.target));
        store("#!/bin/sh\n");
        store("a = 1\n");
        reply = assemble(wanted);
        QVERIFY(reply && reply->ok());
        QCOMPARE(*files::read(wanted.target + "/src/again.py"), std::string("a = 1\n"));
        QCOMPARE(*files::read(wanted.target + "/now"), std::string("a = 1\n"));
        QVERIFY(fs::is_directory(wanted.target + "/empty"));
        QCOMPARE(::access((wanted.target + "/run.sh").c_str(), X_OK), 0);
        QVERIFY(::access((wanted.target + "/src/a.py").c_str(), X_OK) != 0);
        // Another run finds all of it there; what a run wrote into its files is its own.
        QVERIFY(files::writeAtomic(wanted.target + "/src/a.py", "changed"));
        const auto second = request(wanted.entries);
        QVERIFY(assemble(second)->ok());
        QCOMPARE(*files::read(second.target + "/src/a.py"), std::string("a = 1\n"));
        QVERIFY(assemble(wanted)->ok()); // and stays as it is
        QCOMPARE(*files::read(wanted.target + "/src/a.py"), std::string("changed"));
    }

    void throwsOutBytesThatAreOthers() {
        const auto wanted = request({file("x", "right")});
        QVERIFY(files::makeFolders(path("store")));
        QVERIFY(files::writeAtomic(path("store/" + wanted.entries[0].sha256), "wrong"));
        const auto reply = assemble(wanted);
        QVERIFY(reply);
        QCOMPARE(reply->missing, std::vector<std::string>{wanted.entries[0].sha256});
        QVERIFY(!fs::exists(wanted.target));
        QVERIFY(!fs::exists(path("store/" + wanted.entries[0].sha256)));
    }

    void isMadeOnceWhereTwoHostsAreOneMachine() {
        std::vector<FolderEntry> entries;
        for (int i = 0; i < 20; ++i) {
            const std::string bytes = "line " + std::to_string(i) + "\n";
            store(bytes);
            entries.push_back(file("src/" + std::to_string(i) + ".py", bytes));
        }
        for (int round = 0; round < 30; ++round) {
            const auto wanted = request(entries);
            std::vector<std::thread> hosts;
            std::array<std::string, 3> said;
            for (std::string& mine : said)
                hosts.emplace_back([&wanted, &mine] {
                    const auto reply = assemble(wanted);
                    mine = !reply ? describe(reply.error()) : reply->ok() ? "made" : "missing";
                });
            for (std::thread& host : hosts)
                host.join();
            for (const std::string& mine : said)
                QCOMPARE(mine, std::string("made"));
            const fs::path folder = fs::path(wanted.target);
            const auto count = [](const auto& iterator) {
                return std::distance(begin(iterator), end(iterator));
            };
            QCOMPARE(count(fs::directory_iterator(folder / "src")), 20);
            // Nothing half-made is left beside it.
            QCOMPARE(count(fs::directory_iterator(folder.parent_path())), 1);
        }
    }

    void forgetsWhatNoRunUsedForAMonth() {
        store("old");
        store("in use");
        const auto monthAgo = fs::file_time_type::clock::now() - std::chrono::hours(24 * 31);
        for (const char* bytes : {"old", "in use"})
            fs::last_write_time(path("store/" + toHex(sha256(bytes))), monthAgo);
        QVERIFY(assemble(request({file("x", "in use")}))->ok());
        QVERIFY(!fs::exists(path("store/" + toHex(sha256("old")))));
        QVERIFY(fs::exists(path("store/" + toHex(sha256("in use")))));
    }

    void refusesPathsThatLeaveTheFolder_data() {
        QTest::addColumn<QString>("path");
        QTest::addColumn<QString>("target");
        for (const char* path : {"", "/etc/x", "../x", "a/../../x", "a//b", "./a", "a/"})
            QTest::addRow("path %s", path) << path << QString();
        for (const char* target : {"", "/etc", "..", "../../x", "a/../../../x"})
            QTest::addRow("target %s", target) << "l" << target;
    }
    void refusesPathsThatLeaveTheFolder() {
        QFETCH(QString, path);
        QFETCH(QString, target);
        AssembleRequest wanted{"/store", "/target", {}};
        wanted.entries = {target.isNull() ? file(path.toStdString(), "x")
                                          : linkTo("l", target.toStdString())};
        QVERIFY(!decodeAssembleRequest(encode(wanted)));
    }

    void worksAsACommand() {
        store("by command");
        const auto wanted = request({file("x", "by command"), linkTo("a/up", "../x")});
        const auto decoded = decodeAssembleRequest(encode(wanted));
        QVERIFY(decoded);
        QVERIFY(decoded->entries == wanted.entries);
        const auto answer = test::call(QStringLiteral("assemble"), encode(wanted));
        QCOMPARE(answer.exitCode, 0);
        QVERIFY(decodeAssembleReply(answer.line)->ok());
        QCOMPARE(*files::read(wanted.target + "/a/up"), std::string("by command"));
    }
};

QTEST_GUILESS_MAIN(TstAssemble)
#include "tst_assemble.moc"
