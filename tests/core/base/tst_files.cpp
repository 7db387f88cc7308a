// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/files.h"

#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QtTest>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <thread>

using namespace lockstep;

namespace {

QByteArray bytesOf(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray("unreadable");
}

QStringList entriesOf(const QString& folder) {
    return QDir(folder).entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot);
}

/// While it lives, this process cannot write a file beyond `bytes`.
class FileSizeLimit {
public:
    explicit FileSizeLimit(rlim_t bytes) {
        m_oldHandler = std::signal(SIGXFSZ, SIG_IGN); // so that write() fails with EFBIG
        ::getrlimit(RLIMIT_FSIZE, &m_old);
        const rlimit limit{bytes, m_old.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~FileSizeLimit() {
        ::setrlimit(RLIMIT_FSIZE, &m_old);
        std::signal(SIGXFSZ, m_oldHandler);
    }
    FileSizeLimit(const FileSizeLimit&) = delete;
    FileSizeLimit& operator=(const FileSizeLimit&) = delete;

private:
    rlimit m_old{};
    void (*m_oldHandler)(int) = nullptr;
};

/// While it lives, a test that runs as root has a common user's rights.
class WithoutRoot {
public:
    WithoutRoot() {
        constexpr uid_t kNobody = 65534;
        if (::geteuid() == 0)
            m_dropped = ::seteuid(kNobody) == 0;
    }
    ~WithoutRoot() {
        if (m_dropped && ::seteuid(0) != 0)
            std::abort();
    }
    WithoutRoot(const WithoutRoot&) = delete;
    WithoutRoot& operator=(const WithoutRoot&) = delete;

private:
    bool m_dropped = false;
};

} // namespace

class TestFiles : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init() { m_dir = std::make_unique<QTemporaryDir>(); }
    void cleanup() { m_dir.reset(); }

    void readsWhatWasWritten() {
        std::string bytes("a\0b\r\n\xFF", 6);
        bytes.append(200000, 'x'); // more than one block
        QVERIFY(files::writeAtomic(at("f"), bytes).ok());
        const auto read = files::read(at("f"));
        QVERIFY(read.ok());
        QVERIFY(*read == bytes);
        QVERIFY(files::writeAtomic(at("f"), "", files::Durability::Renamed).ok());
        QCOMPARE(*files::read(at("f")), "");
        QCOMPARE(entriesOf(m_dir->path()), QStringList{"f"});
    }

    void saysWhyAFileCannotBeRead() {
        const auto missing = files::read(at("no/such"));
        QCOMPARE(missing.error().code, Code::NotFound);
        QCOMPARE(missing.error().message, "Could not open this: no such file or directory.");
        QCOMPARE(missing.error().where, at("no/such"));
        const auto folder = files::read(at(""));
        QCOMPARE(folder.error().code, Code::InvalidArgument);
        QCOMPARE(folder.error().message, "This is a folder; expected a file.");
        QCOMPARE(files::read(at(std::string(300, 'x'))).error().code, Code::InvalidArgument);
    }

    void refusesLongFiles() {
        QVERIFY(files::writeAtomic(at("f"), "12345").ok());
        QVERIFY(files::read(at("f"), 5).ok());
        const auto read = files::read(at("f"), 4);
        QCOMPARE(read.error().code, Code::InvalidArgument);
        QCOMPARE(read.error().message, "This file is longer than 4 bytes.");
    }

    void givesTheModeAskedFor() {
        QVERIFY(files::writeAtomic(at("secret"), "x", files::Durability::Synced, 0600).ok());
        struct stat info {};
        QCOMPARE(::stat(at("secret").c_str(), &info), 0);
        QCOMPARE(info.st_mode & 07777u, 0600u);
    }

