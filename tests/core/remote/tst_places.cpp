// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// Which folder of a host is taken, with real mounts in a mount namespace; and a root without any
// libc.
#include "core/base/json.h"
#include "core/remote/ssh_host.h"
#include "tests/support/sanitizer.h"

#include <QDirIterator>
#include <QtTest>

#include <sys/stat.h>
#include <unistd.h>

#include "shell_connection.h"

using namespace lockstep;
using namespace lockstep::remote;

namespace {

const QString kBundleFolder = QStringLiteral(LOCKSTEP_BIN_DIR "/bundle");
constexpr int kDeadline = 60'000;

/// A mount namespace with mounts of its own, alive as long as this object.
class Mounts {
public:
    explicit Mounts(const QString& script) {
        m_process.start(u"unshare"_qs, {u"--mount"_qs, u"--propagation"_qs, u"private"_qs, u"sh"_qs,
                                        u"-ec"_qs, script + u"\necho ready\nread _"_qs});
        m_process.waitForReadyRead(10'000);
        m_isUp = m_process.readAllStandardOutput().contains("ready");
    }
    ~Mounts() {
        m_process.closeWriteChannel();
        m_process.waitForFinished(5000);
    }
    bool isUp() const { return m_isUp; }
    QByteArray errors() { return m_process.readAllStandardError(); }
    QStringList enter() const {
        return {u"nsenter"_qs, u"--mount=/proc/%1/ns/mnt"_qs.arg(m_process.processId())};
    }

private:
    QProcess m_process;
    bool m_isUp = false;
};

template <class T>
struct Kept {
    std::optional<Result<T>> result;
    Host::Done<T> done() {
        return [this](Result<T> r) { result = std::move(r); };
    }
    /// Waits; what went wrong, or nothing.
    QString wait() {
        QTimer wake;
        wake.start(50);
        for (const QDeadlineTimer deadline(kDeadline); !result && !deadline.hasExpired();)
            QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
        return !result         ? QStringLiteral("nothing came")
               : !result->ok() ? QString::fromStdString(describe(result->error()))
                               : QString();
    }
};

struct Far {
    explicit Far(const QStringList& prefix = {}) {
        auto made = std::make_unique<ShellConnection>();
        line = made.get();
        line->setPrefix(prefix);
        host = std::make_unique<SshHost>(std::move(made), readBundle(kBundleFolder).value());
    }
    /// Deploys and prepares; what went wrong, or nothing.
    QString ready() {
        Kept<QString> deployed;
        host->deploy(deployed.done());
        if (const QString wrong = deployed.wait(); !wrong.isEmpty())
            return wrong;
        Kept<HostFacts> prepared;
        host->prepare({}, prepared.done());
        const QString wrong = prepared.wait();
        if (wrong.isEmpty())
            facts = **prepared.result;
        return wrong;
    }
    Output run(const Command& command, const QByteArray& input = {}) {
        Kept<Output> kept;
        host->run(command, input, kept.done());
        const QString wrong = kept.wait();
        return wrong.isEmpty() ? **kept.result : Output{{1, 0}, {}, wrong.toUtf8()};
    }

    ShellConnection* line;
    std::unique_ptr<SshHost> host;
    HostFacts facts;
};

QString missingMounts() {
    if (::geteuid() != 0)
        return QStringLiteral("mounts can be made by root only");
    Mounts mounts(u"mount -t tmpfs tmpfs /tmp"_qs);
    return mounts.isUp() ? QString() : QString::fromUtf8(mounts.errors());
}

const QString kUid = QString::number(::geteuid());

} // namespace

class TestPlaces : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init() {
        const QString missing = missingMounts();
        if (!missing.isEmpty() && qgetenv("LOCKSTEP_REQUIRE").contains("mounts"))
            QFAIL(qPrintable(missing));
        if (!missing.isEmpty())
            QSKIP(qPrintable(missing));
    }

