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
            for (int i = 0; i < 100; ++i) {
                cancelOnce(client, prompter, stage, i);
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
    void cancelOnce(SshClient& client, ScriptedPrompter& prompter, Stage stage, int round) {
        auto connection = client.connectionTo(host());
        Opened opened;
        bool isLoggingIn = false;
        connect(connection.get(), &Connection::stateChanged, this, [&](Connection::State state) {
            isLoggingIn = isLoggingIn || state == Connection::State::Authenticating;
        });
        const qsizetype asked = prompter.questions.size();
        connection->open([&](Status status) { opened = {true, status}; });
        std::unique_ptr<Channel> channel;
        Said said;
        switch (stage) {
        case Resolve:
            break;
        case Connect:
        case KeyExchange:
            QTest::qWait(20); // ssh -G and the connection are over by then, mostly
            break;
        case HostKey:
            QTRY_VERIFY_WITH_TIMEOUT(prompter.questions.size() > asked, 10'000);
            break;
        case Login:
        case BehindJump:
            QTRY_VERIFY_WITH_TIMEOUT(isLoggingIn || opened.isDone, 10'000);
            break;
        case ChannelOpening:
        case ChannelRunning:
            QTRY_VERIFY_WITH_TIMEOUT(opened.isDone, 10'000);
            QVERIFY2(opened.status.ok(), qPrintable(textOf(opened.status)));
            channel = connection->exec("exec /bin/sh");
            collect(*channel, said);
            channel->write("exec cat /dev/zero\n");
            if (stage == ChannelRunning)
                QTRY_VERIFY_WITH_TIMEOUT(said.out.size() > 100'000, 10'000);
            break;
        }
        QElapsedTimer took;
        took.start();
        if (round % 2 == 0)
            connection->close();
        else if (channel && round % 4 == 1)
            channel.reset();
        connection.reset();
        QVERIFY(took.elapsed() < 1000);
        if (channel) {
            QVERIFY(said.end.has_value());
            QCOMPARE(said.end->error().code, Code::Cancelled);
        }
        if (round % 2 == 0) {
            QVERIFY(opened.isDone);
            QVERIFY(opened.status.ok() || opened.status.error().code == Code::Cancelled);
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
