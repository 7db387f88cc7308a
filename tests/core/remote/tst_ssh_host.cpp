// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// From a login shell to a host that serves: every shell, noisy start-up files, interruptions.
#include "core/base/files.h"
#include "core/remote/ssh_host.h"

#include <QDirIterator>
#include <QElapsedTimer>
#include <QSignalSpy>
#include <QtTest>

#include <cerrno>
#include <csignal>

#include "shell_connection.h"

using namespace lockstep;
using namespace lockstep::remote;

namespace {

const QString kBundleFolder = QStringLiteral(LOCKSTEP_BIN_DIR "/bundle");
constexpr int kDeadline = 60'000;

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

Bundle bundle() {
    auto read = readBundle(kBundleFolder);
    return read ? *read : Bundle{};
}

/// Everything below a folder, as names relative to it.
QStringList namesIn(const QString& folder) {
    QStringList names;
    QDirIterator each(folder, QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot,
                      QDirIterator::Subdirectories);
    while (each.hasNext())
        names += each.next().mid(folder.size() + 1);
    return names;
}

QByteArray contents(const QString& path) {
    const auto bytes = files::read(path.toStdString());
    return bytes ? QByteArray::fromStdString(*bytes) : QByteArray();
}

/// Unlike QTest::qWaitFor() without a pause between two events.
template <class Condition>
bool becomes(Condition condition) {
    QTimer wake;
    wake.start(50);
    for (const QDeadlineTimer deadline(kDeadline); !condition() && !deadline.hasExpired();)
        QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
    return condition();
}

bool lives(const QByteArray& pid) {
    return ::kill(pid.toInt(), 0) == 0 || errno != ESRCH;
}

/// A host over a shell of this machine.
struct Far {
    explicit Far(const QString& shell = QStringLiteral("/bin/sh"), const Bundle& with = bundle(),
                 const QString& base = {}) {
        auto made = std::make_unique<ShellConnection>(shell);
        line = made.get();
        host = std::make_unique<SshHost>(std::move(made), with, base);
        QObject::connect(host.get(), &Host::stageChanged,
                         [this](HostStage stage, std::int64_t done, std::int64_t total) {
                             if (stages.empty() || stages.back() != stage)
                                 stages.push_back(stage);
                             if (total > 0 && firstBytes < 0)
                                 firstBytes = done;
                             lastBytes = done;
                         });
    }
    QString lockstep() const { return line->home() + QStringLiteral("/.local/share/lockstep"); }
    /// The version, or what went wrong.
    QString deploy() {
        Kept<QString> kept;
        host->deploy(kept.done());
        if (!becomes([&] { return kept.result.has_value(); }))
            return QStringLiteral("nothing came");
        return kept.result->ok() ? **kept.result
                                 : QString::fromStdString(describe(kept.result->error()));
    }
    Result<Output> run(const Command& command, const QByteArray& input = {}) {
        Kept<Output> kept;
        host->run(command, input, kept.done());
        if (!becomes([&] { return kept.result.has_value(); }))
            return Error{Code::TimedOut, "nothing came", {}};
        return *kept.result;
    }

    ShellConnection* line;
    std::unique_ptr<SshHost> host;
    std::vector<HostStage> stages;
    std::int64_t firstBytes = -1;
    std::int64_t lastBytes = 0;
};

Command shell(const QString& script) {
    return {u"/bin/sh"_qs, {u"-c"_qs, script}, {}, {}};
}

const QByteArray kNoise = "echo hello from a start-up file\nprintf '\\033[33mwarning\\n'\n"
                          "printf 'no line end'\n";

} // namespace

