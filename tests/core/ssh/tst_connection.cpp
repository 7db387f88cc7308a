// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// Connections to real sshds on loopback.
#include "core/ssh/known_hosts.h"
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

class TestConnection : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() {
        SKIP_OR_FAIL_WITHOUT(support::missingSshd());
        m_sshd = std::make_unique<Sshd>();
        QVERIFY2(m_sshd->isRunning(), qPrintable(m_sshd->log()));
    }
    void init() { m_prompter = std::make_unique<ScriptedPrompter>(); }

    void runsAProgramAndCarriesItsBytes() {
        SshClient client(options(*m_sshd), m_prompter.get());
        const auto connection = client.connectionTo(host());
        QVERIFY2(open(*connection).ok(), "see below");
        QCOMPARE(connection->state(), Connection::State::Open);
        const auto channel = connection->exec("exec /bin/sh");
        Said said;
        collect(*channel, said);
        QByteArray large(3 << 20, 'x');
        for (int i = 0; i < large.size(); i += 4096)
            large[i] = static_cast<char>('a' + i / 4096 % 26);
        // A shell may read ahead of its script: what follows waits until cat is there.
        channel->write("echo ready; cat; echo oops >&2; exit 7\n");
        QTRY_COMPARE(said.out, QByteArray("ready\n"));
        said.out.clear();
        channel->write(large);
        channel->closeWrite();
        QTRY_VERIFY_WITH_TIMEOUT(said.end.has_value(), 20'000);
        QVERIFY(said.end->ok());
        QCOMPARE(said.end->value().exitCode, 7);
        QCOMPARE(said.err, QByteArray("oops\n"));
        QCOMPARE(said.out.size(), large.size());
        QVERIFY(said.out == large);
        QVERIFY(m_prompter->questions.isEmpty());
    }

    void losesNothingWhenTheReceiverLagsBehind() {
        SshClient client(options(*m_sshd), m_prompter.get());
        const auto connection = client.connectionTo(host());
        QVERIFY(open(*connection).ok());
        const auto channel = connection->exec("exec /bin/sh");
        qint64 got = 0;
        bool isWhole = true;
        int pieces = 0;
        bool hasSlept = false;
        std::optional<Result<Exit>> end;
        connect(channel.get(), &Channel::received, this, [&](const QByteArray& bytes) {
            isWhole = isWhole && bytes.count('x') == bytes.size();
            got += bytes.size();
            ++pieces;
            if (!std::exchange(hasSlept, true))
                QTest::qSleep(300); // meanwhile more comes than is kept for a receiver
        });
        connect(channel.get(), &Channel::closed, this, [&](const auto& result) { end = result; });
        channel->write("head -c 50000000 /dev/zero | tr '\\0' x; exit 3\n");
        QTRY_VERIFY_WITH_TIMEOUT(end.has_value(), 30'000);
        QVERIFY(end->ok());
        QCOMPARE(end->value().exitCode, 3);
        QCOMPARE(got, 50'000'000);
        QVERIFY(isWhole);
        QVERIFY2(pieces < 5000, qPrintable(QString::number(pieces))); // not one for each packet
    }

    void runsManyProgramsAtATime() {
        SshClient client(options(*m_sshd), m_prompter.get());
        const auto connection = client.connectionTo(host());
        QVERIFY(open(*connection).ok());
        std::vector<std::unique_ptr<Channel>> channels;
        std::vector<Said> said(8);
        for (std::size_t i = 0; i < said.size(); ++i) {
            channels.push_back(connection->exec("exec /bin/sh"));
            collect(*channels.back(), said[i]);
            channels.back()->write("echo " + QByteArray::number(int(i)) + "; kill -TERM $$\n");
        }
        for (std::size_t i = 0; i < said.size(); ++i) {
            QTRY_VERIFY_WITH_TIMEOUT(said[i].end.has_value(), 10'000);
            QVERIFY(said[i].end->ok());
            QCOMPARE(said[i].end->value().signal, QStringLiteral("TERM"));
            QCOMPARE(said[i].out, QByteArray::number(int(i)) + '\n');
        }
    }

    void asksForAnUnknownHostKeyOnce() {
        SshOptions unknown = options(*m_sshd);
        QFile::remove(m_sshd->knownHosts());
        SshClient client(unknown, m_prompter.get());
        m_prompter->answers = {Answer{}};
        const auto connection = client.connectionTo(host());
        QVERIFY(open(*connection).ok());
        QCOMPARE(m_prompter->questions.size(), 1);
        const Question asked = m_prompter->questions[0];
        QCOMPARE(asked.kind, Question::Kind::HostKey);
        QCOMPARE(asked.fingerprint, m_sshd->fingerprint());
        QVERIFY(asked.host.endsWith(QString::number(m_sshd->port())));
        const auto again = client.connectionTo(host());
        QVERIFY(open(*again).ok());
        QCOMPARE(m_prompter->questions.size(), 1);
    }

    void stopsAtAnUnknownHostKeyThatIsNotAccepted() {
        const SshOptions unknown = options(*m_sshd);
        QFile::remove(m_sshd->knownHosts());
        SshClient client(unknown, m_prompter.get());
        m_prompter->answers = {std::nullopt};
        const auto connection = client.connectionTo(host());
        const Status status = open(*connection);
        QVERIFY(!status.ok());
        QCOMPARE(status.error().code, Code::HostKeyUnknown);
        QVERIFY(!QFile::exists(m_sshd->knownHosts()));
        QCOMPARE(connection->state(), Connection::State::Closed);
    }

    // D5
    void stopsHardAtAChangedHostKey() {
        Sshd sshd;
        const SshOptions with = options(sshd);
        const QString before = sshd.fingerprint();
        {
            SshClient client(with, m_prompter.get());
            const auto connection = client.connectionTo(host());
            QVERIFY(open(*connection).ok());
        }
        sshd.changeHostKey();
        QVERIFY(sshd.isRunning());
        SshClient client(with, m_prompter.get());
        const auto connection = client.connectionTo(host());
        const Status status = open(*connection);
        QVERIFY(!status.ok());
        QCOMPARE(status.error().code, Code::HostKeyChanged);
        const QString message = QString::fromStdString(status.error().message);
        for (const QString& part :
             {before, sshd.fingerprint(), sshd.knownHosts() + QStringLiteral(":1"),
              QStringLiteral("ssh-keygen -f")})
            QVERIFY2(message.contains(part), qPrintable(message));
        QVERIFY(m_prompter->questions.isEmpty());
    }

    // D5: a cloned machine
    void tellsThatAnotherHostHasTheSameKey() {
        SshOptions with = options(*m_sshd);
        QFile known(m_sshd->knownHosts());
        QVERIFY(known.open(QIODevice::ReadWrite));
        const QByteArray line = known.readAll();
        known.resize(0);
        known.write("twin.lab" + line.mid(line.indexOf(' ')));
        known.close();
        SshClient client(with, m_prompter.get());
        const auto connection = client.connectionTo(host());
        QVERIFY(!open(*connection).ok());
        QVERIFY(m_prompter->questions[0].notes.join(u' ').contains(QStringLiteral("twin.lab")));
    }

    void asksForAPassphraseUntilItFits() {
        Sshd sshd;
        const QString key = sshd.makeKey(
            QStringLiteral("id_ed25519"),
            {QStringLiteral("-t"), QStringLiteral("ed25519"), QStringLiteral("-N"), m_phrase});
        sshd.authorize(key);
        SshClient client(options(sshd), m_prompter.get());
        m_prompter->answers = {Answer{{QStringLiteral("wrong")}}, Answer{{m_phrase}}};
        const auto connection = client.connectionTo(host());
        const Status status = open(*connection);
        QVERIFY2(status.ok(), status.ok() ? "" : status.error().message.c_str());
        QCOMPARE(m_prompter->questions.size(), 2);
        QCOMPARE(m_prompter->questions[1].kind, Question::Kind::Passphrase);
        QCOMPARE(m_prompter->questions[1].keyFile, key);
        QCOMPARE(m_prompter->questions[1].round, 2);
        const auto again = client.connectionTo(host()); // kept in memory
        QVERIFY(open(*again).ok());
        QCOMPARE(m_prompter->questions.size(), 2);
    }

    void saysWhatWasTriedWhenNobodyIsLetIn() {
        Sshd sshd;
        const QString key = sshd.makeKey(QStringLiteral("id_ed25519"),
                                         {QStringLiteral("-t"), QStringLiteral("rsa")});
        SshClient client(options(sshd), m_prompter.get());
        const auto connection = client.connectionTo(host());
        const Status status = open(*connection);
        QVERIFY(!status.ok());
        QCOMPARE(status.error().code, Code::Unauthenticated);
        QVERIFY2(QString::fromStdString(status.error().message).contains(key),
                 status.error().message.c_str());
    }

    // D10
    void goesThroughAJumpHost() {
        Sshd target;
        const QString config = target.writeConfig(
            QStringLiteral("n0"),
            {QStringLiteral("Host gw\n  HostName 127.0.0.1\n  Port %1\n  IdentityFile %2\n"
                            "  UserKnownHostsFile %3\nHost n0\n  ProxyJump gw")
                 .arg(m_sshd->port())
                 .arg(m_sshd->clientKey(), m_sshd->knownHosts())});
        m_sshd->writeKnownHosts();
        SshOptions with;
        with.resolve.configFile = config;
        SshClient client(with, m_prompter.get());
        const auto connection = client.connectionTo(host());
        const Status status = open(*connection);
        QVERIFY2(status.ok(), status.ok() ? "" : describe(status.error()).c_str());
        const auto channel = connection->exec("exec /bin/sh");
        Said said;
        collect(*channel, said);
        channel->write("echo $SSH_CONNECTION\n");
        channel->closeWrite();
        QTRY_VERIFY(said.end.has_value());
        QVERIFY2(said.out.trimmed().endsWith(QByteArray::number(target.port())), said.out);
    }

    // D9
    void namesTheHopThatForbidsForwarding() {
        Sshd gateway({QStringLiteral("AllowTcpForwarding no")});
        Sshd target;
        const QString config = target.writeConfig(
            QStringLiteral("n0"),
            {QStringLiteral("Host gw\n  HostName 127.0.0.1\n  Port %1\n  IdentityFile %2\n"
                            "  UserKnownHostsFile %3\nHost n0\n  ProxyJump gw")
                 .arg(gateway.port())
                 .arg(gateway.clientKey(), gateway.knownHosts())});
        gateway.writeKnownHosts();
        SshOptions with;
        with.resolve.configFile = config;
        SshClient client(with, m_prompter.get());
        const auto connection = client.connectionTo(host());
        QElapsedTimer took;
        took.start();
        const Status status = open(*connection);
        QVERIFY(!status.ok());
        QVERIFY(took.elapsed() < 3000);
        const QString message = QString::fromStdString(describe(status.error()));
        QVERIFY2(message.contains(QStringLiteral("AllowTcpForwarding")), qPrintable(message));
        QVERIFY2(message.contains(QString::number(gateway.port())), qPrintable(message));
    }

    // D1
    void cancelsWithinASecondAndLeavesNoSocket() {
        QTcpServer silent; // accepts and never says a word
        QVERIFY(silent.listen(QHostAddress::LocalHost));
        const QString config = m_sshd->path(QStringLiteral("silent"));
        QFile file(config);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("Host n0\n  HostName 127.0.0.1\n  Port " +
                   QByteArray::number(silent.serverPort()) + '\n');
        file.close();
        SshOptions with;
        with.resolve.configFile = config;
        SshClient client(with, m_prompter.get());
        const int before = openFiles();
        for (int i = 0; i < 5; ++i) {
            const auto connection = client.connectionTo(host());
            Opened opened;
            connection->open([&](Status status) { opened = {true, status}; });
            QTRY_VERIFY(silent.hasPendingConnections());
            const std::unique_ptr<QTcpSocket> accepted(silent.nextPendingConnection());
            QElapsedTimer took;
            took.start();
            connection->close();
            QVERIFY(opened.isDone);
            QCOMPARE(opened.status.error().code, Code::Cancelled);
            QTRY_COMPARE_WITH_TIMEOUT(accepted->state(), QAbstractSocket::UnconnectedState, 1000);
            QVERIFY(took.elapsed() < 1000);
        }
        QTRY_VERIFY_WITH_TIMEOUT(openFiles() <= before + 1, 1000);
    }

    void tellsASilentServerAtTheDeadline() {
        QTcpServer silent;
        QVERIFY(silent.listen(QHostAddress::LocalHost));
        QFile file(m_sshd->path(QStringLiteral("silent")));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("Host n0\n  HostName 127.0.0.1\n  Port " +
                   QByteArray::number(silent.serverPort()) + '\n');
        file.close();
        SshOptions with;
        with.resolve.configFile = file.fileName();
        with.stepTimeout = std::chrono::milliseconds(300);
        SshClient client(with, m_prompter.get());
        const auto connection = client.connectionTo(host());
        const Status status = open(*connection);
        QVERIFY(!status.ok());
        QCOMPARE(status.error().code, Code::TimedOut);
    }

    // D12: the keep-alive
    void noticesThatTheOtherSideFellSilent() {
        QTcpServer relay;
        QVERIFY(relay.listen(QHostAddress::LocalHost));
        bool isCut = false;
        connect(&relay, &QTcpServer::newConnection, this, [&] {
            QTcpSocket* here = relay.nextPendingConnection();
            auto* there = new QTcpSocket(here);
            there->connectToHost(QHostAddress::LocalHost, quint16(m_sshd->port()));
            connect(here, &QTcpSocket::readyRead, there, [&isCut, here, there] {
                const QByteArray bytes = here->readAll();
                if (!isCut)
                    there->write(bytes);
            });
            connect(there, &QTcpSocket::readyRead, here, [&isCut, here, there] {
                const QByteArray bytes = there->readAll();
                if (!isCut)
                    here->write(bytes);
            });
        });
        QFile file(m_sshd->writeConfig(QStringLiteral("n0")));
        QVERIFY(file.open(QIODevice::ReadOnly));
        QByteArray config = file.readAll();
        file.close();
        config.replace("Port " + QByteArray::number(m_sshd->port()),
                       "Port " + QByteArray::number(relay.serverPort()) +
                           "\n  HostKeyAlias [127.0.0.1]:" + QByteArray::number(m_sshd->port()));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(config);
        file.close();
        SshOptions with;
        with.resolve.configFile = file.fileName();
        with.aliveInterval = std::chrono::milliseconds(100);
        SshClient client(with, m_prompter.get());
        const auto connection = client.connectionTo(host());
        const Status status = open(*connection);
        QVERIFY2(status.ok(), status.ok() ? "" : describe(status.error()).c_str());
        std::optional<Error> lost;
        connect(connection.get(), &Connection::lost, this,
                [&lost](const Error& error) { lost = error; });
        QTest::qWait(600);
        QVERIFY(!lost); // answered keep-alives keep it
        isCut = true;
        QTRY_VERIFY_WITH_TIMEOUT(lost.has_value(), 3000);
        QCOMPARE(lost->code, Code::Unreachable);
        QCOMPARE(connection->state(), Connection::State::Closed);
        isCut = false;
        QVERIFY(open(*connection).ok()); // and it can be opened again
    }

private:
    static Destination host() { return {QStringLiteral("n0"), {}, 0, {}, {}}; }
    SshOptions options(Sshd& sshd) {
        SshOptions options;
        options.resolve.configFile = sshd.writeConfig(QStringLiteral("n0"));
        return options;
    }

    std::unique_ptr<Sshd> m_sshd;
    std::unique_ptr<ScriptedPrompter> m_prompter;
    const QString m_phrase = QStringLiteral("open sesame");
};

QTEST_GUILESS_MAIN(TestConnection)
#include "tst_connection.moc"
