// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// Many hosts, jump hosts and ports.
#include "core/ssh/ssh_client.h"
#include "tests/core/ssh/scripted.h"
#include "tests/support/sshd.h"

#include <QElapsedTimer>
#include <QFile>
#include <QRegularExpression>
#include <QSet>
#include <QTest>

using namespace lockstep;
using namespace lockstep::ssh;
using support::Sshd;

class TestGateway : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() {
        SKIP_OR_FAIL_WITHOUT(support::missingSshd());
        m_gateway = std::make_unique<Sshd>();
        QVERIFY2(m_gateway->isRunning(), qPrintable(m_gateway->log()));
    }
    void init() { m_prompter = std::make_unique<ScriptedPrompter>(); }

    // D6: sshd's own limits at the jump host and at the hosts
    void connectsThirtyTwoHostsBehindOneJumpHost() {
        Sshd gateway;
        Sshd target;
        SshClient client(through(gateway, target), m_prompter.get());
        QElapsedTimer took;
        took.start();
        std::vector<std::unique_ptr<Connection>> all;
        std::vector<Opened> opened(32);
        for (std::size_t i = 0; i < opened.size(); ++i) {
            all.push_back(client.connectionTo(host(QStringLiteral("n%1").arg(i))));
            all.back()->open([&, i](Status status) { opened[i] = {true, status}; });
        }
        for (const Opened& each : opened) {
            QTRY_VERIFY_WITH_TIMEOUT(each.isDone, 60'000);
            QVERIFY2(each.status.ok(), qPrintable(textOf(each.status)));
        }
        qInfo("32 hosts in %lld ms, at most %d at once", static_cast<long long>(took.elapsed()),
              int(mostAtOnce(target.log())));
        // One login at the jump host, one at each host, none dropped, few at a time.
        QCOMPARE(gateway.log().count(QStringLiteral("Accepted publickey")), 1);
        QCOMPARE(target.log().count(QStringLiteral("Accepted publickey")), 32);
        QVERIFY(!target.log().contains(QStringLiteral("MaxStartups")));
        const qsizetype most = mostAtOnce(target.log());
        QVERIFY2(most >= 2 && most <= 8, qPrintable(target.log()));
        for (const auto& each : all)
            QCOMPARE(each->state(), Connection::State::Open);
        QCOMPARE(sh(*all.back(), "echo in").out, QByteArray("in\n"));
    }

    // D10
    void takesAnyPortAndAddressFamily() {
        Sshd six({QStringLiteral("ListenAddress ::1")});
        QVERIFY2(six.isRunning(), qPrintable(six.log()));
        SshOptions with;
        with.resolve.configFile =
            six.writeConfig(QStringLiteral("n0"), {QStringLiteral("Host six\n  HostName ::1\n"
                                                                  "  Port %1\n  IdentityFile %2")
                                                       .arg(six.port())
                                                       .arg(six.clientKey())});
        QFile::remove(six.knownHosts());
        m_prompter->answers = {Answer{}, Answer{}};
        SshClient client(with, m_prompter.get());
        const auto four = client.connectionTo(host(QStringLiteral("n0")));
        QVERIFY(open(*four).ok());
        const auto second = client.connectionTo(host(QStringLiteral("six")));
        const Status status = open(*second);
        QVERIFY2(status.ok(), qPrintable(textOf(status)));
        QVERIFY(sh(*second, "echo $SSH_CONNECTION").out.startsWith("::1 "));
        QFile known(six.knownHosts());
        QVERIFY(known.open(QIODevice::ReadOnly));
        const QByteArray lines = known.readAll();
        QVERIFY2(lines.contains("[127.0.0.1]:" + QByteArray::number(six.port()) + ' '), lines);
        QVERIFY2(lines.contains("[::1]:" + QByteArray::number(six.port()) + ' '), lines);
    }

    void saysWhichHopAsks() {
        Sshd target;
        const SshOptions with = through(*m_gateway, target);
        QFile::remove(m_gateway->knownHosts());
        SshClient client(with, m_prompter.get());
        m_prompter->answers = {Answer{}};
        const auto connection = client.connectionTo(host(QStringLiteral("n0")));
        const Status status = open(*connection);
        QVERIFY2(status.ok(), qPrintable(textOf(status)));
        QCOMPARE(m_prompter->questions.size(), 1);
        const Question asked = m_prompter->questions[0];
        QCOMPARE(asked.hop, 1);
        QCOMPARE(asked.hops, 2);
        QCOMPARE(asked.destination, QStringLiteral("n0"));
        QVERIFY(asked.host.endsWith(QString::number(m_gateway->port())));
    }

    void takesTheDialogBackWhenTheHostBehindIsCancelled() {
        Sshd target;
        const SshOptions with = through(*m_gateway, target);
        QFile::remove(m_gateway->knownHosts());
        SshClient client(with, m_prompter.get());
        m_prompter->isSilent = true;
        const auto connection = client.connectionTo(host(QStringLiteral("n0")));
        Opened opened;
        connection->open([&](Status status) { opened = {true, status}; });
        QTRY_COMPARE_WITH_TIMEOUT(m_prompter->questions.size(), 1, 10'000);
        connection->close();
        QVERIFY(opened.isDone);
        QTRY_COMPARE_WITH_TIMEOUT(m_prompter->withdrawn, 1, 1000);
    }

    void namesTheJumpHostThatWasLost() {
        Sshd gateway;
        Sshd target;
        SshClient client(through(gateway, target), m_prompter.get());
        const auto connection = client.connectionTo(host(QStringLiteral("n0")));
        QVERIFY(open(*connection).ok());
        std::optional<Error> lost;
        connect(connection.get(), &Connection::lost, this,
                [&lost](const Error& error) { lost = error; });
        gateway.stop();
        QTRY_VERIFY_WITH_TIMEOUT(lost.has_value(), 5000);
        QVERIFY2(lost->where.find(std::to_string(gateway.port())) != std::string::npos,
                 describe(*lost).c_str());
        gateway.start();
        const Status again = open(*connection);
        QVERIFY2(again.ok(), qPrintable(textOf(again)));
    }

    void namesTheHopThatCannotReachTheNext() {
        Sshd target;
        const SshOptions with = through(*m_gateway, target);
        target.stop();
        SshClient client(with, m_prompter.get());
        const auto connection = client.connectionTo(host(QStringLiteral("n0")));
        const Status status = open(*connection);
        QVERIFY(!status.ok());
        QCOMPARE(status.error().code, Code::Unreachable);
        QVERIFY2(textOf(status).contains(QStringLiteral("hop 1 of 2")) &&
                     textOf(status).contains(QString::number(target.port())),
                 qPrintable(textOf(status)));
    }

    void goesThroughAProxyCommandAndShowsItsComplaint() {
        Sshd target;
        SshOptions with;
        with.resolve.configFile = target.writeConfig(
            QStringLiteral("n0"),
            {QStringLiteral("Host n0\n  ProxyCommand ssh -F %1 -W %h:%p gw")
                 .arg(target.path(QStringLiteral("gw.ssh_config"))),
             QStringLiteral("Host bad\n  ProxyCommand sh -c 'echo no way >&2; exit 3'")});
        m_gateway->writeConfig(QStringLiteral("gw"));
        QFile::remove(target.path(QStringLiteral("gw.ssh_config")));
        QVERIFY(QFile::copy(m_gateway->path(QStringLiteral("gw.ssh_config")),
                            target.path(QStringLiteral("gw.ssh_config"))));
        SshClient client(with, m_prompter.get());
        const auto connection = client.connectionTo(host(QStringLiteral("n0")));
        const Status status = open(*connection);
        QVERIFY2(status.ok(), qPrintable(textOf(status)));
        QCOMPARE(sh(*connection, "echo in").out, QByteArray("in\n"));
        const auto bad = client.connectionTo(host(QStringLiteral("bad")));
        const Status refused = open(*bad);
        QVERIFY(!refused.ok());
        QVERIFY2(textOf(refused).contains(QStringLiteral("no way")), qPrintable(textOf(refused)));
    }

private:
    static Destination host(const QString& name) {
        Destination destination;
        destination.host = name;
        return destination;
    }
    /// n0, n1, … are all `target`, behind `gateway`.
    static SshOptions through(Sshd& gateway, Sshd& target) {
        gateway.writeKnownHosts();
        SshOptions options;
        options.resolve.configFile = target.writeConfig(
            QStringLiteral("n0"),
            {QStringLiteral("Host gw\n  HostName 127.0.0.1\n  Port %1\n  IdentityFile %2\n"
                            "  UserKnownHostsFile %3\nHost n*\n  ProxyJump gw\n"
                            "  HostName 127.0.0.1\n  Port %4\n  IdentityFile %5")
                 .arg(gateway.port())
                 .arg(gateway.clientKey(), gateway.knownHosts())
                 .arg(target.port())
                 .arg(target.clientKey())});
        return options;
    }
    /// Connections between their beginning and their login, as sshd logged them.
    static qsizetype mostAtOnce(const QString& log) {
        static const QRegularExpression event(
            QStringLiteral("^(Connection from|Accepted publickey|Connection closed by|Connection "
                           "reset by)\\b.*? port (\\d+)"),
            QRegularExpression::MultilineOption);
        QSet<QString> now;
        qsizetype most = 0;
        for (auto at = event.globalMatch(log); at.hasNext();) {
            const auto match = at.next();
            if (match.captured(1) == u"Connection from")
                now.insert(match.captured(2));
            else
                now.remove(match.captured(2));
            most = std::max(most, now.size());
        }
        return most;
    }

    std::unique_ptr<Sshd> m_gateway;
    std::unique_ptr<ScriptedPrompter> m_prompter;
};

QTEST_GUILESS_MAIN(TestGateway)
#include "tst_gateway.moc"
