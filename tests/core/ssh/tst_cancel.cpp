// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// Connections that are given up at every stage, a hundred times each: within a second, with no
// socket and no thread left (field reports D1 and D16).
#include "core/ssh/ssh_client.h"
#include "tests/core/ssh/scripted.h"
#include "tests/support/sshd.h"

#include <QElapsedTimer>
#include <QFile>
#include <QTcpServer>
#include <QTcpSocket>
#include <QTest>

#include <array>
#include <functional>

using namespace lockstep;
using namespace lockstep::ssh;
using support::Sshd;

class TestCancel : public QObject {
    Q_OBJECT
public:
    enum Stage {
        Resolve,
        Connect,
        KeyExchange,
        HostKey,
        Login,
        ChannelOpening,
        ChannelRunning,
        BehindJump
    };
    Q_ENUM(Stage)

private Q_SLOTS:
    void initTestCase() {
        SKIP_OR_FAIL_WITHOUT(support::missingSshd());
        // Given-up handshakes count until sshd has noticed.
        m_sshd = std::make_unique<Sshd>(QStringList{QStringLiteral("MaxStartups 200")});
        QVERIFY2(m_sshd->isRunning(), qPrintable(m_sshd->log()));
    }

    void leavesNothingBehind_data() {
        QTest::addColumn<Stage>("stage");
        QTest::newRow("while ~/.ssh/config is read") << Resolve;
        QTest::newRow("while no packet is answered") << Connect;
        QTest::newRow("while the server is silent") << KeyExchange;
        QTest::newRow("while a person looks at the host key") << HostKey;
        QTest::newRow("while logging in") << Login;
        QTest::newRow("while a channel opens") << ChannelOpening;
        QTest::newRow("while a program writes") << ChannelRunning;
        QTest::newRow("behind a jump host") << BehindJump;
    }
    void leavesNothingBehind() {
        QFETCH(Stage, stage);
        QTcpServer silent;
        QVERIFY(silent.listen(QHostAddress::LocalHost));
        connect(&silent, &QTcpServer::newConnection, &silent, [&silent] {
            QTcpSocket* socket = silent.nextPendingConnection();
            connect(socket, &QTcpSocket::disconnected, socket, &QObject::deleteLater);
        });
        QTcpServer full; // a queue without a place left: the kernel drops what asks for one
        full.setListenBacklogSize(0);
        QVERIFY(full.listen(QHostAddress::LocalHost));
        full.pauseAccepting();
        QTcpSocket guest;
        guest.connectToHost(QHostAddress::LocalHost, full.serverPort());
        QTRY_COMPARE(guest.state(), QAbstractSocket::ConnectedState);
        const int filesBefore = openFiles();
        const int threadsBefore = threads();
        ScriptedPrompter prompter;
        prompter.isSilent = true;
        {
            const int port = stage == Connect ? full.serverPort() : silent.serverPort();
            SshClient client(options(stage, port), &prompter);
            for (int i = 0; i < 25; ++i) {
                cancelFour(client, stage);
                if (QTest::currentTestFailed())
                    return;
            }
        }
        QTRY_COMPARE_WITH_TIMEOUT(threads(), threadsBefore, 1000);
        QTRY_COMPARE_WITH_TIMEOUT(openFiles(), filesBefore, 1000);
    }

    // Whatever happens to be under way.
    void leavesNothingBehindAtAnyMoment() {
        const int filesBefore = openFiles();
        const int threadsBefore = threads();
        ScriptedPrompter prompter;
        {
            SshClient client(options(Login, 0), &prompter);
            for (int i = 0; i < 100; ++i) {
                const auto connection = client.connectionTo(host());
                connection->open([](const Status&) {});
                QTest::qWait(i * 2); // the moment is the test's subject
                const auto channel = connection->exec("exec /bin/sh");
                if (i % 2 == 0)
                    connection->close();
            }
        }
        QTRY_COMPARE_WITH_TIMEOUT(threads(), threadsBefore, 1000);
        QTRY_COMPARE_WITH_TIMEOUT(openFiles(), filesBefore, 1000);
    }

private:
    /// One connection on its way to a stage.
    struct Lane {
        std::unique_ptr<Connection> connection;
        std::unique_ptr<Channel> channel;
        Opened opened;
        Said said;
        QList<Connection::State> states;

