// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/agent/protocol.h"

#include <QtTest>

#include <csignal>

using namespace lockstep;
using namespace lockstep::agent;

namespace {

std::string_view withoutLf(const std::string& line) {
    return std::string_view(line).substr(0, line.size() - 1);
}

ProcessState someState() {
    ProcessState state;
    state.run = "r1";
    state.task = "worker:1";
    state.attempt = 2;
    state.process = {12, 34567};
    state.supervisor = {11, 34566};
    state.bootId = "boot";
    state.program = "/opt/ä \"b\"";
    state.startedAt = 1700000000.25;
    return state;
}

} // namespace

class TestProtocol : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everyLineIsOneLine() {
        SuperviseRequest request;
        request.args = {"a\nb", ""};
        const std::string line = encode(request);
        QCOMPARE(std::count(line.begin(), line.end(), '\n'), 1);
        QVERIFY(line.back() == '\n');
    }

    void keepsSuperviseRequest() {
        SuperviseRequest request{"/d",         "r1",
                                 "chief:0",    3,
                                 "/bin/x",     {"a b", "", "'\"\n"},
                                 {{"A", "1"}}, {{"TF_CONFIG", "tf_config.json"}},
                                 "/c"};
        const std::string line = encode(request);
        const auto back = decodeSuperviseRequest(withoutLf(line));
        QVERIFY2(back.ok(), back ? "" : back.error().message.c_str());
        QCOMPARE(back->runDir, request.runDir);
        QCOMPARE(back->run, request.run);
        QCOMPARE(back->task, request.task);
        QCOMPARE(back->attempt, request.attempt);
        QCOMPARE(back->program, request.program);
        QVERIFY(back->args == request.args);
        QVERIFY(back->env == request.env);
        QVERIFY(back->envFiles == request.envFiles);
        QCOMPARE(back->cwd, request.cwd);
    }

    void keepsFollowItems() {
        std::string bytes;
        for (int i = 0; i < 256; ++i)
            bytes += static_cast<char>(i);
        for (const FollowItem& item :
             {FollowItem(FileBytes{"events.jsonl", 1LL << 40, bytes}), FollowItem(someState()),
              FollowItem(Heartbeat{}), FollowItem(End{})}) {
            const std::string line = encode(item);
            const auto back = decodeFollowItem(withoutLf(line));
            QVERIFY(back.ok());
            QVERIFY(*back == item);
        }
    }

    void keepsState_data() {
        QTest::addColumn<int>("kind");
        QTest::addColumn<QString>("text");
        QTest::newRow("running") << 0 << "running";
        QTest::newRow("exit code") << 1 << "exit code 3";
        QTest::newRow("signal") << 2 << "killed by signal 9 (SIGKILL)";
        QTest::newRow("not executed") << 3 << "cannot";
    }
    void keepsState() {
        QFETCH(int, kind);
        QFETCH(QString, text);
        ProcessState state = someState();
        if (kind > 0) {
            state.phase = Phase::Exited;
            state.endedAt = state.startedAt + 1;
        }
        if (kind == 1)
            state.exitCode = 3;
        if (kind == 2)
            state.signal = SIGKILL;
        if (kind == 3)
            state.problem = "cannot";
        const auto back = decodeFile(encodeFile(state), "state.json");
        QVERIFY(back.ok());
        QVERIFY(*back == state);
        QCOMPARE(QString::fromStdString(describe(*back)), text);
    }

    void keepsStopAndPlace() {
        const std::string stopLine = encode(StopReply{{{1, "sh"}}, {{2, "stuck"}}});
        const auto stopped = decodeStopReply(withoutLf(stopLine));
        QVERIFY(stopped.ok());
        QVERIFY(!stopped->ok());
        QVERIFY(stopped->killed == std::vector<ProcessName>({{1, "sh"}}));
        QVERIFY(stopped->remaining == std::vector<ProcessName>({{2, "stuck"}}));
        const std::string placeLine = encode(PlaceReply{"/b", "m", {{"/x", "why"}}});
        const auto placed = decodePlaceReply(withoutLf(placeLine));
        QVERIFY(placed.ok());
        QCOMPARE(placed->base, std::string("/b"));
        QVERIFY(placed->refused == Pairs({{"/x", "why"}}));
    }

    void givesTheErrorOfARefusal() {
        const Error error{Code::PermissionDenied, "This cannot be executed.", "/x"};
        const std::string line = encode(error);
        QVERIFY(decodeSuperviseReply(withoutLf(line)).error() == error);
        QVERIFY(decodeFollowItem(withoutLf(line)).error() == error);
        QVERIFY(decodeStopReply(withoutLf(line)).error() == error);
    }

    void refusesRequestsThatDoNotFit_data() {
        QTest::addColumn<QByteArray>("line");
        QTest::addColumn<QByteArray>("named");
        QTest::newRow("no JSON") << QByteArray("{") << QByteArray("");
        QTest::newRow("no object") << QByteArray("[]") << QByteArray("object");
        QTest::newRow("missing") << QByteArray(R"({"offsets":{}})") << QByteArray("run_dir");
        QTest::newRow("relative") << QByteArray(R"({"run_dir":"a"})") << QByteArray("run_dir");
        QTest::newRow("negative") << QByteArray(R"({"run_dir":"/a","offsets":{"x":-1}})")
                                  << QByteArray("offsets");
        QTest::newRow("other folder")
            << QByteArray(R"({"run_dir":"/a","offsets":{"../x":0}})") << QByteArray("offsets");
        QTest::newRow("chunk too long") << QByteArray(R"({"run_dir":"/a","chunk_bytes":999999999})")
                                        << QByteArray("chunk_bytes");
        QTest::newRow("chunk 0") << QByteArray(R"({"run_dir":"/a","chunk_bytes":0})")
                                 << QByteArray("chunk_bytes");
    }
    void refusesRequestsThatDoNotFit() {
        QFETCH(QByteArray, line);
        QFETCH(QByteArray, named);
        const auto request = decodeFollowRequest(line.toStdString());
        QVERIFY(!request);
        QCOMPARE(request.error().code, Code::InvalidArgument);
        QVERIFY2(QByteArray::fromStdString(request.error().message).contains(named),
                 request.error().message.c_str());
    }

    void refusesStateOfANewerVersion() {
        std::string text = encodeFile(someState());
        text.replace(text.find("\"version\": 1"), 12, "\"version\": 2");
        QCOMPARE(decodeFile(text, "state.json").error().code, Code::NewerFormat);
    }

    void refusesTornState() {
        const std::string text = encodeFile(someState());
        QCOMPARE(decodeFile(text.substr(0, text.size() / 2), "state.json").error().code,
                 Code::Corrupt);
    }
};

QTEST_APPLESS_MAIN(TestProtocol)
#include "tst_protocol.moc"
