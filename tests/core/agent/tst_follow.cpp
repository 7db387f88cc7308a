// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/agent/process.h"
#include "core/base/files.h"

#include <QRandomGenerator>
#include <QtTest>

#include <unistd.h>

#include <csignal>

#include "agent_process.h"

using namespace lockstep;
using namespace lockstep::agent;
using namespace lockstep::agent::test;

namespace {

const std::map<std::string, std::string> kNothing{
    {kEventsFile, ""}, {kStdoutFile, ""}, {kStderrFile, ""}};

std::string noise(int size, quint32 seed) {
    QRandomGenerator random(seed);
    std::string bytes;
    for (int i = 0; i < size; ++i)
        bytes += static_cast<char>(random.bounded(256));
    return bytes;
}

} // namespace

class TestFollow : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void deliversEveryByteAtEveryChunkSize_data() {
        QTest::addColumn<int>("chunk");
        for (const int chunk : {1, 2, 3, 7, 64, 1000, 4096, 262144})
            QTest::addRow("%d bytes", chunk) << chunk;
    }
    void deliversEveryByteAtEveryChunkSize() {
        QFETCH(int, chunk);
        TestRun run;
        const std::string bytes = noise(chunk < 64 ? 2000 : 600'000, 1);
        QVERIFY(files::writeAtomic(run.path("source"), bytes).ok());
        QVERIFY(run.supervise("cat source > events.jsonl; cat source; cat source >&2").ok());
        Follower follower(run, kNothing, chunk);
        QVERIFY2(follower.readToEnd(), follower.error ? follower.error->message.c_str() : "");
        for (const char* file : {kEventsFile, kStdoutFile, kStderrFile})
            QVERIFY2(follower.files[file] == bytes, file);
        QCOMPARE(follower.state->exitCode.value_or(-1), 0);
        QVERIFY(follower.process.waitForFinished(5000));
        QCOMPARE(follower.process.exitCode(), 0);
    }

    void losesAndDoublesNothingWhenKilledAtRandomMoments() {
        const quint32 seed = QRandomGenerator::global()->generate();
        qInfo("seed %u", seed);
        QRandomGenerator random(seed);
        TestRun run;
        QVERIFY(run.supervise("i=0; while [ $i -lt 3000 ]; do i=$((i+1)); "
                              "echo \"{\\\"i\\\":$i}\" >> events.jsonl; echo line $i; "
                              "[ $((i % 10)) -eq 0 ] && sleep 0.01; done; exit 0")
                    .ok());
        std::map<std::string, std::string> have = kNothing;
        bool hasEnded = false;
        int kills = 0;
        while (!hasEnded) {
            Follower follower(run, have, 50);
            const std::size_t enough = have[kEventsFile].size() + random.bounded(1, 4000);
            follower.readUntil([&] { return follower.files[kEventsFile].size() >= enough; });
            QVERIFY2(!follower.error, follower.error ? follower.error->message.c_str() : "");
            hasEnded = follower.hasEnded;
            if (!hasEnded)
                ++kills;
            // The destructor kills it with -9; what it said but we did not read is lost with it.
            have = follower.files;
        }
        QVERIFY(kills >= 3);
        QVERIFY(have[kEventsFile] == run.read(kEventsFile));
        QVERIFY(have[kStdoutFile] == run.read(kStdoutFile));
        QVERIFY(QByteArray::fromStdString(have[kEventsFile]).endsWith("{\"i\":3000}\n"));
    }

    void killedSupervisorTakesTheProcessAlongAndIsReportedLost() {
        TestRun run;
        const auto started = run.supervise("echo before; exec sleep 600");
        QVERIFY(started.ok());
        Follower follower(run, kNothing);
        QVERIFY(follower.readUntil([&] { return follower.files[kStdoutFile] == "before\n"; }));
        QVERIFY(sendSignal(started->supervisor, SIGKILL));
        QVERIFY(follower.readToEnd(5000));
        QCOMPARE(follower.state->phase, Phase::Lost);
        QVERIFY(follower.state->problem->find("lost") == 0);
        QVERIFY(!isAlive(started->process));
        QCOMPARE(run.state()->phase, Phase::Running); // nobody was left to write it
    }

    void doesNotTakeAnotherProcessForTheOneOfTheState_data() {
        QTest::addColumn<bool>("otherBoot");
        QTest::addColumn<QString>("reason");
        QTest::newRow("same pid, started later") << false << "killed from outside";
        QTest::newRow("same pid and start time, other boot") << true << "restarted";
    }
    void doesNotTakeAnotherProcessForTheOneOfTheState() {
        QFETCH(bool, otherBoot);
        QFETCH(QString, reason);
        TestRun run;
        ProcessState state;
        state.run = run.id();
        state.task = "worker:0";
        state.process = processFacts(::getpid())->identity;
        state.bootId = otherBoot ? "an earlier boot" : bootId();
        if (!otherBoot)
            --state.process.startTime;
        state.supervisor = state.process;
        QVERIFY(files::writeAtomic(run.path(kStateFile), encodeFile(state)).ok());
        Follower follower(run, kNothing);
        QVERIFY(follower.readToEnd(5000));
        QCOMPARE(follower.state->phase, Phase::Lost);
        QVERIFY(QString::fromStdString(*follower.state->problem).contains(reason));
    }

    void waitsForFilesAndForTheStateToCome() {
        TestRun run;
        Follower follower(run, kNothing);
        QVERIFY(follower.readUntil([&] { return follower.heartbeats >= 1; }, 5000));
        QVERIFY(!follower.state);
        QVERIFY(run.supervise("sleep 0.3; echo late > events.jsonl").ok());
        QVERIFY(follower.readToEnd());
        QCOMPARE(follower.files[kEventsFile], std::string("late\n"));
    }

    void givesRunningThenExited() {
        TestRun run;
        QVERIFY(run.supervise("exec sleep 0.3").ok());
        Follower follower(run, kNothing);
        QVERIFY(follower.readUntil([&] { return follower.state.has_value(); }));
        QCOMPARE(follower.state->phase, Phase::Running);
        QVERIFY(follower.readToEnd());
        QCOMPARE(follower.state->phase, Phase::Exited);
    }

    void beatsEverySecond() {
        TestRun run;
        QVERIFY(run.supervise("exec sleep 600").ok());
        Follower follower(run, kNothing);
        QVERIFY(follower.readUntil([&] { return follower.heartbeats >= 2; }, 3500));
    }

    void endsWhenItsInputCloses() {
        TestRun run;
        QVERIFY(run.supervise("exec sleep 600").ok());
        Follower follower(run, kNothing);
        QVERIFY(follower.readUntil([&] { return follower.state.has_value(); }));
        follower.process.closeWriteChannel();
        QVERIFY(follower.process.waitForFinished(3000));
        QCOMPARE(follower.process.exitCode(), 0);
    }

    void endsWhenNobodyReads() {
        TestRun run;
        QVERIFY(run.supervise("exec sleep 600").ok());
        FollowRequest request;
        request.runDir = run.folder();
        QProcess pipeline; // ends when both programs have ended; its input stays open
        pipeline.start(u"sh"_qs, {u"-c"_qs, u"\"$0\" follow | head -n 1"_qs,
                                  QStringLiteral(LOCKSTEP_BIN_DIR "/lockstep-worker")});
        pipeline.write(QByteArray::fromStdString(encode(request)));
        const bool hasEnded = pipeline.waitForFinished(5000);
        pipeline.kill();
        pipeline.waitForFinished();
        QVERIFY(hasEnded);
        QVERIFY(pipeline.readAllStandardOutput().contains("running"));
    }

    void saysWhenAFileIsShorterThanWhatWasDelivered() {
        TestRun run;
        QVERIFY(run.supervise("echo short > events.jsonl").ok());
        Follower follower(run, {{kEventsFile, std::string(100, 'x')}});
        QVERIFY(!follower.readToEnd(5000));
        QVERIFY(follower.error.has_value());
        QCOMPARE(follower.error->code, Code::Corrupt);
        QVERIFY(follower.process.waitForFinished(3000));
        QCOMPARE(follower.process.exitCode(), 1);
    }
};

QTEST_GUILESS_MAIN(TestFollow)
#include "tst_follow.moc"
