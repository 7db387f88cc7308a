// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/remote/local_host.h"

#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QtTest>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace lockstep;
using namespace lockstep::remote;

namespace {

void write(const QString& path, const QByteArray& bytes) {
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly));
    QCOMPARE(file.write(bytes), bytes.size());
}

QByteArray read(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

/// A pipe whose reader waits until this is gone.
class BlockingFile {
public:
    explicit BlockingFile(const QString& path)
        : m_fd(::mkfifo(path.toLocal8Bit().constData(), 0600) == 0
                   ? ::open(path.toLocal8Bit().constData(), O_RDWR | O_CLOEXEC)
                   : -1) {}
    ~BlockingFile() { release(); }
    bool isOpen() const { return m_fd >= 0; }
    void release() {
        if (m_fd >= 0)
            ::close(std::exchange(m_fd, -1));
    }

private:
    int m_fd;
};

/// A callback that keeps the result; `count` tells how often it was called.
template <class T>
struct Kept {
    std::optional<Result<T>> result;
    int count = 0;
    Host::Done<T> done() {
        return [this](Result<T> r) {
            result = std::move(r);
            ++count;
        };
    }
};

} // namespace

class TestLocalFiles : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init() {
        m_folder = std::make_unique<QTemporaryDir>();
        m_local = std::make_unique<LocalHost>();
    }
    void cleanup() {
        m_local.reset();
        m_folder.reset();
    }

    void putsAndFetchesBytes() {
        const QString path = m_folder->filePath(u"a.bin"_qs);
        QByteArray bytes("a\0\n\xff", 4);
        Kept<void> put;
        host().put(path, bytes, 0600, put.done());
        QVERIFY(!put.result); // never from within the request
        QTRY_VERIFY(put.result);
        QVERIFY(put.result->ok());
        QCOMPARE(read(path), bytes);
        QCOMPARE(QFile(path).permissions() &
                     (QFile::ReadGroup | QFile::ReadOther | QFile::ExeOwner),
                 QFile::Permissions());
        Kept<QByteArray> fetched;
        host().fetch(path, fetched.done());
        QTRY_VERIFY(fetched.result);
        QCOMPARE(fetched.result->value(), bytes);
    }

    void answersInOrderOfRequests() {
        Kept<void> made;
        Kept<void> put;
        Kept<FileFacts> facts;
        const QString folder = m_folder->filePath(u"x/y"_qs);
        host().makeFolder(folder, 0700, made.done());
        host().put(folder + u"/f"_qs, "abc", 0640, put.done());
        host().info(folder + u"/f"_qs, facts.done());
        QTRY_VERIFY(facts.result);
        QVERIFY(made.result->ok() && put.result->ok());
        QCOMPARE((*facts.result)->kind, FileFacts::Kind::File);
        QCOMPARE((*facts.result)->size, 3);
        QCOMPARE((*facts.result)->mode, 0640u);
    }

    void saysWhatStandsAtAPath() {
        Kept<FileFacts> none;
        Kept<FileFacts> folder;
        Kept<FileFacts> device;
        host().info(m_folder->filePath(u"none"_qs), none.done());
        host().info(m_folder->path(), folder.done());
        host().info(u"/dev/null"_qs, device.done());
        QTRY_VERIFY(device.result);
        QCOMPARE((*none.result)->kind, FileFacts::Kind::None);
        QCOMPARE((*folder.result)->kind, FileFacts::Kind::Folder);
        QCOMPARE((*device.result)->kind, FileFacts::Kind::Other);
    }

    void namesWhatCannotBeReadOrWritten() {
        Kept<QByteArray> fetched;
        Kept<void> put;
        Kept<void> copied;
        const QString none = m_folder->filePath(u"none/f"_qs);
        host().fetch(none, fetched.done());
        host().put(none, "x", 0644, put.done());
        host().putFile(none, m_folder->filePath(u"g"_qs), 0644, {}, copied.done());
        QTRY_VERIFY(fetched.result && put.result && copied.result);
        QCOMPARE(fetched.result->error().code, Code::NotFound);
        QCOMPARE(put.result->error().code, Code::NotFound);
        QCOMPARE(put.result->error().where, none.toStdString());
        QCOMPARE(copied.result->error().code, Code::NotFound);
        QVERIFY(QDir(m_folder->path()).isEmpty());
    }

    void copiesFilesOfAnySizeWithProgress_data() {
        QTest::addColumn<int>("size");
        for (const int size : {0, 1, 1 << 20, (5 << 20) + 17})
            QTest::addRow("%d bytes", size) << size;
    }
    void copiesFilesOfAnySizeWithProgress() {
        QFETCH(int, size);
        QByteArray bytes(size, '\0');
        for (int i = 0; i < size; i += 11)
            bytes[i] = static_cast<char>(i / 11);
        const QString source = m_folder->filePath(u"source"_qs);
        const QString middle = m_folder->filePath(u"middle"_qs);
        const QString target = m_folder->filePath(u"target"_qs);
        write(source, bytes);
        std::int64_t last = 0;
        Kept<void> put;
        Kept<void> fetched;
        const auto progress = [&](std::int64_t done, std::int64_t total) {
            QVERIFY(done >= last);
            QCOMPARE(total, size);
            last = done;
        };
        host().putFile(source, middle, 0755, progress, put.done());
        host().fetchFile(middle, target, {}, fetched.done());
        QTRY_VERIFY(fetched.result);
        QVERIFY(put.result->ok() && fetched.result->ok());
        QCOMPARE(last, size);
        QVERIFY(read(target) == bytes);
        QVERIFY(QFile(middle).permissions() & QFile::ExeOther);
        QCOMPARE(QDir(m_folder->path()).entryList(QDir::Files | QDir::Hidden).size(), 3);
    }

    // Reading a pipe without a writer blocks: the caller's thread must not, and the deadline
    // counts.
    void endsAtTheDeadlineWhileTheFileBlocks() {
        const QString pipe = m_folder->filePath(u"pipe"_qs);
        BlockingFile blocking(pipe);
        QVERIFY(blocking.isOpen());
        Kept<QByteArray> fetched;
        host().fetch(pipe, fetched.done(), 200ms);
        QTRY_VERIFY(fetched.result);
        QCOMPARE(fetched.result->error().code, Code::TimedOut);
        QCOMPARE(fetched.result->error().where, pipe.toStdString());
        blocking.release();
        Kept<FileFacts> facts;
        host().info(pipe, facts.done());
        QTRY_VERIFY(facts.result);
        QCOMPARE(fetched.count, 1);
    }

    void neverCallsBackAfterCancel() {
        const QString pipe = m_folder->filePath(u"pipe"_qs);
        BlockingFile blocking(pipe);
        QVERIFY(blocking.isOpen());
        Kept<QByteArray> fetched;
        Kept<void> put;
        const auto id = host().fetch(pipe, fetched.done());
        const auto waiting = host().put(m_folder->filePath(u"f"_qs), "x", 0644, put.done());
        host().cancel(id);
        host().cancel(waiting);
        host().cancel(12345);
        blocking.release();
        Kept<FileFacts> after;
        host().info(m_folder->filePath(u"f"_qs), after.done());
        QTRY_VERIFY(after.result);
        QCOMPARE((*after.result)->kind, FileFacts::Kind::None); // was not even begun
        QCOMPARE(fetched.count, 0);
        QCOMPARE(put.count, 0);
    }

    void cancelledCopyLeavesNothing() {
        const QString pipe = m_folder->filePath(u"pipe"_qs);
        BlockingFile blocking(pipe);
        QVERIFY(blocking.isOpen());
        const QString target = m_folder->filePath(u"target"_qs);
        Kept<void> copied;
        const auto id = host().putFile(pipe, target, 0644, {}, copied.done());
        const auto files = [this] {
            return QDir(m_folder->path()).entryList(QDir::Files | QDir::Hidden);
        };
        QTRY_COMPARE(files().size(), 1); // the part file
        host().cancel(id);
        blocking.release();
        QTRY_COMPARE(files(), QStringList());
        QCOMPARE(copied.count, 0);
    }

    void mayBeDestroyedFromACallback() {
        Kept<FileFacts> facts;
        host().info(m_folder->path(), [&](Result<FileFacts> r) {
            facts.done()(std::move(r));
            m_local.reset();
        });
        host().info(m_folder->path(), [&](const Result<FileFacts>&) { QFAIL("host is gone"); });
        QTRY_VERIFY(facts.result);
        QVERIFY(!m_local);
    }

private:
    Host& host() { return *m_local; }

    std::unique_ptr<QTemporaryDir> m_folder;
    std::unique_ptr<LocalHost> m_local;
};

QTEST_GUILESS_MAIN(TestLocalFiles)
#include "tst_local_files.moc"
