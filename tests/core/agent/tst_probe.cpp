// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/agent/probe.h"
#include "tests/core/agent/agent_process.h"

#include <QElapsedTimer>
#include <QFile>
#include <QProcess>
#include <QTcpServer>
#include <QtTest>

#include <unistd.h>

using namespace lockstep;
using namespace lockstep::agent;

namespace {

/// A `listen` that runs while this lives.
class Listener {
public:
    Listener(const std::string& token, const std::vector<Port>& ports) {
        m_process.start(QStringLiteral(LOCKSTEP_BIN_DIR "/lockstep-worker"),
                        {QStringLiteral("listen")});
        m_process.write(QByteArray::fromStdString(encode(ListenRequest{token, ports, 60})));
    }
    ~Listener() {
        m_process.closeWriteChannel();
        m_process.waitForFinished(5000);
    }
    Result<ListenReply> next() {
        while (!m_process.canReadLine())
            if (!m_process.waitForReadyRead(10'000))
                return Error{Code::TimedOut, "no line", {}};
        return decodeListenReply(m_process.readLine().trimmed().toStdString());
    }
    bool endsWithItsInput() {
        m_process.closeWriteChannel();
        return m_process.waitForFinished(5000) && m_process.exitCode() == 0;
    }

private:
    QProcess m_process;
};

std::map<std::string, DialResult> dialAll(const DialRequest& request) {
    QProcess process;
    process.start(QStringLiteral(LOCKSTEP_BIN_DIR "/lockstep-worker"), {QStringLiteral("dial")});
    process.write(QByteArray::fromStdString(encode(request)));
    process.waitForFinished(30'000);
    std::map<std::string, DialResult> results;
    for (const QByteArray& line : process.readAllStandardOutput().split('\n'))
        if (const auto result = decodeDialResult(line.toStdString()))
            results[result->task] = *result;
    return results;
}

int freePort() {
    QTcpServer server;
    server.listen(QHostAddress::Any);
    return server.serverPort();
}

} // namespace

class TestProbe : public QObject {
    Q_OBJECT

    QTemporaryDir m_tools;

    HostProbe gpusWith(const QByteArray& script) {
        QFile file(m_tools.filePath(QStringLiteral("nvidia-smi")));
        file.open(QIODevice::WriteOnly | QIODevice::Truncate);
        file.write("#!/bin/sh\n" + script);
        file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
        file.close();
        HostProbe probe;
        probeGpus(probe, {m_tools.path().toStdString()});
        return probe;
    }

private Q_SLOTS:
    void saysWhatThisMachineIs() {
        const auto answer = test::call(
            QStringLiteral("probe"),
            encode(ProbeRequest{false, "/tmp/not/yet/there", {"localhost", "no.invalid"}}));
        QCOMPARE(answer.exitCode, 0);
        const auto probe = decodeHostProbe(answer.line);
        QVERIFY(probe.ok());
        char name[256] = {};
        ::gethostname(name, sizeof name - 1);
        QCOMPARE(probe->hostname, std::string(name));
        QVERIFY(std::abs(probe->utcSeconds - double(QDateTime::currentMSecsSinceEpoch()) / 1e3) <
                5);
        QVERIFY(probe->cores >= 1 && probe->memoryBytes > 0 && probe->diskFreeBytes > 0);
        QVERIFY(probe->availableBytes > 0 && probe->availableBytes <= probe->memoryBytes);
        QVERIFY(QByteArray::fromStdString(probe->libc).startsWith("glibc 2."));
        QVERIFY(!probe->user.empty() && !probe->bootId.empty() && !probe->architecture.empty());
        const NetworkInterface* loopback = probe->interfaceOf("127.0.0.1");
        QVERIFY(loopback && loopback->isLoopback && loopback->isUp && loopback->mtu > 0);
        QCOMPARE(probe->resolved.size(), std::size_t{2});
        QVERIFY(!probe->resolved[0].addresses.empty());
        QVERIFY(probe->resolved[1].addresses.empty());
        QCOMPARE(encode(*probe), encode(*decodeHostProbe(encode(*probe))));
    }

    void tellsWhyThereIsNoGpu_data() {
        QTest::addColumn<QByteArray>("script");
        QTest::addColumn<int>("state");
        QTest::newRow("exit 9") << QByteArray("echo \"NVIDIA-SMI has failed\"; exit 9\n")
                                << int(GpuState::NotRunning);
        QTest::newRow("mismatch")
            << QByteArray(
                   "echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18\n")
            << int(GpuState::Mismatch);
        QTest::newRow("none") << QByteArray("echo 'No devices were found'; exit 6\n")
                              << int(GpuState::None);
        QTest::newRow("empty table") << QByteArray("exit 0\n") << int(GpuState::None);
        QTest::newRow("permission")
            << QByteArray("echo 'Failed to initialize NVML: Insufficient Permissions'; exit 4\n")
            << int(GpuState::PermissionDenied);
        QTest::newRow("anything else") << QByteArray("exit 3\n") << int(GpuState::Failed);
    }
    void tellsWhyThereIsNoGpu() {
        QFETCH(QByteArray, script);
        QFETCH(int, state);
        QCOMPARE(int(gpusWith(script).gpuState), state);
    }
    void findsNoDriverWhereThereIsNoTool() {
        HostProbe probe;
        probeGpus(probe, {"/proc/version/x"});
        if (::access("/dev/nvidiactl", F_OK) == 0)
            QSKIP("this machine has an NVIDIA driver");
        QCOMPARE(probe.gpuState, GpuState::NoDriver);
    }
    void readsGpusWithGapsAndMig() {
        const HostProbe probe = gpusWith(
            "case \"$1\" in --query*) echo 'NVIDIA H200, 143771, 550.54.15, 9.0, Enabled'\n"
            "echo 'Old Card, [N/A], 550.54.15, [Not Supported], [N/A]';;\n"
            "*) echo '| NVIDIA-SMI 550.54.15   Driver Version: 550.54.15   CUDA Version: 12.4 |';; "
            "esac\n");
        QCOMPARE(probe.gpuState, GpuState::Ready);
        QCOMPARE(probe.driver, std::string("550.54.15"));
        QCOMPARE(probe.cuda, std::string("12.4"));
        QCOMPARE(probe.gpus.size(), std::size_t{2});
        QCOMPARE(probe.gpus[0], (Gpu{"NVIDIA H200", 143771, "9.0", true}));
        QCOMPARE(probe.gpus[1], (Gpu{"Old Card", 0, "", false}));
    }
    void countsEightGpus() {
        QCOMPARE(gpusWith("case \"$1\" in --query*) for i in 1 2 3 4 5 6 7 8; do "
                          "echo 'A100, 81920, 535.1, 8.0, Disabled'; done;; esac\n")
                     .gpus.size(),
                 std::size_t{8});
    }

    void reachesAListenerAndMeasures() {
        const int port = freePort();
        Listener listener("t", {{"worker:1", port}});
        const auto open = listener.next();
        QVERIFY(open.ok() && open->isOpen);
        DialRequest request;
        request.token = "t";
        request.peers = {{"worker:1", "127.0.0.1", "", port}};
        request.bandwidthSeconds = 0.1;
        const DialResult result = dialAll(request)["worker:1"];
        QCOMPARE(result.reach, Reach::Reached);
        QCOMPARE(result.echo1M.state, EchoState::Good);
        QVERIFY(result.roundTripSeconds > 0 && result.bytesPerSecond > 0);
        QCOMPARE(result.localAddress, std::string("127.0.0.1"));
        QCOMPARE(result.localInterface, std::string("lo"));
        QVERIFY(listener.endsWithItsInput());
    }
    void opensAPortAgainAtOnce() {
        const int port = freePort();
        for (int i = 0; i < 3; ++i) {
            Listener listener("t", {{"worker:1", port}});
            const auto open = listener.next();
            QVERIFY(open.ok() && open->isOpen);
            DialRequest request;
            request.token = "t";
            request.peers = {{"worker:1", "127.0.0.1", "", port}};
            QCOMPARE(dialAll(request)["worker:1"].reach, Reach::Reached);
            QVERIFY(listener.endsWithItsInput());
        }
    }
    void namesTheOwnerOfAPort() {
        QTcpServer server;
        QVERIFY(server.listen(QHostAddress::Any));
        Listener listener("t", {{"worker:1", server.serverPort()}});
        const auto reply = listener.next();
        QVERIFY(reply.ok() && !reply->isOpen);
        QCOMPARE(reply->owner.pid, std::int64_t(QCoreApplication::applicationPid()));
        QVERIFY(!reply->owner.user.empty());
        QVERIFY(reply->freePort > server.serverPort() &&
                reply->freePort <= server.serverPort() + 100);
        QVERIFY(std::abs(reply->owner.startedAt - double(QDateTime::currentSecsSinceEpoch())) <
                120);
    }
    void tellsFailuresApart() {
        const int taken = freePort();
        Listener listener("mine", {{"worker:7", taken}});
        QVERIFY(listener.next().ok());
        QTcpServer silent; // accepts in the kernel and says nothing
        QVERIFY(silent.listen(QHostAddress::LocalHost));
        DialRequest request;
        request.token = "mine";
        request.resolveSeconds = 0.3;
        request.connectSeconds = 1;
        request.peers = {{"wrong host", "127.0.0.1", "", taken},
                         {"refused", "127.0.0.1", "", freePort()},
                         {"unknown", "no.invalid", "", 2222},
                         {"silent", "127.0.0.1", "", silent.serverPort()}};
        QElapsedTimer timer;
        timer.start();
        auto results = dialAll(request);
        QVERIFY(timer.elapsed() < 10'000);
        QCOMPARE(results["wrong host"].reach, Reach::WrongHost);
        QCOMPARE(results["wrong host"].answeredBy, std::string("worker:7"));
        QCOMPARE(results["refused"].reach, Reach::Refused);
        QCOMPARE(results["unknown"].reach, Reach::UnknownName);
        QCOMPARE(results["silent"].reach, Reach::WrongProgram);
        request.token = "other";
        request.peers = {{"worker:7", "127.0.0.1", "", taken}};
        QCOMPARE(dialAll(request)["worker:7"].reach, Reach::WrongProgram);
    }
};

QTEST_GUILESS_MAIN(TestProbe)
#include "tst_probe.moc"