        void start() {
            channel = connection->exec("exec /bin/sh");
            collect(*channel, said);
            channel->write("exec cat /dev/zero\n");
        }
        bool isAt(Stage stage) const {
            switch (stage) {
            case Resolve:
                return true;
            case Connect:
            case KeyExchange:
                return false; // not seen from outside: waits out its time
            case HostKey:
                return states.contains(Connection::State::Asking);
            case Login:
            case BehindJump:
                return states.contains(Connection::State::Authenticating) || opened.isDone;
            case ChannelOpening:
                return opened.isDone && opened.status.ok();
            case ChannelRunning:
                return said.out.size() > 100'000;
            }
            return false;
        }
    };

    /// Four at a time, each given up in another way.
    void cancelFour(SshClient& client, Stage stage) {
        std::array<Lane, 4> lanes;
        for (Lane& lane : lanes) {
            lane.connection = client.connectionTo(host());
            connect(lane.connection.get(), &Connection::stateChanged, this,
                    [&lane](Connection::State state) { lane.states += state; });
            lane.connection->open([&lane, stage](Status status) {
                lane.opened = {true, status};
                if (status.ok() && stage == ChannelRunning)
                    lane.start();
            });
        }
        const bool isHidden = stage == Connect || stage == KeyExchange;
        for (const Lane& lane : lanes) {
            const bool isThere =
                QTest::qWaitFor([&] { return lane.isAt(stage); }, isHidden ? 20 : 10'000);
            QVERIFY2(isThere || isHidden, qPrintable(textOf(lane.opened.status)));
        }
        if (stage == ChannelOpening)
            for (Lane& lane : lanes)
                lane.start();
        QElapsedTimer took;
        took.start();
        lanes[0].connection->close();
        lanes[1].connection.reset();
        lanes[2].channel.reset();
        lanes[2].connection->close();
        lanes[3].channel.reset();
        lanes[3].connection.reset();
        QVERIFY(took.elapsed() < 1000);
        for (const Lane& lane : {std::cref(lanes[0]), std::cref(lanes[2])}) {
            QVERIFY(lane.opened.isDone);
            QVERIFY(lane.opened.status.ok() || lane.opened.status.error().code == Code::Cancelled);
        }
        for (const Lane& lane : {std::cref(lanes[0]), std::cref(lanes[1])})
            if (lane.channel) {
                QVERIFY(lane.said.end.has_value());
                QCOMPARE(lane.said.end->error().code, Code::Cancelled);
            }
    }

    SshOptions options(Stage stage, int port) {
        SshOptions options;
        QStringList lines;
        if (stage == KeyExchange || stage == Connect)
            lines += QStringLiteral("Host n0\n  HostName 127.0.0.1\n  Port %1").arg(port);
        if (stage == BehindJump)
            lines += QStringLiteral("Host gw\n  HostName 127.0.0.1\n  Port %1\n"
                                    "  IdentityFile %2\nHost n0\n  ProxyJump gw")
                         .arg(m_sshd->port())
                         .arg(m_sshd->clientKey());
        options.resolve.configFile = m_sshd->writeConfig(QStringLiteral("n0"), lines);
        if (stage == HostKey)
            QFile::remove(m_sshd->knownHosts());
        return options;
    }
    static Destination host() {
        Destination destination;
        destination.host = QStringLiteral("n0");
        return destination;
    }

    std::unique_ptr<Sshd> m_sshd;
};

QTEST_GUILESS_MAIN(TestCancel)
#include "tst_cancel.moc"
