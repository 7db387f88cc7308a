// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/agent/process.h"
#include "core/base/files.h"

#include <QElapsedTimer>
#include <QtTest>

#include <csignal>

#include "agent_process.h"

using namespace lockstep;
using namespace lockstep::agent;
using namespace lockstep::agent::test;

namespace {

// A grandchild in a session of its own that ignores SIGTERM; it says when it does.
const std::string kStubborn =
    "setsid sh -c \"trap '' TERM; touch deaf; while :; do sleep 0.1; done\" & ";

bool exists(const TestRun& run, const std::string& file) {
    return files::read(run.path(file)).ok();
}

} // namespace

class TestStop : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void leavesNothingOfGrandchildrenThatIgnoreIt_data() {
        QTest::addColumn<bool>("killSupervisor");
        QTest::newRow("with its supervisor") << false;
        QTest::newRow("after its supervisor was killed") << true;
    }
    void leavesNothingOfGrandchildrenThatIgnoreIt() {
        QFETCH(bool, killSupervisor);
        TestRun run;
        const auto started = run.supervise(kStubborn + "exec sleep 600");
        QVERIFY(started.ok());
        QVERIFY(holdsWithin(5000, [&] { return exists(run, "deaf"); }));
        QVERIFY(processesOfRun(run.id()).size() >= 2);
        if (killSupervisor) {
            QVERIFY(sendSignal(started->supervisor, SIGKILL));
            QVERIFY(holdsWithin(5000, [&] { return !isAlive(started->process); }));
            QVERIFY(!processesOfRun(run.id()).empty());
        }
        const auto stopped = run.stop(0.5);
        QVERIFY(stopped.ok());
        QVERIFY(stopped->ok());
        QCOMPARE(stopped->killed.empty(), !killSupervisor);
        QVERIFY(processesOfRun(run.id()).empty());
        QVERIFY(!isAlive(started->supervisor));
        if (!killSupervisor)
            QCOMPARE(run.state()->signal.value_or(0), SIGTERM);
    }

    void letsAProcessEndByItself() {
        TestRun run;
        QVERIFY(
            run.supervise("trap 'exit 7' TERM; touch ready; while :; do sleep 0.05; done").ok());
        QVERIFY(holdsWithin(5000, [&] { return exists(run, "ready"); }));
        QElapsedTimer timer;
        timer.start();
        const auto stopped = run.stop(20);
        QVERIFY(stopped.ok() && stopped->ok());
        QVERIFY(timer.elapsed() < 10'000);
        QVERIFY(stopped->killed.empty());
        QCOMPARE(run.state()->exitCode.value_or(-1), 7);
    }

    void killsAfterTheGraceTime() {
        TestRun run;
        const auto started =
            run.supervise("trap '' TERM; touch ready; while :; do sleep 0.05; done");
        QVERIFY(started.ok());
        QVERIFY(holdsWithin(5000, [&] { return exists(run, "ready"); }));
        QElapsedTimer timer;
        timer.start();
        const auto stopped = run.stop(0.5);
        QVERIFY(stopped.ok() && stopped->ok());
        QVERIFY(timer.elapsed() >= 500);
        QCOMPARE(run.state()->signal.value_or(0), SIGKILL);
        QVERIFY(processesOfRun(run.id()).empty());
    }

    void wakesAFrozenProcessSoThatItCanObey() {
        TestRun run;
        const auto started =
            run.supervise("trap 'exit 7' TERM; touch ready; while :; do sleep 0.05; done");
        QVERIFY(started.ok());
        QVERIFY(holdsWithin(5000, [&] { return exists(run, "ready"); }));
        QVERIFY(sendSignal(started->process, SIGSTOP));
        const auto stopped = run.stop(10);
        QVERIFY(stopped.ok() && stopped->ok());
        QCOMPARE(run.state()->exitCode.value_or(-1), 7);
    }

    void endsAFrozenSupervisorToo() {
        TestRun run;
        const auto started = run.supervise("exec sleep 600");
        QVERIFY(started.ok());
        QVERIFY(sendSignal(started->supervisor, SIGSTOP));
        const auto stopped = run.stop(0.2);
        QVERIFY(stopped.ok() && stopped->ok());
        QVERIFY(!isAlive(started->supervisor));
        QVERIFY(!isAlive(started->process));
    }

    void killsNobodyByNumberAlone_data() {
        QTest::addColumn<bool>("otherBoot");
        QTest::newRow("started at another time") << false;
        QTest::newRow("of another boot") << true;
    }
    void killsNobodyByNumberAlone() {
        QFETCH(bool, otherBoot);
        TestRun run;
        QProcess bystander;
        bystander.setChildProcessModifier([] { ::setpgid(0, 0); });
        bystander.start(QStringLiteral("sleep"), {QStringLiteral("600")});
        QVERIFY(bystander.waitForStarted());
        ProcessState state;
        state.run = run.id();
        state.task = "worker:0";
        state.process = processFacts(bystander.processId())->identity;
        state.bootId = otherBoot ? "an earlier boot" : bootId();
        if (!otherBoot)
            --state.process.startTime;
        state.supervisor = state.process;
        QVERIFY(files::writeAtomic(run.path(kStateFile), encodeFile(state)).ok());
        const auto stopped = run.stop(0);
        QVERIFY(stopped.ok() && stopped->ok());
        QVERIFY(stopped->killed.empty());
        QVERIFY(!bystander.waitForFinished(200));
        bystander.kill();
        QVERIFY(bystander.waitForFinished());
    }

    void leavesOtherRunsAlone() {
        TestRun mine;
        TestRun other;
        const auto lives = other.supervise("exec sleep 600");
        QVERIFY(lives.ok() && mine.supervise("exec sleep 600").ok());
        // Even where it is pointed at the other's folder.
        const StopRequest request{mine.id(), {mine.folder(), other.folder()}, 0};
        const auto stopped = decodeStopReply(call(QStringLiteral("stop"), encode(request)).line);
        QVERIFY(stopped.ok() && stopped->ok());
        QVERIFY(processesOfRun(mine.id()).empty());
        QVERIFY(isAlive(lives->process));
    }

    void isContentWithARunThatIsOver() {
        TestRun run;
        QVERIFY(run.stop(0).ok());
        QVERIFY(run.supervise("exit 0").ok());
        run.stateWhenOver();
        const auto stopped = run.stop(0);
        QVERIFY(stopped.ok() && stopped->ok());
        QVERIFY(stopped->killed.empty());
    }
};

QTEST_GUILESS_MAIN(TestStop)
#include "tst_stop.moc"