    void noexecAndReadOnlyFoldersArePassedOverWithTheReason() {
        Far far;
        const QString home = far.line->home();
        Mounts mounts(u"mount -t tmpfs tmpfs /dev/shm\n"
                      "mount --bind '%1' '%1'; mount -o remount,ro,bind '%1'\n"
                      "mount -t tmpfs -o noexec,mode=1777 tmpfs /tmp\n"_qs.arg(home));
        QVERIFY2(mounts.isUp(), mounts.errors().constData());
        far.line->setPrefix(mounts.enter());
        const QString wrong = far.ready();
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        QCOMPARE(far.facts.base, u"/dev/shm/lockstep-"_qs + kUid);
        const QString notes = far.facts.notes.join(u'\n');
        QVERIFY2(notes.contains(u"Read-only file system"), qPrintable(notes));
        QVERIFY2(notes.contains(u"/tmp/lockstep-%1: programs cannot be executed"_qs.arg(kUid)),
                 qPrintable(notes));
        // Nothing was left in the folder that was tried first.
        const Output left = far.run(
            {u"/bin/sh"_qs, {u"-c"_qs, u"ls /tmp/lockstep-%1/helper"_qs.arg(kUid)}, {}, {}});
        QCOMPARE(left.out, QByteArray());
    }

    void aFullFolderIsPassedOver() {
        Far far;
        const QString home = far.line->home();
        Mounts mounts(u"mount -t tmpfs tmpfs /dev/shm\n"
                      "mount -t tmpfs -o size=1m tmpfs '%1'\n"
                      "mount -t tmpfs tmpfs /tmp\n"_qs.arg(home));
        QVERIFY2(mounts.isUp(), mounts.errors().constData());
        far.line->setPrefix(mounts.enter());
        const QString wrong = far.ready();
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        QCOMPARE(far.facts.base, u"/tmp/lockstep-"_qs + kUid);
        const QString notes = far.facts.notes.join(u'\n');
        QVERIFY2(notes.contains(u"there is no room"), qPrintable(notes));
    }

    void foldersOfOthersAreNotTrusted_data() {
        QTest::addColumn<QString>("make");
        QTest::addColumn<QString>("reason");
        QTest::newRow("of another user")
            << u"mkdir -m 777 \"$D\"; chown 12345 \"$D\""_qs << u"not a folder of this user"_qs;
        QTest::newRow("that others may enter") << u"mkdir -m 755 \"$D\""_qs << u"0700"_qs;
        QTest::newRow("that is a link")
            << u"mkdir /tmp/x; ln -s x \"$D\""_qs << u"not a folder of this user"_qs;
        QTest::newRow("with a helper planted by another user")
            << u"mkdir -m 777 \"$D\"; chown 12345 \"$D\"; mkdir \"$D/helper\"; "
               "printf '#!/bin/sh\\ntouch /tmp/ran\\n' >\"$D/helper/$H\"; "
               "chmod 755 \"$D/helper/$H\"; chown 12345 \"$D/helper/$H\""_qs
            << u"not a folder of this user"_qs;
    }
    void foldersOfOthersAreNotTrusted() {
        QFETCH(QString, make);
        QFETCH(QString, reason);
        Far far;
        const QString home = far.line->home();
        Mounts mounts(
            u"mount -t tmpfs tmpfs /dev/shm\n"
            "mount --bind '%1' '%1'; mount -o remount,ro,bind '%1'\n"
            "mount -t tmpfs -o mode=1777 tmpfs /tmp\n"
            "D=/tmp/lockstep-%2 H=%3\n"_qs.arg(home, kUid, readBundle(kBundleFolder)->helperHash) +
            make);
        QVERIFY2(mounts.isUp(), mounts.errors().constData());
        far.line->setPrefix(mounts.enter());
        const QString wrong = far.ready();
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        QCOMPARE(far.facts.base, u"/dev/shm/lockstep-"_qs + kUid);
        const QString notes = far.facts.notes.join(u'\n');
        QVERIFY2(notes.contains(reason), qPrintable(notes));
        QCOMPARE(far.run({u"/bin/sh"_qs, {u"-c"_qs, u"ls /tmp/ran"_qs}, {}, {}}).out, QByteArray());
    }