    void leavesTheOldFileWhenWritingFails() {
        QVERIFY(QDir(m_dir->path()).mkpath("taken/inside"));
        const auto onFolder = files::writeAtomic(at("taken"), "new");
        QVERIFY(!onFolder.ok());
        QCOMPARE(onFolder.error().where, at("taken"));
        const auto noFolder = files::writeAtomic(at("missing/f"), "new");
        QCOMPARE(noFolder.error().code, Code::NotFound);
        QCOMPARE(entriesOf(m_dir->path()), QStringList{"taken"});
    }

    void leavesNothingWhenTheDiskIsFull() {
        // A file-size limit fails the write in the middle, as a full disk does.
        QVERIFY(files::writeAtomic(at("f"), "old").ok());
        const FileSizeLimit limit(1000);
        const auto written = files::writeAtomic(at("f"), std::string(100000, 'x'));
        QVERIFY(!written.ok());
        QCOMPARE(written.error().message, "Could not write this: file too large.");
        QCOMPARE(bytesOf(m_dir->filePath("f")), QByteArray("old"));
        QCOMPARE(entriesOf(m_dir->path()), QStringList{"f"});
    }

    void showsReadersTheOldOrTheNewFile() {
        const std::string a(100000, 'a');
        const std::string b(100000, 'b');
        QVERIFY(files::writeAtomic(at("f"), a).ok());
        std::jthread writer([&](const std::stop_token& stop) {
            for (int i = 0; !stop.stop_requested(); ++i)
                (void)files::writeAtomic(at("f"), i % 2 ? a : b, files::Durability::Renamed);
        });
        for (int i = 0; i < 300; ++i) {
            const auto read = files::read(at("f"));
            QVERIFY(read.ok());
            QVERIFY(*read == a || *read == b);
        }
    }

    void makesFoldersWithTheirParents() {
        QVERIFY(files::makeFolders(at("a/b/c/"), 0700).ok());
        QVERIFY(files::makeFolders(at("a/b/c")).ok());
        struct stat info {};
        QCOMPARE(::stat(at("a/b").c_str(), &info), 0);
        QCOMPARE(info.st_mode & 07777u, 0700u);
    }

    void refusesAFileInTheWayOfAFolder() {
        QVERIFY(files::writeAtomic(at("f"), "x").ok());
        QCOMPARE(files::makeFolders(at("f")).error().code, Code::AlreadyExists);
        const auto below = files::makeFolders(at("f/deeper/down"));
        QVERIFY(!below.ok());
        QCOMPARE(below.error().where, at("f"));
    }

    void saysWhyAFolderCannotBeMade() {
        QVERIFY(!files::makeFolders("/proc/lockstep/x").ok());
        QVERIFY(!files::makeFolders(at(std::string(300, 'x'))).ok());
    }

    void tellsWhetherAFolderTakesFiles() {
        QVERIFY(files::checkWritable(at("")).ok());
        QCOMPARE(entriesOf(m_dir->path()), QStringList{});
        const auto missing = files::checkWritable(at("nowhere"));
        QCOMPARE(missing.error().code, Code::NotFound);
        QCOMPARE(missing.error().message, "Could not write into this: no such file or directory.");
    }

    void refusesFoldersOfOthers() {
        QVERIFY(files::makeFolders(at("shut"), 0500).ok());
        QVERIFY(files::makeFolders(at("dark"), 0000).ok());
        QCOMPARE(::chmod(at("").c_str(), 0755), 0); // reachable for the user
        const WithoutRoot user;
        QCOMPARE(files::checkWritable("/usr").error().code, Code::PermissionDenied);
        QCOMPARE(files::writeAtomic(at("shut/f"), "x").error().code, Code::PermissionDenied);
        const auto below = files::makeFolders(at("dark/a/b"));
        QCOMPARE(below.error().code, Code::PermissionDenied);
        QCOMPARE(below.error().where, at("dark/a"));
    }

private:
    std::string at(const std::string& name) const {
        return m_dir->path().toStdString() + (name.empty() ? "" : "/" + name);
    }

    std::unique_ptr<QTemporaryDir> m_dir;
};

QTEST_APPLESS_MAIN(TestFiles)
#include "tst_files.moc"