class TestSshHost : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        const auto read = readBundle(kBundleFolder);
        QVERIFY2(read.ok(), read.ok() ? "" : describe(read.error()).c_str());
    }

    void anyShellWithNoisyStartUpFilesLeadsToAWorker_data() {
        QTest::addColumn<QString>("program");
        for (const char* name : {"bash", "dash", "zsh", "fish", "tcsh", "rbash"})
            QTest::newRow(name) << QString::fromLatin1(name);
    }
    void anyShellWithNoisyStartUpFilesLeadsToAWorker() {
        QFETCH(QString, program);
        const QString path = QStandardPaths::findExecutable(program);
        if (path.isEmpty() && qgetenv("LOCKSTEP_REQUIRE").contains("shells"))
            QFAIL("this shell is missing");
        if (path.isEmpty())
            QSKIP("this shell is missing; install bash, dash, zsh, fish, tcsh");
        Far far(path);
        for (const char* file : {".bashrc", ".zshenv", ".tcshrc", ".config/fish/config.fish"})
            far.line->write(QString::fromLatin1(file), kNoise);
        QCOMPARE(far.deploy(), QStringLiteral("0.1.0"));
        const auto output = far.run(shell(u"cat; echo $0"_qs), "through\n");
        QVERIFY(output.ok());
        QCOMPARE(output->out, QByteArray("through\n/bin/sh\n"));
        QCOMPARE(far.stages.back(), HostStage::Ready);
        if (program == u"dash")
            return; // it reads no file for a command
        Kept<HostFacts> facts;
        far.host->prepare({}, facts.done());
        QTRY_VERIFY(facts.result);
        QVERIFY(facts.result->ok());
        QVERIFY2((**facts.result).notes.join(u'\n').contains(u"hello from a start-up file"),
                 qPrintable((**facts.result).notes.join(u'\n')));
        QVERIFY(!(**facts.result).notes.join(u'\n').contains(QChar(0x1b)));
    }

    void aStartUpFileThatSleepsIsWaitedFor() {
        Far far(QStandardPaths::findExecutable(u"bash"_qs));
        far.line->write(u".bashrc"_qs, "echo wait; sleep 3\n");
        QCOMPARE(far.deploy(), QStringLiteral("0.1.0"));
    }

    void anAccountWithoutAShellIsToldSo() {
        Far far(u"/bin/false"_qs);
        const QString said = far.deploy();
        QVERIFY2(said.contains(u"This account has no shell"), qPrintable(said));
    }

    void anotherArchitectureIsToldInWords() {
        Far far;
        const QString uname = far.line->write(u"bin/uname"_qs, "#!/bin/sh\necho aarch64\n");
        QFile::setPermissions(uname, QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
        far.line->environment().insert(u"PATH"_qs, far.line->home() + u"/bin:/usr/bin:/bin"_qs);
        const QString said = far.deploy();
        QVERIFY2(said.contains(u"architecture of this host is aarch64"), qPrintable(said));
        QVERIFY2(said.contains(u"x86_64"), qPrintable(said));
        QVERIFY(namesIn(far.line->home()).filter(u"helper"_qs).isEmpty());
    }

    void aShortPathIsEnough() {
        Far far;
        far.line->environment().insert(u"PATH"_qs, u"/bin"_qs);
        QCOMPARE(far.deploy(), QStringLiteral("0.1.0"));
    }

    void theClustersOwnBaseIsDataToEveryShell() {
        QTemporaryDir folder;
        const QString base = folder.path() + u"/it's $(touch ran) `touch ran` \"x\" a\\b ü"_qs;
        Far far(QStandardPaths::findExecutable(u"bash"_qs), bundle(), base);
        QCOMPARE(far.deploy(), QStringLiteral("0.1.0"));
        QVERIFY(QFileInfo(base + u"/helper/"_qs + bundle().helperHash).isExecutable());
        QVERIFY(namesIn(folder.path()).filter(u"engine/"_qs + bundle().hash).size() > 3);
        QVERIFY(namesIn(far.line->home()).filter(u"ran"_qs).isEmpty());
        QVERIFY(namesIn(far.line->home()).filter(u"lockstep"_qs).isEmpty());
    }

    void whatIsThereIsNotSentAgain() {
        Far far;
        QCOMPARE(far.deploy(), QStringLiteral("0.1.0"));
        QVERIFY(far.line->bytesSent > bundle().packedSize);
        far.line->breakOff();
        far.line->bytesSent = 0;
        QCOMPARE(far.deploy(), QStringLiteral("0.1.0"));
        QVERIFY2(far.line->bytesSent < 20'000, qPrintable(QString::number(far.line->bytesSent)));
        // Nothing but the two programs under their hashes, and no part of them.
        const QStringList names = namesIn(far.lockstep());
        QVERIFY(names.contains(u"helper/"_qs + bundle().helperHash));
        QVERIFY2(names.filter(u".part"_qs).isEmpty() && names.filter(u".new"_qs).isEmpty(),
                 qPrintable(names.join(u'\n')));
    }

    void aBundleWhoseFilesWereCleanedAwayIsSentAgain() {
        Far far;
        QCOMPARE(far.deploy(), QStringLiteral("0.1.0"));
        QString library;
        for (const QString& name : namesIn(far.lockstep()))
            if (name.contains(u"/lib/libsodium"))
                library = far.lockstep() + u'/' + name;
        QVERIFY(!library.isEmpty());
        QVERIFY(QFile::remove(library));
        QCOMPARE(far.deploy(), QStringLiteral("0.1.0"));
        QVERIFY(QFile::exists(library));
        QVERIFY(namesIn(far.lockstep()).filter(u".old"_qs).isEmpty());
    }

    void aCopyCutInTheMiddleGoesOnWhereItStopped() {
        Far far;
        far.line->breakAfter(QFileInfo(bundle().helperFile).size() + bundle().packedSize / 2);
        const QString said = far.deploy();
        QVERIFY2(said.contains(u"network went away"), qPrintable(said));
        QCOMPARE(far.stages.back(), HostStage::Idle);
        const QStringList parts = namesIn(far.lockstep()).filter(u".part"_qs);
        QCOMPARE(parts.size(), 1);
        const QFileInfo part(far.lockstep() + u'/' + parts[0]);
        QVERIFY(part.size() > bundle().packedSize / 4);
        QVERIFY(!part.isExecutable());
        QVERIFY(!QFile::exists(part.path() + u'/' + bundle().hash));
        // The helper of the broken connection lets go of the lock when it notices.
        far.line->bytesSent = 0;
        far.firstBytes = -1;
        QCOMPARE(far.deploy(), QStringLiteral("0.1.0"));
        QVERIFY2(far.line->bytesSent < bundle().packedSize * 3 / 4,
                 qPrintable(QString::number(far.line->bytesSent)));
        QVERIFY(far.firstBytes > bundle().packedSize / 4);
        QCOMPARE(far.lastBytes, 0); // Ready
    }

    void aDamagedPartIsThrownAwayAndSentAfresh() {
        Far far;
        far.line->breakAfter(QFileInfo(bundle().helperFile).size() + bundle().packedSize / 2);
        QVERIFY(far.deploy().contains(u"network went away"));
        QFile part(far.lockstep() + u'/' + namesIn(far.lockstep()).filter(u".part"_qs).value(0));
        QVERIFY(part.open(QIODevice::ReadWrite));
        part.seek(1000);
        part.write("damage");
        part.close();
        QCOMPARE(far.deploy(), QStringLiteral("0.1.0"));
    }

    void aHelperCutInTheMiddleIsNeverRun() {
        // A stand-in that tells when any of it is run, as long as the real one.
        QTemporaryDir folder;
        const QString trace = folder.path() + u"/ran"_qs;
        QFile stand(folder.path() + u"/helper"_qs);
        QVERIFY(stand.open(QIODevice::WriteOnly));
        stand.write("#!/bin/sh\ntouch " + trace.toUtf8() + "\nexit 1\n" + QByteArray(1 << 20, '#') +
                    "\n");
        stand.close();
        Bundle with = bundle();
        with.helperFile = stand.fileName();
        Far far(u"/bin/sh"_qs, with);
        far.line->breakAfter(600'000);
        QVERIFY(far.deploy().contains(u"network went away"));
        const QStringList parts = namesIn(far.lockstep()).filter(u"helper/"_qs);
        QCOMPARE(parts.size(), 1);
        QVERIFY(!QFileInfo(far.lockstep() + u'/' + parts[0]).isExecutable());
        // The whole one does run, so the trace can tell.
        QVERIFY(!far.deploy().isEmpty());
        QVERIFY(QFile::exists(trace));
        QFile::remove(trace);
    }

    void twoHostsWithOneHomeAtOnceBothGetIt() {
        Far one;
        Far two;
        two.line->environment().insert(u"HOME"_qs, one.line->home());
        Kept<QString> first;
        Kept<QString> second;
        one.host->deploy(first.done());
        two.host->deploy(second.done());
        QVERIFY(becomes([&] { return bool(first.result && second.result); }));
        QVERIFY2(first.result->ok() && second.result->ok(), "both must get the worker");
        QVERIFY(namesIn(one.lockstep()).filter(u".part"_qs).isEmpty());
        // One of them waited: the bundle went over once.
        const qint64 both = one.line->bytesSent + two.line->bytesSent;
        const qint64 helper = QFileInfo(bundle().helperFile).size();
        QVERIFY2(both < bundle().packedSize * 3 / 2 + 2 * helper + 400'000,
                 qPrintable(QString::number(both)));
    }

    void requestsUnderWayEndAtOnceAndTheNextConnectsAgain() {
        Far far;
        QCOMPARE(far.deploy(), QStringLiteral("0.1.0"));
        Kept<Output> kept;
        far.host->run(shell(u"echo $$; sleep 1000"_qs), {}, kept.done());
        const auto stream = far.host->start(shell(u"echo $$; cat"_qs), {});
        QSignalSpy lines(stream.get(), &Stream::lineReceived);
        QSignalSpy closed(stream.get(), &Stream::closed);
        QTRY_COMPARE(lines.count(), 1);
        const QByteArray pid = lines[0][0].toByteArray();
        QVERIFY(lives(pid));
        far.line->breakOff();
        QTRY_VERIFY_WITH_TIMEOUT(kept.result && closed.count() == 1, 1000);
        QCOMPARE(kept.result->error().code, Code::Unreachable);
        QCOMPARE(far.stages.back(), HostStage::Reconnecting);
        QTRY_VERIFY(!lives(pid)); // nothing is left over there
        const int before = far.line->opens;
        const auto output = far.run(shell(u"echo again"_qs));
        QVERIFY(output.ok());
        QCOMPARE(output->out, QByteArray("again\n"));
        QCOMPARE(far.line->opens, before + 1);
        QCOMPARE(far.stages.back(), HostStage::Ready);
        QCOMPARE(kept.count, 1);
    }

    void aHelperThatEndsIsStartedAgain() {
        Far far;
        QCOMPARE(far.deploy(), QStringLiteral("0.1.0"));
        const QString pidFile = far.line->home() + u"/pid"_qs;
        const auto output =
            far.run(shell(u"echo $$ > '%1'; kill -9 $PPID; sleep 1000"_qs.arg(pidFile)));
        QVERIFY(!output.ok());
        QCOMPARE(output.error().code, Code::Unreachable);
        const QByteArray pid = contents(pidFile).trimmed();
        QTRY_VERIFY(!pid.isEmpty() && !lives(pid)); // it took its programs along
        QVERIFY(far.run(shell(u"exit 0"_qs)).ok());
    }

    void aCancelledRequestLeavesNoProcessAndNoPartialFile() {
        Far far;
        QCOMPARE(far.deploy(), QStringLiteral("0.1.0"));
        const QString pidFile = far.line->home() + u"/pid"_qs;
        Kept<Output> kept;
        const auto id = far.host->run(shell(u"echo $$ > '%1'; sleep 1000 & wait"_qs.arg(pidFile)),
                                      {}, kept.done());
        QByteArray pid;
        QTRY_VERIFY(!(pid = contents(pidFile).trimmed()).isEmpty());
        far.host->cancel(id);
        QTRY_VERIFY(!lives(pid));

        Kept<void> put;
        QTemporaryDir folder;
        const auto sending =
            far.host->putFile(bundle().packedFile, folder.path() + u"/x"_qs, 0600, {}, put.done());
        QTest::qWait(20); // long enough to be in the middle, or not yet begun
        far.host->cancel(sending);
        QVERIFY(far.run(shell(u"exit 0"_qs)).ok()); // the helper has read the cancel
        QVERIFY2(namesIn(folder.path()).isEmpty(), qPrintable(namesIn(folder.path()).join(u' ')));
        QCOMPARE(put.count + kept.count, 0);
    }

    void deadlinesRestWhileAPersonIsAsked() {
        Far far;
        far.line->askOnOpen();
        Kept<QString> kept;
        far.host->deploy(kept.done(), Milliseconds(20'000));
        QTRY_COMPARE(far.stages.back(), HostStage::Asking);
        Kept<Output> quick;
        far.host->run(shell(u"exit 0"_qs), {}, quick.done(), Milliseconds(300));
        QTest::qWait(600); // longer than the deadline: what is tested is that it rests
        QVERIFY(!quick.result);
        far.line->answer();
        QVERIFY(becomes([&] { return bool(kept.result && quick.result); }));
        QVERIFY(kept.result->ok());
    }

    void filesGoThereAndBackWhole() {
        Far far;
        QCOMPARE(far.deploy(), QStringLiteral("0.1.0"));
        QTemporaryDir folder;
        Kept<void> put;
        std::int64_t seen = 0;
        const QString there = folder.path() + u"/a b'c"_qs;
        far.host->putFile(
            bundle().packedFile, there, 0640,
            [&](std::int64_t done, std::int64_t) { seen = std::max(seen, done); }, put.done());
        QVERIFY(becomes([&] { return bool(put.result); }));
        QVERIFY(put.result->ok());
        QVERIFY(seen > 0);
        QCOMPARE(static_cast<int>(QFileInfo(there).permissions() & 0x777), 0x640);
        Kept<void> fetched;
        const QString back = folder.path() + u"/back"_qs;
        far.host->fetchFile(there, back, {}, fetched.done());
        QVERIFY(becomes([&] { return bool(fetched.result); }));
        QVERIFY(fetched.result->ok());
        QCOMPARE(files::read(back.toStdString()).value(),
                 files::read(bundle().packedFile.toStdString()).value());
        Kept<QByteArray> missing;
        far.host->fetch(folder.path() + u"/none"_qs, missing.done());
        QTRY_VERIFY(missing.result);
        QCOMPARE(missing.result->error().code, Code::NotFound);
    }

    void manyRequestsAtATimeAnswerAsThemselves() {
        Far far;
        QCOMPARE(far.deploy(), QStringLiteral("0.1.0"));
        std::vector<std::unique_ptr<Kept<Output>>> all;
        for (int i = 0; i < 50; ++i) {
            all.push_back(std::make_unique<Kept<Output>>());
            far.host->run(shell(u"head -c 200000 /dev/zero; echo %1"_qs.arg(i)), {},
                          all.back()->done());
        }
        for (int i = 0; i < 50; ++i) {
            auto& kept = *all[static_cast<std::size_t>(i)];
            QVERIFY(becomes([&] { return bool(kept.result); }));
            QVERIFY(kept.result->ok());
            QCOMPARE((*kept.result)->out.size(), 200000 + QByteArray::number(i).size() + 1);
            QVERIFY((*kept.result)->out.endsWith(QByteArray::number(i) + '\n'));
        }
    }
};

QTEST_GUILESS_MAIN(TestSshHost)
#include "tst_ssh_host.moc"
