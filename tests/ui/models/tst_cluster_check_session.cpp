// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/run/port_check.h"
#include "ui/models/cluster_check_session.h"

#include <QSignalSpy>
#include <QTcpServer>
#include <QTemporaryDir>
#include <QTest>

using namespace lockstep;
using namespace lockstep::ui;

class ClusterCheckSessionTest : public QObject {
    Q_OBJECT

    QTemporaryDir m_data;

    static run::HostFactory hosts() {
        return run::defaultHosts(QStringLiteral(LOCKSTEP_BIN_DIR "/lockstep-worker"));
    }

private Q_SLOTS:
    void initTestCase() { qputenv("XDG_DATA_HOME", m_data.path().toUtf8()); }

    void showsARealCheckToItsEnd() {
        const auto port = run::findFreePorts(3, 31'000);
        QVERIFY(port);
        ClusterCheckSession session(hosts());
        QSignalSpy changed(&session, &CheckSession::changed);
        session.start(cluster::localCluster(3, *port), CheckSession::Bandwidth::Leave);
        QVERIFY(session.view().isRunning);
        QCOMPARE(session.view().hosts.size(), 3);
        QTRY_VERIFY_WITH_TIMEOUT(!session.view().isRunning, 30'000);
        const CheckView& view = session.view();
        QCOMPARE(view.progress, 1.0);
        QCOMPARE(view.count(FindingKind::Error), 0);
        for (int from = 0; from < 3; ++from)
            for (int to = 0; to < 3; ++to)
                QCOMPARE(view.pair(from, to).state,
                         from == to ? CheckPair::State::Self : CheckPair::State::Good);
        for (const CheckHost& host : view.hosts) {
            QCOMPARE(host.state, CheckHost::State::Done);
            QVERIFY(!host.facts.isEmpty());
        }
        // Its end means that a launch can open the ports.
        QVERIFY(run::findFreePorts(3, *port) == port);
    }
    void showsAPortThatIsTaken() {
        QTcpServer other;
        QVERIFY(other.listen(QHostAddress::Any));
        cluster::ClusterSpec spec = cluster::localCluster(2, 31'500);
        cluster::Worker worker = spec.workers()[1];
        worker.address = "127.0.0.1:" + std::to_string(other.serverPort());
        spec.set(1, worker);
        ClusterCheckSession session(hosts());
        session.start(spec, CheckSession::Bandwidth::Leave);
        QTRY_VERIFY_WITH_TIMEOUT(!session.view().isRunning, 30'000);
        QCOMPARE(session.view().count(FindingKind::Error), 1);
        QCOMPARE(session.view().findings[0].subject, QStringLiteral("worker:1"));
        QCOMPARE(session.view().pair(0, 1).state, CheckPair::State::WrongAnswer);
        QVERIFY(!session.view().pair(0, 1).words.isEmpty());
    }
    void endsEarlyWhenCancelled() {
        ClusterCheckSession session(hosts());
        session.start(cluster::localCluster(2, 31'600), CheckSession::Bandwidth::Leave);
        session.cancel();
        QTRY_VERIFY_WITH_TIMEOUT(!session.view().isRunning, 5000);
        QCOMPARE(session.view().hosts[0].state, CheckHost::State::Failed);
    }
    void pushes() {
        ClusterCheckSession session(hosts());
        std::optional<Status> pushed;
        session.push(cluster::localCluster(2, 31'700), [&](Status status) { pushed = status; });
        QTRY_VERIFY_WITH_TIMEOUT(pushed.has_value(), 20'000);
        QVERIFY(pushed->ok());
    }
};

QTEST_GUILESS_MAIN(ClusterCheckSessionTest)
#include "tst_cluster_check_session.moc"
