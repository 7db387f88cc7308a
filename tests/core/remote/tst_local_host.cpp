// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/agent/protocol.h"
#include "core/base/files.h"
#include "core/base/hash.h"
#include "core/remote/local_host.h"

#include <QElapsedTimer>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QtTest>

#include <cerrno>
#include <csignal>

using namespace lockstep;
using namespace lockstep::remote;

namespace {

const QString kWorker = QStringLiteral(LOCKSTEP_BIN_DIR "/lockstep-worker");

Command shell(const QString& script) {
    return {u"/bin/sh"_qs, {u"-c"_qs, script}, {}, {}};
}

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

/// What a stream says, and how it ended.
struct Heard {
    explicit Heard(Stream& stream) {
        QObject::connect(&stream, &Stream::lineReceived,
                         [this](const QByteArray& line) { lines += line; });
        QObject::connect(&stream, &Stream::closed,
                         [this](const Result<Exit>& how, const QByteArray& text) {
                             end = how;
                             errors = text;
                             ++ends;
                         });
    }
    QByteArrayList lines;
    QByteArray errors;
    std::optional<Result<Exit>> end;
    int ends = 0;
};

bool lives(const QByteArray& pid) {
    return ::kill(pid.toInt(), 0) == 0 || errno != ESRCH;
}

} // namespace

