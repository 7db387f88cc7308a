// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/agent/process.h"
#include "core/base/clock.h"
#include "core/base/files.h"
#include "core/wire/output_times.h"

#include <QElapsedTimer>
#include <QtTest>

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <sstream>

#include "agent_process.h"

using namespace lockstep;
using namespace lockstep::agent;
using namespace lockstep::agent::test;

namespace {

/// A line of /proc/<pid>/status.
std::string status(std::int64_t pid, const std::string& key) {
    std::istringstream lines(*files::read("/proc/" + std::to_string(pid) + "/status"));
    for (std::string line; std::getline(lines, line);)
        if (line.rfind(key + ":\t", 0) == 0)
            return line.substr(key.size() + 2);
    return {};
}

bool ignoresHangUp(std::int64_t pid) {
    return (std::stoull(status(pid, "SigIgn"), nullptr, 16) & 1u << (SIGHUP - 1)) != 0;
}

} // namespace

class TestSupervise : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void recordsExitCode_data() {
        QTest::addColumn<int>("code");
        for (const int code : {0, 1, 3, 255})
            QTest::addRow("exit %d", code) << code;
    }
    void recordsExitCode() {
        QFETCH(int, code);
        TestRun run;
        const auto started = run.supervise("exit " + std::to_string(code));
        QVERIFY2(started.ok(), started ? "" : started.error().message.c_str());
        const ProcessState state = run.stateWhenOver();
        QCOMPARE(state.phase, Phase::Exited);
        QVERIFY(state.process == started->process);
        QCOMPARE(state.exitCode.value_or(-1), code);
        QVERIFY(!state.signal);
        QVERIFY(*state.endedAt >= state.startedAt);
        QCOMPARE(state.bootId, bootId());
    }

    void recordsSignal_data() {
        QTest::addColumn<int>("signal");
        for (const int signal : {SIGKILL, SIGTERM, SIGSEGV})
            QTest::addRow("signal %d", signal) << signal;
    }
    void recordsSignal() {
        QFETCH(int, signal);
        TestRun run;
        QVERIFY(run.supervise("ulimit -c 0; kill -" + std::to_string(signal) + " $$").ok());
        const ProcessState state = run.stateWhenOver();
        QCOMPARE(state.signal.value_or(0), signal);
        QVERIFY(!state.exitCode);
    }

    void returnsWhileTheProcessLivesApart() {
        TestRun run;
        QElapsedTimer timer;
        timer.start();
        const auto started = run.supervise("exec sleep 600");
        QVERIFY(started.ok());
        QVERIFY(timer.elapsed() < 5000);
        const auto process = processFacts(started->process.pid);
        const auto supervisor = processFacts(started->supervisor.pid);
        QVERIFY(process && supervisor);
        QVERIFY(isAlive(started->process, bootId()));
        QCOMPARE(process->parent, started->supervisor.pid);
        QCOMPARE(process->group, started->process.pid);
        QVERIFY(supervisor->group != process->group);
        QVERIFY(::getsid(static_cast<pid_t>(started->supervisor.pid)) != ::getsid(0));
        QVERIFY(ignoresHangUp(started->process.pid));
        QVERIFY(ignoresHangUp(started->supervisor.pid));
        QCOMPARE(run.state()->phase, Phase::Running);
    }

    void givesInputOutputAndEnvironment() {
        TestRun run;
        const std::string config = "{\"a\": \"b c\"}\n";
        QVERIFY(files::writeAtomic(run.path("tf_config.json"), config).ok());
        SuperviseRequest request = run.request("readlink /proc/self/fd/0; pwd; echo \"$MINE\"; "
                                               "printf %s \"$TF_CONFIG\" > config; "
                                               "echo \"$LOCKSTEP_RUN_ID\"; echo oh >&2");
        request.env = {{"MINE", "x $y 'z'"}};
        request.envFiles = {{"TF_CONFIG", "tf_config.json"}};
        QVERIFY(run.supervise(request).ok());
        QCOMPARE(run.stateWhenOver().exitCode.value_or(-1), 0);
        QCOMPARE(run.read(kStdoutFile),
                 "/dev/null\n" + run.folder() + "\nx $y 'z'\n" + run.id() + "\n");
        QCOMPARE(run.read(kStderrFile), std::string("oh\n"));
        QCOMPARE(run.read("config"), config);
    }

    void namesWhatCannotBeExecuted_data() {
        QTest::addColumn<QString>("program");
        QTest::addColumn<int>("code");
        QTest::addColumn<QString>("reason");
        QTest::newRow("missing") << "%1/none" << int(Code::NotFound) << "There is no file";
        QTest::newRow("missing below the working directory")
            << "./none" << int(Code::NotFound) << "There is no file";
        QTest::newRow("not executable")
            << "%1/plain" << int(Code::PermissionDenied) << "lacks the x bit";
        QTest::newRow("a folder") << "%1" << int(Code::PermissionDenied) << "is a folder";
        QTest::newRow("no interpreter")
            << "%1/text" << int(Code::InvalidArgument) << "first line names no interpreter";
        QTest::newRow("another processor")
            << "%1/binary" << int(Code::InvalidArgument) << "another kind of processor";
        QTest::newRow("empty") << "%1/empty" << int(Code::InvalidArgument) << "an empty file";
        QTest::newRow("wrong interpreter")
            << "%1/wrong" << int(Code::InvalidArgument) << "the interpreter \"/opt/none/python\"";
        QTest::newRow("Windows line ends")
            << "%1/windows" << int(Code::InvalidArgument) << "Unix line ends";
        QTest::newRow("not in PATH")
            << "lockstep-no-such-program" << int(Code::NotFound) << "looked in PATH: /";
    }
    void namesWhatCannotBeExecuted() {
        QFETCH(QString, program);
        QFETCH(int, code);
        QFETCH(QString, reason);
        TestRun run;
        QVERIFY(files::writeAtomic(run.path("plain"), "#!/bin/sh\n").ok());
        const std::vector<std::pair<const char*, std::string>> programs{
            {"text", "hello\n"},
            {"binary", std::string("\x7f"
                                   "ELF\x02\x01\x01") +
                           std::string(200, '\0')},
            {"empty", ""},
            {"wrong", "#! /opt/none/python -u\nprint(1)\n"},
            {"windows", "#!/bin/sh\r\nexit 0\r\n"}};
        for (const auto& [name, bytes] : programs)
            QVERIFY(files::writeAtomic(run.path(name), bytes, files::Durability::Renamed, 0755));
        SuperviseRequest request = run.request("");
        program.replace(u"%1"_qs, QString::fromStdString(run.folder()));
        request.program = program.toStdString();
        const auto started = run.supervise(request);
        QVERIFY(!started);
        QCOMPARE(int(started.error().code), code);
        const QString message = QString::fromStdString(started.error().message);
        QVERIFY2(message.contains(reason), qPrintable(message));
        QCOMPARE(started.error().where, request.program);
        const auto state = run.state();
        QVERIFY(state.ok());
        QCOMPARE(state->phase, Phase::Exited);
        QVERIFY(QString::fromStdString(state->problem.value_or("")).contains(reason));
        QVERIFY(holdsWithin(5000, [&] { return !isAlive(state->supervisor); }));
    }

    void dropsNamesThatAreNoneToAShell() {
        qputenv("FOO.BAR", "1");
        qputenv("BASH_FUNC_m%%", "() { echo; }");
        qputenv("LOCKSTEP_A", "x\ny");
        TestRun run;
        const auto started = run.supervise("printf '%s' \"$LOCKSTEP_A\"; env");
        for (const char* name : {"FOO.BAR", "BASH_FUNC_m%%", "LOCKSTEP_A"})
            qunsetenv(name);
        QVERIFY(started.ok());
        auto dropped = started->dropped;
        std::sort(dropped.begin(), dropped.end());
        const std::vector<std::string> odd{"BASH_FUNC_m%%", "FOO.BAR"};
        QVERIFY(std::includes(dropped.begin(), dropped.end(), odd.begin(), odd.end()));
        run.stateWhenOver();
        const std::string out = run.read("stdout.log");
        QVERIFY(out.starts_with("x\ny"));
        QVERIFY(out.find("FOO.BAR") == out.npos);
        QVERIFY(out.find("BASH_FUNC") == out.npos);
    }

    void writesDownWhenOutputCame() {
        TestRun run;
        const double before = Clock::system().utcSeconds();
        QVERIFY(run.supervise("printf one; sleep 0.5; printf two; printf x >&2").ok());
        run.stateWhenOver();
        wire::OutputTimes times;
        times.add(run.read("stdout.idx"));
        QCOMPARE(times.known(), 6);
        QVERIFY(*times.at(3) >= before - 0.01);
        QVERIFY(*times.at(6) - *times.at(3) > 0.3);
        QVERIFY(*times.at(6) - *times.at(3) < 5);
        wire::OutputTimes errorTimes;
        errorTimes.add(run.read("stderr.idx"));
        QCOMPARE(errorTimes.known(), 1);
    }

    void namesMissingFolderAndFile() {
        TestRun run;
        SuperviseRequest request = run.request("exit 0");
        request.cwd = run.path("none");
        QCOMPARE(run.supervise(request).error().where, request.cwd);
        request.cwd.clear();
        request.envFiles = {{"TF_CONFIG", "none.json"}};
        const auto started = run.supervise(request);
        QCOMPARE(started.error().code, Code::NotFound);
        QCOMPARE(started.error().where, run.path("none.json"));
    }

    void refusesVariablesThatCannotBeSet() {
        TestRun run;
        SuperviseRequest request = run.request("exit 0");
        request.env = {{"A=B", "x"}};
        QCOMPARE(run.supervise(request).error().code, Code::InvalidArgument);
        QVERIFY(!run.state());
    }

    void refusesFolderOfALiveProcess() {
        TestRun run;
        const auto first = run.supervise("exec sleep 600");
        QVERIFY(first.ok());
        const auto second = run.supervise("exit 0");
        QCOMPARE(second.error().code, Code::AlreadyExists);
        QVERIFY(isAlive(first->process));
        QVERIFY(run.state()->process == first->process);
    }

    void takesFolderOfAProcessThatIsOver() {
        TestRun run;
        QVERIFY(run.supervise("exit 1").ok());
        const ProcessState state = run.stateWhenOver();
        QVERIFY(holdsWithin(5000, [&] { return !isAlive(state.supervisor); }));
        QVERIFY(run.supervise("exit 2").ok());
        QCOMPARE(run.stateWhenOver().exitCode.value_or(-1), 2);
    }

    void killsWhatTheProcessLeaves() {
        TestRun run;
        QVERIFY(run.supervise("sleep 600 & setsid sh -c \"trap '' TERM HUP; sleep 600 & wait\" & "
                              "sleep 0.2; exit 0")
                    .ok());
        QVERIFY(holdsWithin(5000, [&] { return processesOfRun(run.id()).size() >= 4; }));
        const ProcessState state = run.stateWhenOver();
        QCOMPARE(state.exitCode.value_or(-1), 0);
        // The exit record comes last, so nothing may be left by now.
        QCOMPARE(processesOfRun(run.id()).size(), std::size_t(0));
    }

    void forwardsTerminationOfTheHost() {
        TestRun run;
        const auto started =
            run.supervise("trap 'exit 7' TERM; touch ready; while :; do sleep 0.05; done");
        QVERIFY(started.ok());
        QVERIFY(holdsWithin(5000, [&] { return files::read(run.path("ready")).ok(); }));
        QVERIFY(sendSignal(started->supervisor, SIGTERM));
        QCOMPARE(run.stateWhenOver().exitCode.value_or(-1), 7);
    }

    void recordsExitCodeAlsoWhereTheCallerIgnoresItsChildren() {
        TestRun run;
        QProcess agent;
        agent.setChildProcessModifier([] { ::signal(SIGCHLD, SIG_IGN); });
        agent.start(QStringLiteral(LOCKSTEP_BIN_DIR "/lockstep-worker"), {u"supervise"_qs});
        agent.write(QByteArray::fromStdString(encode(run.request("sleep 0.1; exit 3"))));
        QVERIFY(agent.waitForFinished(10'000));
        QCOMPARE(agent.exitCode(), 0);
        QCOMPARE(run.stateWhenOver().exitCode.value_or(-1), 3);
    }

    void answersWrongInputWithExitCodeTwo() {
        const Answer answer = call(QStringLiteral("supervise"), "{}\n");
        QCOMPARE(answer.exitCode, 2);
        QCOMPARE(decodeSuperviseReply(answer.line).error().code, Code::InvalidArgument);
        QCOMPARE(call(QStringLiteral("supervise"), "").exitCode, 2);
        QCOMPARE(call(QStringLiteral("no-such-command"), "").exitCode, 2);
    }
};

QTEST_GUILESS_MAIN(TestSupervise)
#include "tst_supervise.moc"