    void whereNothingWillDoEveryReasonIsTold() {
        Far far;
        const QString home = far.line->home();
        Mounts mounts(u"for d in /dev/shm /tmp; do mount -t tmpfs -o noexec tmpfs $d; done\n"
                      "mount --bind '%1' '%1'; mount -o remount,ro,bind '%1'\n"_qs.arg(home));
        QVERIFY2(mounts.isUp(), mounts.errors().constData());
        far.line->setPrefix(mounts.enter());
        const QString wrong = far.ready();
        for (const char* part : {"/.local/share/lockstep: Read-only", "/tmp/lockstep-",
                                 "/dev/shm/lockstep-", "cannot be executed", "\"base\""})
            QVERIFY2(wrong.contains(QString::fromLatin1(part)), qPrintable(wrong));
    }

    void aRootWithoutAnyLibcRunsTheWorker() {
        if (support::kIsSanitized)
            QSKIP("A sanitizer cannot be linked statically.");
        const QString busybox = QStandardPaths::findExecutable(u"busybox"_qs);
        if (busybox.isEmpty() && qgetenv("LOCKSTEP_REQUIRE").contains("mounts"))
            QFAIL("busybox is missing");
        if (busybox.isEmpty())
            QSKIP("busybox is missing; install busybox-static");
        Far far;
        const QString root = far.line->home() + u"/root"_qs;
        QProcess make;
        make.start(u"sh"_qs, {u"-ec"_qs,
                              u"mkdir -p \"$1/bin\" \"$1/root\" \"$1/tmp\" \"$1/etc\" \"$1/dev\"\n"
                              "cp \"$0\" \"$1/bin/busybox\"\n"
                              "for n in sh cat mkdir chmod mv id uname; do "
                              "ln -s busybox \"$1/bin/$n\"; done\n"
                              "mknod -m 666 \"$1/dev/null\" c 1 3\n"
                              "echo 127.0.0.1 alpha >\"$1/etc/hosts\"\n"
                              "echo 0123456789abcdef0123456789abcdef >\"$1/etc/machine-id\"\n"_qs,
                              busybox, root});
        QVERIFY(make.waitForFinished());
        QVERIFY2(make.exitCode() == 0, make.readAllStandardError().constData());
        QProcess libraries;
        libraries.start(u"find"_qs, {root, u"-name"_qs, u"*.so*"_qs});
        QVERIFY(libraries.waitForFinished());
        QCOMPARE(libraries.readAllStandardOutput(), QByteArray());
        far.line->setPrefix({u"chroot"_qs, root});
        far.line->environment().insert(u"HOME"_qs, u"/root"_qs);
        far.line->environment().insert(u"PATH"_qs, u"/bin"_qs);
        const QString wrong = far.ready();
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        QVERIFY(far.facts.workerArgs.contains(u"--library-path"_qs));

        QFile example(QStringLiteral(LOCKSTEP_SOURCE_DIR "/resources/examples/dense-regression/"
                                                         "dense-regression.job.json"));
        QVERIFY(example.open(QIODevice::ReadOnly));
        Kept<void> put;
        far.host->put(u"/root/job.json"_qs, example.readAll(), 0600, put.done());
        QCOMPARE(put.wait(), QString());
        Kept<void> made;
        far.host->makeFolder(u"/root/run"_qs, 0700, made.done());
        QCOMPARE(made.wait(), QString());
        const Output described = far.run(far.facts.worker({u"describe"_qs, u"/root/job.json"_qs}));
        QVERIFY2(described.exit.isSuccess(), (described.out + described.err).constData());
        QVERIFY(described.out.contains("\"trainable\""));

        // A name of /etc/hosts, found by the bundle's own libraries.
        Command train = far.facts.worker(
            {u"train"_qs, u"--job"_qs, u"/root/job.json"_qs, u"--run-dir"_qs, u"/root/run"_qs});
        train.env[u"TF_CONFIG"_qs] =
            u"{\"cluster\":{\"worker\":[\"alpha:%1\"]},\"task\":{\"type\":\"worker\",\"index\":0}}"_qs
                .arg(40000 + ::getpid() % 20000);
        const Output trained = far.run(train);
        QVERIFY2(trained.exit.isSuccess(), (trained.out + trained.err).constData());
        QVERIFY2(trained.out.contains("Epoch 5/5"), trained.out.constData());
        QVERIFY(QFile::exists(root + u"/root/run/model.safetensors"_qs));
    }
};

QTEST_GUILESS_MAIN(TestPlaces)
#include "tst_places.moc"
