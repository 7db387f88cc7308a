// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/run/check_report.h"

#include <QtTest>

#include <algorithm>
#include <set>

using namespace lockstep;
using namespace lockstep::run;
using agent::GpuState;
using agent::Reach;

namespace {

/// Hosts n0, n1, … at 10.0.0.1, …; everything is well.
struct Made {
    cluster::ClusterSpec spec;
    CheckReport report;

    explicit Made(int count) {
        for (int i = 0; i < count; ++i) {
            const std::string number = std::to_string(i);
            cluster::Worker worker;
            worker.ssh = "n" + number;
            worker.address = "10.0.0." + std::to_string(i + 1) + ":2222";
            spec.add(worker);
            CheckedHost host;
            host.task = "worker:" + number;
            host.name = "n" + number;
            host.address = worker.address;
            host.state = CheckedHost::State::Done;
            host.listener.task = host.task;
            host.listener.isOpen = true;
            host.probe.hostname = host.name;
            host.probe.machineId = "id" + number;
            host.probe.bootId = "boot" + number;
            host.probe.cores = 8;
            host.probe.diskFreeBytes = 100LL << 30;
            host.probe.interfaces = {
                {"lo", {"127.0.0.1"}, 65536, true, true},
                {"eno1", {"10.0.0." + std::to_string(i + 1)}, 1500, true, false},
                {"ib0", {}, 2044, true, false}};
            report.hosts.push_back(host);
        }
        report.pairs.resize(report.hosts.size() * report.hosts.size());
        for (std::size_t from = 0; from < report.hosts.size(); ++from)
            for (std::size_t to = 0; to < report.hosts.size(); ++to) {
                CheckedPair& pair = report.pair(from, to);
                pair.state = from == to ? CheckedPair::State::Self : CheckedPair::State::Done;
                pair.result.reach = Reach::Reached;
                pair.result.echo1K.state = agent::EchoState::Good;
                pair.result.echo64K.state = agent::EchoState::Good;
                pair.result.echo1M.state = agent::EchoState::Good;
                pair.result.address = "10.0.0." + std::to_string(to + 1);
                pair.result.localAddress = "10.0.0." + std::to_string(from + 1);
                pair.result.localInterface = "eno1";
            }
    }
    std::vector<CheckFinding> findings() const { return findingsOf(spec, report); }
    void edit(std::size_t place, const std::function<void(cluster::Worker&)>& change) {
        cluster::Worker worker = spec.workers()[place];
        change(worker);
        spec.set(place, worker);
        report.hosts[place].address = worker.address;
    }
};

#define ONLY(list, wantedKind, wantedId)                                                           \
    do {                                                                                           \
        QCOMPARE((list).size(), std::size_t{1});                                                   \
        QCOMPARE((list)[0].id, std::string(wantedId));                                             \
        QCOMPARE((list)[0].kind, FindingKind::wantedKind);                                         \
    } while (false)

bool says(const CheckFinding& finding, const char* text) {
    return (finding.what + finding.todo).find(text) != std::string::npos;
}

} // namespace