class TestLocalHost : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init() { m_local = std::make_unique<LocalHost>(kWorker); }
    void cleanup() { m_local.reset(); }

    void runsWithInputArgumentsEnvironmentAndFolder() {
        QTemporaryDir folder;
        Command command = shell(u"cat; echo \"$1|$MINE\"; pwd; echo oh >&2; exit 3"_qs);
        command.args += {u"sh"_qs, u"a 'b' $c"_qs};
        command.env[u"MINE"_qs] = u"x y"_qs;
        command.cwd = folder.path();
        Kept<Output> kept;
        host().run(command, "in\n", kept.done());
        QVERIFY(!kept.result);
        QTRY_VERIFY(kept.result);
        QVERIFY(kept.result->ok());
        QCOMPARE((*kept.result)->out, "in\na 'b' $c|x y\n" + folder.path().toUtf8() + "\n");
        QCOMPARE((*kept.result)->err, QByteArray("oh\n"));
        QCOMPARE((*kept.result)->exit, (Exit{3, 0}));
    }

    void carriesMuchInputAndOutput() {
        QByteArray bytes(8 << 20, 'x');
        Kept<Output> kept;
        host().run({u"cat"_qs, {}, {}, {}}, bytes, kept.done());
        QTRY_VERIFY_WITH_TIMEOUT(kept.result, 20'000);
        QVERIFY((*kept.result)->out == bytes);
    }

    void reportsTheSignal() {
        Kept<Output> kept;
        host().run(shell(u"kill -9 $$"_qs), {}, kept.done());
        QTRY_VERIFY(kept.result);
        QCOMPARE((*kept.result)->exit, (Exit{0, SIGKILL}));
    }

    void namesWhatCannotBeStarted_data() {
        QTest::addColumn<QString>("program");
        QTest::addColumn<int>("code");
        QTest::newRow("missing") << u"/no/such/program"_qs << int(Code::NotFound);
        QTest::newRow("not in PATH") << u"lockstep-no-such-program"_qs << int(Code::NotFound);
        QTest::newRow("no program") << u"/etc/passwd"_qs << int(Code::PermissionDenied);
    }
    void namesWhatCannotBeStarted() {
        QFETCH(QString, program);
        QFETCH(int, code);
        Kept<Output> kept;
        host().run({program, {}, {}, {}}, {}, kept.done());
        QTRY_VERIFY(kept.result);
        QCOMPARE(int(kept.result->error().code), code);
        QCOMPARE(kept.result->error().where, program.toStdString());
        auto stream = host().start({program, {}, {}, {}}, {});
        Heard heard(*stream);
        QTRY_VERIFY(heard.end);
        QCOMPARE(int(heard.end->error().code), code);
    }

    void deadlineEndsTheProcess() {
        QTemporaryDir folder;
        Command command = shell(u"echo $$ > pid.part; mv pid.part pid; exec sleep 600"_qs);
        command.cwd = folder.path();
        Kept<Output> kept;
        QElapsedTimer timer;
        timer.start();
        host().run(command, {}, kept.done(), 1000ms);
        QTRY_VERIFY(kept.result);
        QVERIFY(timer.elapsed() >= 900);
        QCOMPARE(kept.result->error().code, Code::TimedOut);
        const auto pid = files::read(folder.path().toStdString() + "/pid");
        QVERIFY(pid.ok());
        QTRY_VERIFY(!lives(QByteArray::fromStdString(*pid).trimmed()));
        QCOMPARE(kept.count, 1);
    }

    void cancelEndsTheProcessSilently_data() {
        QTest::addColumn<bool>("atOnce");
        QTest::newRow("before it starts") << true;
        QTest::newRow("while it runs") << false;
    }
    void cancelEndsTheProcessSilently() {
        QFETCH(bool, atOnce);
        QTemporaryDir folder;
        Command command = shell(u"echo $$ > pid.part; mv pid.part pid; exec sleep 600"_qs);
        command.cwd = folder.path();
        Kept<Output> kept;
        const auto id = host().run(command, {}, kept.done());
        const QString path = folder.filePath(u"pid"_qs);
        if (!atOnce)
            QTRY_VERIFY(QFile::exists(path));
        host().cancel(id);
        Kept<Output> after;
        host().run(shell(u"exit 0"_qs), {}, after.done());
        QTRY_VERIFY(after.result);
        QCOMPARE(kept.count, 0);
        QCOMPARE(QFile::exists(path), !atOnce);
        if (!atOnce)
            QTRY_VERIFY(
                !lives(QByteArray::fromStdString(*files::read(path.toStdString())).trimmed()));
    }

    void destroyingEndsWhatIsUnderWay() {
        QTemporaryDir folder;
        Command command = shell(u"echo $$ > pid.part; mv pid.part pid; exec sleep 600"_qs);
        command.cwd = folder.path();
        Kept<Output> kept;
        host().run(command, {}, kept.done());
        const QString path = folder.filePath(u"pid"_qs);
        QTRY_VERIFY(QFile::exists(path));
        m_local.reset();
        QVERIFY(!lives(QByteArray::fromStdString(*files::read(path.toStdString())).trimmed()));
        QCOMPARE(kept.count, 0);
    }

    void streamsLinesAndTheEnd() {
        auto stream = host().start(
            shell(u"echo a; echo; printf 'b\\0c\\n'; echo oh >&2; printf torn; exit 4"_qs), {});
        Heard heard(*stream);
        QVERIFY(!stream->isClosed());
        QTRY_VERIFY(heard.end);
        QVERIFY(stream->isClosed());
        QCOMPARE(heard.lines, QByteArrayList({"a", "", QByteArray("b\0c", 3)}));
        QCOMPARE(heard.end->value(), (Exit{4, 0}));
        QCOMPARE(heard.errors, QByteArray("oh\n"));
    }

    void keepsInputOpenWhileTheStreamLives() {
        auto stream = host().start({u"cat"_qs, {}, {}, {}}, "hello\n");
        Heard heard(*stream);
        QTRY_COMPARE(heard.lines, QByteArrayList({"hello"}));
        QVERIFY(!heard.end);
        stream->close();
        QTRY_VERIFY(heard.end);
        QCOMPARE(heard.end->error().code, Code::Cancelled);
        QCOMPARE(heard.ends, 1);
    }

    void closingEndsAlsoWhatIgnoresItsInput_data() {
        QTest::addColumn<bool>("atOnce");
        QTest::newRow("before it starts") << true;
        QTest::newRow("while it runs") << false;
    }
    void closingEndsAlsoWhatIgnoresItsInput() {
        QFETCH(bool, atOnce);
        auto stream = host().start(shell(u"trap '' TERM; echo $$; exec sleep 600"_qs), {});
        Heard heard(*stream);
        if (!atOnce)
            QTRY_COMPARE(heard.lines.size(), 1);
        stream->close();
        QTRY_VERIFY(heard.end);
        QCOMPARE(heard.end->error().code, Code::Cancelled);
        if (!atOnce)
            QVERIFY(!lives(heard.lines[0]));
    }

    void destroyingAStreamEndsItsProgram_data() {
        QTest::addColumn<bool>("fromSlot");
        QTest::newRow("from outside") << false;
        QTest::newRow("from its own signal") << true;
    }
    void destroyingAStreamEndsItsProgram() {
        QFETCH(bool, fromSlot);
        auto stream = host().start(shell(u"echo $$; echo more; exec sleep 600"_qs), {});
        QByteArrayList lines;
        connect(stream.get(), &Stream::lineReceived, this, [&](const QByteArray& line) {
            lines += line;
            if (fromSlot)
                stream.reset();
        });
        QTRY_VERIFY(!lines.empty());
        stream.reset();
        QTRY_VERIFY(!lives(lines[0]));
        if (fromSlot)
            QCOMPARE(lines.size(), 1);
    }

    void silenceClosesAStream() {
        auto stream = host().start(shell(u"echo a; exec sleep 600"_qs), {}, 300ms);
        Heard heard(*stream);
        QTRY_VERIFY(heard.end);
        QCOMPARE(heard.lines, QByteArrayList({"a"}));
        QCOMPARE(heard.end->error().code, Code::TimedOut);
    }

    void deploysAWorkerThatAnswers() {
        Kept<QString> version;
        host().deploy(version.done());
        QTRY_VERIFY(version.result);
        QCOMPARE(version.result->value(), u"0.1.0"_qs);
    }

    void refusesAWorkerThatIsNone_data() {
        QTest::addColumn<QString>("program");
        QTest::addColumn<int>("code");
        QTest::newRow("missing") << u"/no/such/worker"_qs << int(Code::NotFound);
        QTest::newRow("not executable") << u"/etc/passwd"_qs << int(Code::PermissionDenied);
        QTest::newRow("another program") << u"/bin/echo"_qs << int(Code::Unsupported);
    }
    void refusesAWorkerThatIsNone() {
        QFETCH(QString, program);
        QFETCH(int, code);
        LocalHost other(program);
        Kept<QString> version;
        static_cast<Host&>(other).deploy(version.done());
        QTRY_VERIFY(version.result);
        QCOMPARE(int(version.result->error().code), code);
        QCOMPARE(version.result->error().where, program.toStdString());
    }

    void preparesAFolder() {
        QTemporaryDir folder;
        Kept<HostFacts> facts;
        host().prepare(folder.path() + u"/base"_qs, facts.done());
        QTRY_VERIFY(facts.result);
        QVERIFY(facts.result->ok());
        QCOMPARE((*facts.result)->base, folder.path() + u"/base"_qs);
        QVERIFY(QFileInfo((*facts.result)->machinePath()).isDir());
        QCOMPARE((*facts.result)->worker({u"x"_qs}).program, kWorker);
        Kept<HostFacts> impossible;
        host().prepare(u"/proc/version/x"_qs, impossible.done());
        QTRY_VERIFY(impossible.result);
        QCOMPARE(impossible.result->error().code, Code::PermissionDenied);
    }

    void supervisesFollowsAndStops() {
        QTemporaryDir folder;
        const std::string run = "test-" + randomHex(8);
        agent::SuperviseRequest request;
        request.runDir = folder.path().toStdString();
        request.run = run;
        request.task = "worker:0";
        request.program = "/bin/sh";
        request.args = {"-c", "echo hello > events.jsonl; exec sleep 600"};
        const auto line = [](const std::string& text) { return QByteArray::fromStdString(text); };
        Kept<Output> started;
        host().run({kWorker, {u"supervise"_qs}, {}, {}}, line(agent::encode(request)),
                   started.done());
        QTRY_VERIFY(started.result);
        QVERIFY(agent::decodeSuperviseReply((*started.result)->out.trimmed().toStdString()).ok());

        agent::FollowRequest wanted;
        wanted.runDir = request.runDir;
        wanted.offsets = {{agent::kEventsFile, 0}};
        auto stream =
            host().start({kWorker, {u"follow"_qs}, {}, {}}, line(agent::encode(wanted)), 5s);
        Heard heard(*stream);
        const auto got = [&](const QByteArray& word) {
            return std::any_of(heard.lines.begin(), heard.lines.end(),
                               [&](const QByteArray& l) { return l.contains(word); });
        };
        QTRY_VERIFY(got("\"aGVsbG8K\""));
        Kept<Output> stopped;
        host().run({kWorker, {u"stop"_qs}, {}, {}},
                   line(agent::encode(agent::StopRequest{run, {request.runDir}, 5})),
                   stopped.done());
        QTRY_VERIFY(stopped.result);
        QCOMPARE((*stopped.result)->exit, (Exit{0, 0}));
        QTRY_VERIFY(heard.end);
        QVERIFY(got("\"end\":true"));
        QCOMPARE(heard.end->value(), (Exit{0, 0}));
    }

    void doesNotBlockTheCaller() {
        QElapsedTimer timer;
        timer.start();
        Kept<Output> kept;
        host().run(shell(u"sleep 1"_qs), {}, kept.done());
        auto stream = host().start(shell(u"sleep 1"_qs), {});
        QVERIFY(timer.elapsed() < 50);
        QTRY_VERIFY(kept.result);
    }

private:
    Host& host() { return *m_local; }

    std::unique_ptr<LocalHost> m_local;
};

QTEST_GUILESS_MAIN(TestLocalHost)
#include "tst_local_host.moc"
