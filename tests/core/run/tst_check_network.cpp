// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// Checks of clusters whose hosts are network namespaces on one bridge. Needs root, ip and nft. The
// hosts share a kernel, so each check also finds that they are one machine; that is left out.
#include "core/agent/probe_protocol.h"
#include "core/base/files.h"
#include "core/remote/local_host.h"
#include "core/run/cluster_check.h"
#include "tests/support/sanitizer.h"

#include <QDir>
#include <QElapsedTimer>
#include <QProcess>
#include <QSignalSpy>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QtTest>

#include <unistd.h>

using namespace lockstep;
using namespace lockstep::run;
using agent::EchoState;
using agent::Reach;

namespace {

constexpr double kMostSeconds = support::kIsSanitized ? 60 : 10;

QByteArray runProgram(const QString& program, const QStringList& arguments,
                      const QByteArray& input = {}) {
    QProcess process;
    process.setProcessChannelMode(QProcess::MergedChannels);
    process.start(program, arguments);
    process.write(input);
    process.closeWriteChannel();
    if (!process.waitForFinished(30'000))
        return "does not end";
    const QByteArray output = process.readAll();
    return process.exitCode() == 0 ? QByteArray() : program.toUtf8() + ": " + output;
}

/// `size` hosts 10.78.0.1, … on one bridge, each with an /etc/hosts of its own; gone with this.
class Network {
public:
    explicit Network(int size)
        : m_size(size) {
        const QByteArray hub = name(-1);
        call({}, "netns add " + hub + "\n");
        inHub("link add br0 type bridge\nlink set br0 up\n");
        for (int host = 0; host < size; ++host) {
            const QByteArray own = name(host);
            const QByteArray port = "v" + QByteArray::number(host);
            call({}, "netns add " + own + "\nlink add eth0 netns " + own + " type veth peer name " +
                         port + " netns " + hub + "\n");
            inHub("link set " + port + " master br0\nlink set " + port + " up\n");
            QByteArray neighbours; // the kernel's table of learned ones is one for all namespaces
            for (int other = 0; other < size; ++other)
                if (other != host)
                    neighbours += "neigh replace " + address(other).toUtf8() + " lladdr " +
                                  hardware(other) + " dev eth0 nud permanent\n";
            inHost(host, "link set eth0 address " + hardware(host) + "\naddr add " +
                             address(host).toUtf8() +
                             "/24 dev eth0\nlink set eth0 up\n"
                             "link set lo up\n" +
                             neighbours);
            setHosts(host, {});
        }
    }
    ~Network() {
        for (int host = -1; host < m_size; ++host) {
            call({}, "netns del " + name(host) + "\n");
            QDir(etc(host)).removeRecursively();
        }
    }

    static QString address(int host) { return QStringLiteral("10.78.0.%1").arg(host + 1); }
    static QByteArray hardware(int host) {
        return "02:4c:53:00:0a:" + QByteArray::number(host + 0x10, 16);
    }
    static QByteArray name(int host) {
        return "lockstep-check-" + QByteArray::number(::getpid()) + "-" +
               QByteArray::number(host + 1);
    }
    void inHost(int host, const QByteArray& batch) { call(name(host), batch); }
    void setHosts(int host, const QByteArray& lines) {
        QDir().mkpath(etc(host));
        write(etc(host) + QStringLiteral("/hosts"), "127.0.0.1 localhost\n" + lines);
        write(etc(host) + QStringLiteral("/resolv.conf"), "# no name service\n");
    }
    void nft(int host, const QByteArray& rules) {
        const QByteArray said = runProgram(QStringLiteral("ip"),
                                           {QStringLiteral("netns"), QStringLiteral("exec"),
                                            QString::fromUtf8(name(host)), QStringLiteral("nft"),
                                            QStringLiteral("-f"), QStringLiteral("-")},
                                           rules);
        if (m_problem.isEmpty())
            m_problem = said;
    }
    static QStringList prefix(int host) {
        return {QStringLiteral("netns"), QStringLiteral("exec"), QString::fromUtf8(name(host))};
    }
    const QByteArray& problem() const { return m_problem; }

private:
    static QString etc(int host) {
        return QStringLiteral("/etc/netns/") + QString::fromUtf8(name(host));
    }
    static void write(const QString& path, const QByteArray& bytes) {
        QFile file(path);
        file.open(QIODevice::WriteOnly | QIODevice::Truncate);
        file.write(bytes);
    }
    void inHub(const QByteArray& batch) { call(name(-1), batch); }
    void call(const QByteArray& where, const QByteArray& batch) {
        QStringList arguments;
        if (!where.isEmpty())
            arguments << QStringLiteral("-n") << QString::fromUtf8(where);
        const QByteArray said = runProgram(
            QStringLiteral("ip"), arguments << QStringLiteral("-b") << QStringLiteral("-"), batch);
        if (m_problem.isEmpty())
            m_problem = said;
    }

    int m_size;
    QByteArray m_problem;
};

/// This machine, with the worker program in a network namespace.
class NamespaceHost final : public remote::LocalHost {
public:
    NamespaceHost(int place, QString name)
        : LocalHost(QStringLiteral(LOCKSTEP_BIN_DIR "/lockstep-worker"))
        , m_place(place)
        , m_name(std::move(name)) {}
    QString name() const override { return m_name; }
    RequestId prepare(const QString& base, Done<remote::HostFacts> done,
                      std::chrono::milliseconds deadline) override {
        return LocalHost::prepare(
            base,
            [done, place = m_place](Result<remote::HostFacts> facts) {
                if (facts) {
                    facts->workerArgs = Network::prefix(place) << facts->workerProgram;
                    facts->workerProgram = QStringLiteral("ip");
                }
                done(std::move(facts));
            },
            deadline);
    }

private:
    int m_place;
    QString m_name;
};

/// This machine with a clock that is `ahead`: what its worker answers is changed on the way.
class SkewedHost final : public remote::LocalHost {
public:
    SkewedHost(double ahead, QString name)
        : LocalHost(QStringLiteral(LOCKSTEP_BIN_DIR "/lockstep-worker"))
        , m_ahead(ahead)
        , m_name(std::move(name)) {}
    QString name() const override { return m_name; }
    RequestId run(const remote::Command& command, const QByteArray& input,
                  Done<remote::Output> done, std::chrono::milliseconds deadline) override {
        return LocalHost::run(
            command, input,
            [done, ahead = m_ahead](Result<remote::Output> output) {
                auto probe = output ? agent::decodeHostProbe(output->out.trimmed().toStdString())
                                    : Result<agent::HostProbe>(output.error());
                if (probe && probe->utcSeconds > 0) { // no other answer has a time
                    probe->utcSeconds += ahead;
                    output->out = QByteArray::fromStdString(agent::encode(*probe));
                }
                done(std::move(output));
            },
            deadline);
    }

private:
    double m_ahead;
    QString m_name;
};

Result<std::shared_ptr<remote::Host>> namespaceHost(const cluster::Worker& worker) {
    std::shared_ptr<remote::Host> host = std::make_shared<NamespaceHost>(
        worker.task.index, QString::fromStdString(worker.sshText()));
    return host;
}

/// Hosts n0, n1, … at their numbers, port 2222.
cluster::ClusterSpec specOf(int count, const std::map<int, std::string>& addresses = {}) {
    cluster::ClusterSpec spec;
    for (int i = 0; i < count; ++i) {
        cluster::Worker worker;
        worker.ssh = "n" + std::to_string(i);
        worker.address =
            addresses.count(i) ? addresses.at(i) : Network::address(i).toStdString() + ":2222";
        spec.add(worker);
    }
    return spec;
}

CheckReport check(const cluster::ClusterSpec& spec, CheckOptions options = {}) {
    options.resolve = std::chrono::milliseconds(500);
    ClusterCheck cluster(namespaceHost, spec, options);
    QSignalSpy done(&cluster, &ClusterCheck::done);
    cluster.start();
    if (!done.wait(60'000))
        qFatal("the check does not end");
    return cluster.report();
}

/// Without that the namespaces are one machine, and how busy it is.
std::vector<CheckFinding> findingsIn(const CheckReport& report) {
    std::vector<CheckFinding> found;
    for (const CheckFinding& finding : report.findings)
        if (finding.id != "twins" && finding.id != "load")
            found.push_back(finding);
    return found;
}

int badCells(const CheckReport& report) {
    int bad = 0;
    for (const CheckedPair& pair : report.pairs)
        bad += pair.state != CheckedPair::State::Self && !pair.isGood();
    return bad;
}

#define GOOD(network) QVERIFY2((network).problem().isEmpty(), (network).problem().constData())

} // namespace

class TestCheckNetwork : public QObject {
    Q_OBJECT

    QTemporaryDir m_data;

private Q_SLOTS:
    void initTestCase() {
        QByteArray lacking;
        if (::geteuid() != 0)
            lacking = "root is needed for network namespaces";
        for (const char* tool : {"ip", "nft", "python3"})
            if (QStandardPaths::findExecutable(QString::fromUtf8(tool)).isEmpty())
                lacking = QByteArray(tool) + " is not installed";
        if (lacking.isEmpty()) {
            const Network probe(1);
            lacking = probe.problem();
        }
        if (!lacking.isEmpty() && qgetenv("LOCKSTEP_REQUIRE").contains("netns"))
            QFAIL(lacking);
        if (!lacking.isEmpty())
            QSKIP(lacking);
        qputenv("XDG_DATA_HOME", m_data.path().toUtf8());
    }

    void allIsWellWhereNothingIsWrong() {
        Network network(3);
        GOOD(network);
        const CheckReport report = check(specOf(3));
        QVERIFY(report.isComplete);
        QCOMPARE(badCells(report), 0);
        QVERIFY(findingsIn(report).empty());
        QVERIFY(report.pair(0, 1).result.roundTripSeconds > 0);
        QVERIFY(std::abs(report.hosts[0].clockOffsetSeconds) < 0.5);
    }
    // L2
    void warnsOfTheClocksThatItMeasures() {
        const std::vector<double> ahead{300, -7, 0.2};
        CheckOptions options;
        options.resolve = std::chrono::milliseconds(500);
        const auto make =
            [&](const cluster::Worker& worker) -> Result<std::shared_ptr<remote::Host>> {
            return std::shared_ptr<remote::Host>(
                std::make_shared<SkewedHost>(ahead.at(static_cast<std::size_t>(worker.task.index)),
                                             QString::fromStdString(worker.sshText())));
        };
        ClusterCheck cluster(make, specOf(3), options);
        QSignalSpy done(&cluster, &ClusterCheck::done);
        cluster.start();
        QVERIFY(done.wait(60'000));
        std::vector<CheckFinding> clocks;
        for (const CheckFinding& finding : cluster.report().findings)
            if (finding.id == "clock")
                clocks.push_back(finding);
        QCOMPARE(clocks.size(), std::size_t{2});
        QCOMPARE(clocks[0].task, std::string("worker:0"));
        QVERIFY2(clocks[0].what.find("s ahead") != std::string::npos, clocks[0].what.c_str());
        QCOMPARE(clocks[1].task, std::string("worker:1"));
        QVERIFY2(clocks[1].what.find("s behind") != std::string::npos, clocks[1].what.c_str());
        for (std::size_t host = 0; host < ahead.size(); ++host)
            QVERIFY(std::abs(cluster.report().hosts[host].clockOffsetSeconds - ahead[host]) < 0.5);
    }
    void marksTheOneDirectionThatIsDropped() {
        Network network(3);
        network.nft(0, "table inet t { chain o { type filter hook output priority 0; "
                       "ip daddr 10.78.0.2 tcp dport 2222 drop; }\n}\n");
        GOOD(network);
        const CheckReport report = check(specOf(3));
        QCOMPARE(badCells(report), 1);
        QCOMPARE(report.pair(0, 1).result.reach, Reach::Dropped);
        const auto found = findingsIn(report);
        QCOMPARE(found.size(), std::size_t{1});
        QCOMPARE(found[0].kind, FindingKind::Error);
        QVERIFY(found[0].what.find("silently dropped in this direction") != std::string::npos);
    }
    void tellsARefusalFromSilence() {
        Network network(2);
        network.nft(1, "table inet t { chain i { type filter hook input priority 0; "
                       "tcp dport 2222 reject with tcp reset; }\n}\n");
        GOOD(network);
        const CheckReport report = check(specOf(2));
        QCOMPARE(report.pair(0, 1).result.reach, Reach::Refused);
        QVERIFY(report.pair(1, 0).isGood());
    }
    void goesThroughTheInterfaceThatLeadsThere() {
        Network network(2);
        for (int host = 0; host < 2; ++host)
            network.inHost(host,
                           "link add docker0 type bridge\naddr add 172.17.0.1/16 dev docker0\n"
                           "link set docker0 up\n");
        GOOD(network);
        const CheckReport report = check(specOf(2));
        QCOMPARE(badCells(report), 0);
        QCOMPARE(report.pair(0, 1).result.localInterface, std::string("eth0"));
        QCOMPARE(report.pair(1, 0).result.localInterface, std::string("eth0"));
        QCOMPARE(report.pair(1, 0).result.localAddress, std::string("10.78.0.2"));
    }
    void aNameThatMeansLoopbackAtHomeDoesNotMatter() {
        Network network(2);
        network.setHosts(0, "10.78.0.2 n1\n");
        network.setHosts(1, "127.0.1.1 n1\n");
        GOOD(network);
        const CheckReport report = check(specOf(2, {{1, "n1:2222"}}));
        QCOMPARE(badCells(report), 0);
        QCOMPARE(report.pair(0, 1).result.address, std::string("10.78.0.2"));
        QCOMPARE(report.count(FindingKind::Error), 0);
        const auto found = findingsIn(report);
        QCOMPARE(found.at(0).id, std::string("loopback_name"));
    }
    void aNameThatMeansLoopbackOnAPeerIsAnError() {
        Network network(2);
        network.setHosts(0, "127.0.1.1 n1\n");
        network.setHosts(1, "10.78.0.2 n1\n");
        GOOD(network);
        const CheckReport report = check(specOf(2, {{1, "n1:2222"}}));
        QCOMPARE(report.pair(0, 1).result.reach, Reach::WrongHost);
        QVERIFY(report.count(FindingKind::Error) > 0);
    }
    void dialsNumbersWithoutTurningThemIntoNames() {
        Network network(2);
        network.setHosts(0, "10.78.0.2 fake-host\n");
        GOOD(network);
        const CheckReport report = check(specOf(2));
        QCOMPARE(badCells(report), 0);
        QCOMPARE(report.pair(0, 1).result.address, std::string("10.78.0.2"));
        QVERIFY(json::dump(toJson(report)).find("fake-host") == std::string::npos);
    }
    void saysWhereANameIsUnknown() {
        Network network(2);
        network.setHosts(1, "10.78.0.2 node-b.cluster.local\n");
        GOOD(network);
        const CheckReport report = check(specOf(2, {{1, "node-b.cluster.local:2222"}}));
        QCOMPARE(badCells(report), 1);
        QCOMPARE(report.pair(0, 1).result.reach, Reach::UnknownName);
        QCOMPARE(findingsIn(report).at(0).id, std::string("unknown_name"));
    }
    void namesTheProgramThatHasThePort() {
        Network network(2);
        GOOD(network);
        QProcess server;
        server.start(QStringLiteral("ip"),
                     Network::prefix(1) << QStringList{
                         QStringLiteral("python3"), QStringLiteral("-u"), QStringLiteral("-m"),
                         QStringLiteral("http.server"), QStringLiteral("2222")});
        QVERIFY(server.waitForReadyRead(10'000));
        const CheckReport report = check(specOf(2));
        server.kill();
        server.waitForFinished();
        const auto found = findingsIn(report);
        QCOMPARE(found.size(), std::size_t{1});
        QCOMPARE(found[0].id, std::string("port_in_use"));
        QVERIFY(found[0].what.find("(python3)") != std::string::npos);
        QCOMPARE(report.pair(0, 1).result.reach, Reach::WrongProgram);
    }
    void saysThatOnlyLongPacketsAreLost() {
        Network network(2);
        for (int host = 0; host < 2; ++host)
            network.inHost(host, "link set eth0 mtu 9000\n");
        network.nft(-1, "table bridge t { chain f { type filter hook forward priority 0; "
                        "meta length > 1500 drop; }\n}\n");
        GOOD(network);
        const CheckReport report = check(specOf(2));
        QCOMPARE(report.pair(0, 1).result.reach, Reach::Reached);
        QCOMPARE(report.pair(0, 1).result.echo1K.state, EchoState::Good);
        QCOMPARE(report.pair(0, 1).result.echo64K.state, EchoState::Failed);
        const auto found = findingsIn(report);
        QCOMPARE(found.at(0).id, std::string("echo"));
        QVERIFY(found[0].what.find("64 KiB echo failed, 1 KiB ok") != std::string::npos);
    }
    void namesTheRunOfAnEngineThatWasLeft() {
        Network network(2);
        GOOD(network);
        const QString job = m_data.filePath(QStringLiteral("left.job.json"));
        QVERIFY(files::writeAtomic(job.toStdString(),
                                   R"({"format": "lockstep-job", "version": 1, "name": "left",
 "model": {"class_name": "Sequential", "config": {"layers": [
   {"class_name": "InputLayer", "config": {"batch_shape": [null, 10]}},
   {"class_name": "Dense", "config": {"units": 1}}]}},
 "compile": {"optimizer": "sgd", "loss": "mse"},
 "data": {"train": {"source": "random_uniform", "rows": 100, "features": 10, "labels": 1, "seed": 1}},
 "fit": {"epochs": 1}, "seed": 1})",
                                   files::Durability::Renamed)
                    .ok());
        QProcess engine;
        QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
        environment.insert(QStringLiteral("LOCKSTEP_RUN_ID"), QStringLiteral("X"));
        environment.insert(
            QStringLiteral("TF_CONFIG"),
            QStringLiteral(R"({"cluster":{"worker":["10.78.0.2:2222","10.78.0.9:2222"]},)"
                           R"("task":{"type":"worker","index":0}})"));
        engine.setProcessEnvironment(environment);
        engine.start(QStringLiteral("ip"),
                     Network::prefix(1)
                         << QStringList{QStringLiteral(LOCKSTEP_BIN_DIR "/lockstep-worker"),
                                        QStringLiteral("train"), QStringLiteral("--job"), job});
        QVERIFY(engine.waitForStarted());
        const auto listens = [&] {
            QProcess ss;
            ss.start(QStringLiteral("ip"),
                     Network::prefix(1)
                         << QStringList{QStringLiteral("cat"), QStringLiteral("/proc/net/tcp6")});
            ss.waitForFinished();
            return ss.readAll().contains(":08AE ");
        };
        QTRY_VERIFY_WITH_TIMEOUT(listens(), 10'000);
        const CheckReport report = check(specOf(2));
        engine.kill();
        engine.waitForFinished();
        const auto found = findingsIn(report);
        QCOMPARE(found.size(), std::size_t{1});
        QVERIFY2(found[0].what.find("10.78.0.2:2222 on n1 belongs to run X, started ") !=
                     std::string::npos,
                 found[0].what.c_str());
        QVERIFY(found[0].what.find(" by root") != std::string::npos);
        QVERIFY(pairWords(report, 0, 1).find("belongs to run X") != std::string::npos);
    }
    void measuresBandwidthInRounds() {
        Network network(3);
        GOOD(network);
        CheckOptions options;
        options.bandwidth = true;
        const CheckReport report = check(specOf(3), options);
        QVERIFY(report.isComplete);
        QCOMPARE(badCells(report), 0);
        for (std::size_t from = 0; from < 3; ++from)
            for (std::size_t to = 0; to < 3; ++to)
                QCOMPARE(report.pair(from, to).result.bytesPerSecond > 0, from != to);
    }
    void endsSoonWhenItIsCancelled() {
        Network network(2);
        network.nft(0, "table inet t { chain o { type filter hook output priority 0; "
                       "ip daddr 10.78.0.2 drop; }\n}\n");
        GOOD(network);
        CheckOptions options;
        options.connect = std::chrono::milliseconds(20'000);
        ClusterCheck cluster(namespaceHost, specOf(2), options);
        QSignalSpy pairs(&cluster, &ClusterCheck::pairChanged);
        QSignalSpy done(&cluster, &ClusterCheck::done);
        cluster.start();
        QTRY_VERIFY_WITH_TIMEOUT(pairs.size() > 0, 10'000);
        QElapsedTimer timer;
        timer.start();
        cluster.cancel();
        QVERIFY(done.wait(5000));
        // A dialler in the middle of a connect is killed a second after its input closed.
        QVERIFY2(timer.elapsed() < 2000, qPrintable(QString::number(timer.elapsed())));
        QVERIFY(!cluster.report().isComplete);
    }
    void checksManyHostsInTime() {
        Network network(32);
        GOOD(network);
        const CheckReport report = check(specOf(32));
        QVERIFY(report.isComplete);
        QCOMPARE(badCells(report), 0);
        qInfo("32 hosts in %.1f s", report.seconds);
        QVERIFY(report.seconds <= kMostSeconds);
    }
};

QTEST_GUILESS_MAIN(TestCheckNetwork)
#include "tst_check_network.moc"