class TestCheckFindings : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everyoneMeetsEveryoneOnceAndOneAtATime_data() {
        QTest::addColumn<int>("count");
        for (const int count : {0, 1, 2, 3, 4, 7, 32})
            QTest::newRow(qPrintable(QString::number(count))) << count;
    }
    void everyoneMeetsEveryoneOnceAndOneAtATime() {
        QFETCH(int, count);
        const auto rounds = meetingRounds(static_cast<std::size_t>(count));
        QCOMPARE(int(rounds.size()), count < 2 ? 0 : count % 2 ? count : count - 1);
        std::set<std::pair<std::size_t, std::size_t>> met;
        for (const auto& round : rounds) {
            std::set<std::size_t> busy;
            for (const auto& [a, b] : round) {
                QVERIFY(busy.insert(a).second && busy.insert(b).second);
                QVERIFY(a < b && b < static_cast<std::size_t>(count));
                QVERIFY(met.insert({a, b}).second);
            }
        }
        QCOMPARE(int(met.size()), count * (count - 1) / 2);
    }

    void saysNothingWhereAllIsWell() { QVERIFY(Made(3).findings().empty()); }

    void marksOneCellForPacketsDroppedInOneDirection() {
        Made made(2);
        made.report.pair(0, 1).result = {};
        made.report.pair(0, 1).result.reach = Reach::Dropped;
        const auto found = made.findings();
        ONLY(found, Error, "dropped");
        QCOMPARE(found[0].task, std::string("worker:0"));
        QCOMPARE(found[0].peer, std::string("worker:1"));
        QVERIFY(says(found[0], "silently dropped in this direction"));
    }
    void namesAHostOnceThatNobodyReaches() {
        Made made(4);
        for (std::size_t from = 0; from < 3; ++from)
            made.report.pair(from, 3).result.reach = Reach::Dropped;
        const auto found = made.findings();
        ONLY(found, Error, "dropped");
        QVERIFY(says(found[0], "No host could reach worker:3"));
    }
    void comparesVersionsOfDriverAndNccl() {
        Made made(2);
        made.report.hosts[0].probe.driver = "535";
        made.report.hosts[0].probe.nccl = "2.19";
        made.report.hosts[1].probe.driver = "525";
        made.report.hosts[1].probe.nccl = "2.18";
        const auto found = made.findings();
        QCOMPARE(found.size(), std::size_t{2});
        for (const CheckFinding& finding : found) {
            QCOMPARE(finding.kind, FindingKind::Warning);
            QCOMPARE(finding.task, std::string("worker:1"));
            QVERIFY(says(finding, "RING"));
        }
        QVERIFY(says(found[0], "525") && says(found[0], "535"));
        QVERIFY(says(found[1], "2.18") && says(found[1], "2.19"));
    }
    void theMostFrequentVersionIsTheUsualOne() {
        Made made(3);
        made.report.hosts[0].probe.driver = "525";
        made.report.hosts[1].probe.driver = "535";
        made.report.hosts[2].probe.driver = "535";
        const auto found = made.findings();
        ONLY(found, Warning, "driver");
        QCOMPARE(found[0].task, std::string("worker:0"));
    }
    void refusesAnAskedForGpuThatIsMissing_data() {
        QTest::addColumn<int>("state");
        QTest::addColumn<QString>("words");
        const auto row = [](const char* name, GpuState state, const char* words) {
            QTest::newRow(name) << int(state) << words;
        };
        row("no driver", GpuState::NoDriver, "no NVIDIA driver is installed");
        row("driver not running", GpuState::NotRunning, "not running");
        row("mismatch", GpuState::Mismatch, "not restarted");
        row("no GPU", GpuState::None, "finds no GPU");
        row("permission", GpuState::PermissionDenied, "/dev/nvidia*");
    }
    void refusesAnAskedForGpuThatIsMissing() {
        QFETCH(int, state);
        QFETCH(QString, words);
        Made made(2);
        made.report.hosts[1].probe.gpuState = static_cast<GpuState>(state);
        made.edit(1, [](cluster::Worker& worker) { worker.devices = json::Value::array({0}); });
        const auto found = made.findings();
        ONLY(found, Error, "gpu_missing");
        QVERIFY2(says(found[0], words.toUtf8()), found[0].what.c_str());
    }
    void tellsOneMachineFromTwoCopiesOfOneDisk() {
        Made made(2);
        made.report.hosts[1].probe.machineId = made.report.hosts[0].probe.machineId;
        auto found = made.findings();
        ONLY(found, Warning, "clones");
        made.report.hosts[1].probe.hostname = made.report.hosts[0].probe.hostname;
        found = made.findings();
        ONLY(found, Error, "clones");
        made.report.hosts[1].probe.bootId = made.report.hosts[0].probe.bootId;
        found = made.findings();
        ONLY(found, Warning, "twins");
    }
    void warnsOfClocksThatAreOff() {
        Made made(3);
        made.report.hosts[0].clockOffsetSeconds = 300;
        made.report.hosts[1].clockOffsetSeconds = -7;
        made.report.hosts[2].clockOffsetSeconds = 1.2;
        made.report.hosts[2].clockErrorSeconds = 0.4; // may be less than 1 s
        const auto found = made.findings();
        QCOMPARE(found.size(), std::size_t{2});
        QVERIFY(says(found[0], "300.0 s ahead"));
        QVERIFY(says(found[1], "7.0 s behind"));
    }
    void offersTheInterfacesWhereOneIsNamedThatDoesNotExist() {
        Made made(2);
        made.edit(1, [](cluster::Worker& w) { w.env = {{"NCCL_SOCKET_IFNAME", "eth9"}}; });
        const auto found = made.findings();
        ONLY(found, Error, "interface_name");
        QVERIFY2(says(found[0], "n1 has eno1 10.0.0.2, ib0"), found[0].what.c_str());
        for (const char* good : {"eno", "=ib0", "^docker", "eth9,ib"}) {
            made.edit(1, [&](cluster::Worker& w) { w.env = {{"NCCL_SOCKET_IFNAME", good}}; });
            QVERIFY2(made.findings().empty(), good);
        }
    }
    void findsOneAddressUnderTwoNames() {
        Made made(2);
        made.edit(1, [](cluster::Worker& worker) { worker.address = "node-a:2222"; });
        made.report.hosts[1].probe.resolved = {{"node-a", {"10.0.0.2"}}};
        made.report.hosts[0].probe.resolved = {{"node-a", {"10.0.0.1"}}};
        const auto found = made.findings();
        QVERIFY(!found.empty());
        QCOMPARE(found[0].id, std::string("duplicate"));
        QCOMPARE(found[0].kind, FindingKind::Error);
        QVERIFY(says(found[0], "10.0.0.1:2222") && says(found[0], "node-a:2222"));
        made.edit(1, [](cluster::Worker& worker) { worker.address = "node-a:2223"; });
        for (const CheckFinding& finding : made.findings()) // several workers of one host
            QCOMPARE(finding.kind, FindingKind::Fact);
    }
    void aNameThatMeansLoopbackAtHomeIsOnlyTold() {
        Made made(2);
        made.edit(1, [](cluster::Worker& worker) { worker.address = "n1:2222"; });
        made.report.hosts[0].probe.resolved = {{"n1", {"10.0.0.2"}}};
        made.report.hosts[1].probe.resolved = {{"n1", {"127.0.1.1"}}};
        const auto found = made.findings();
        ONLY(found, Fact, "loopback_name");
    }
    void namesTheRunThatHasThePort() {
        Made made(2);
        made.report.hosts[1].listener.isOpen = false;
        made.report.hosts[1].listener.owner = {77, "alice", "lockstep-worker", "X", 50520};
        made.report.pair(0, 1).result.reach = Reach::WrongProgram;
        const auto found = made.findings();
        ONLY(found, Error, "port_in_use");
        QVERIFY2(says(found[0], "10.0.0.2:2222 on n1 belongs to run X, started 14:02 UTC by alice"),
                 found[0].what.c_str());
    }
    void saysWhichSizesPass() {
        Made made(2);
        made.report.pair(0, 1).result.echo64K.state = agent::EchoState::Failed;
        made.report.pair(0, 1).result.echo1M.state = agent::EchoState::NotTried;
        const auto found = made.findings();
        ONLY(found, Error, "echo");
        QVERIFY(says(found[0], "64 KiB echo failed, 1 KiB ok"));
    }
    void tellsAnAddressThatTheHostDoesNotHave() {
        Made made(2);
        made.edit(1, [](cluster::Worker& worker) { worker.address = "203.0.113.7:2222"; });
        auto found = made.findings();
        const auto at = std::find_if(found.begin(), found.end(), [](const auto& finding) {
            return finding.id == "foreign_address";
        });
        QVERIFY(at != found.end());
        QCOMPARE(at->kind, FindingKind::Warning); // the others do reach it
        made.report.pair(0, 1).result.reach = Reach::Dropped;
        found = made.findings();
        QCOMPARE(found[0].kind, FindingKind::Error);
        QCOMPARE(found[0].id, std::string("foreign_address"));
    }
    void writesAllOfItAsJson() {
        Made made(2);
        made.report.findings = made.findings();
        const json::Value value = toJson(made.report);
        QCOMPARE(value.find("hosts")->size(), std::size_t{2});
        QCOMPARE(value.find("pairs")->size(), std::size_t{2});
        QCOMPARE(value.find("pairs")->items()[0].find("peer")->toString(), std::string("worker:1"));
    }
};

QTEST_APPLESS_MAIN(TestCheckFindings)
#include "tst_check_findings.moc"
