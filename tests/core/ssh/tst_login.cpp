// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// Logging in to real sshds: keys, agents, security keys, passwords, several factors, banners.
#include "core/ssh/ssh_client.h"
#include "tests/core/ssh/scripted.h"
#include "tests/support/agent_stub.h"
#include "tests/support/sshd.h"

#include <QElapsedTimer>
#include <QFile>
#include <QTest>

using namespace lockstep;
using namespace lockstep::ssh;
using namespace std::chrono_literals;
using support::AgentStub;
using support::Sshd;

class TestLogin : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { SKIP_OR_FAIL_WITHOUT(support::missingSshd()); }
    void init() { m_prompter = std::make_unique<ScriptedPrompter>(); }

    // D2
    void offersTheConfiguredKeyBeforeNineOfTheAgent() {
        Sshd sshd({QStringLiteral("MaxAuthTries 6")});
        AgentStub agent;
        for (int i = 0; i < 9; ++i)
            agent.addKey(AgentStub::Kind::Ed25519, "throw-away-" + QByteArray::number(i));
        SshClient client(options(sshd, agent, QStringLiteral("IdentitiesOnly no")),
                         m_prompter.get());
        const auto connection = client.connectionTo(host());
        const Status status = open(*connection);
        QVERIFY2(status.ok(), qPrintable(textOf(status)));
        QVERIFY2(!sshd.log().contains(QStringLiteral("Failed publickey")), qPrintable(sshd.log()));
        QCOMPARE(agent.signatures(), 0);
    }

    // D2
    void offersFiveKeysAndSaysWhich() {
        Sshd sshd({QStringLiteral("MaxAuthTries 6")});
        sshd.makeKey(QStringLiteral("id_ed25519"), {QStringLiteral("-t"), QStringLiteral("rsa")});
        AgentStub agent;
        for (int i = 0; i < 9; ++i)
            agent.addKey(AgentStub::Kind::Ed25519, "throw-away-" + QByteArray::number(i));
        SshClient client(options(sshd, agent, QStringLiteral("IdentitiesOnly no")),
                         m_prompter.get());
        const auto connection = client.connectionTo(host());
        const Status status = open(*connection);
        QVERIFY(!status.ok());
        QCOMPARE(status.error().code, Code::Unauthenticated);
        const QString text = textOf(status);
        for (const QString& part :
             {sshd.clientKey(), QStringLiteral("agent key throw-away-0 (SHA256:"),
              QStringLiteral("throw-away-3"), QStringLiteral("5 more were not offered")})
            QVERIFY2(text.contains(part), qPrintable(text));
        QVERIFY2(!text.contains(QStringLiteral("throw-away-4")), qPrintable(text));
        QVERIFY(!sshd.log().contains(QStringLiteral("Too many authentication failures")));
    }

    void offersNoOtherKeyOfTheAgentWithIdentitiesOnly() {
        Sshd sshd;
        sshd.makeKey(QStringLiteral("id_ed25519"), {QStringLiteral("-t"), QStringLiteral("rsa")});
        AgentStub agent;
        sshd.authorizeLine(agent.addKey(AgentStub::Kind::Ed25519, "would-fit"));
        SshClient client(options(sshd, agent, QStringLiteral("IdentitiesOnly yes")),
                         m_prompter.get());
        const auto connection = client.connectionTo(host());
        const Status status = open(*connection);
        QVERIFY(!status.ok());
        QVERIFY2(!textOf(status).contains(QStringLiteral("would-fit")), qPrintable(textOf(status)));
    }

    void letsTheAgentSignForAKeyFileThatItHolds() {
        Sshd sshd;
        AgentStub agent;
        const QByteArray line = agent.addKey(AgentStub::Kind::Ed25519, "held");
        sshd.authorizeLine(line);
        const SshOptions with = options(sshd, agent, QStringLiteral("IdentitiesOnly yes"));
        write(sshd.clientKey() + QStringLiteral(".pub"), line);
        write(sshd.clientKey(), "not readable without its passphrase\n");
        SshClient client(with, m_prompter.get());
        const auto connection = client.connectionTo(host());
        const Status status = open(*connection);
        QVERIFY2(status.ok(), qPrintable(textOf(status)));
        QCOMPARE(agent.signatures(), 1);
        QVERIFY(m_prompter->questions.isEmpty());
        // D13: the agent stays here.
        QCOMPARE(sh(*connection, "echo \"[$SSH_AUTH_SOCK]\"").out, QByteArray("[]\n"));
    }

    // D7: longer than any deadline
    void waitsForATouchAsLongAsItTakes() {
        Sshd sshd;
        AgentStub agent;
        sshd.authorizeLine(agent.addKey(AgentStub::Kind::SecurityKey, "yubikey"));
        agent.signAfter(3000ms);
        SshOptions with = options(sshd, agent, QStringLiteral("IdentitiesOnly no"));
        sshd.makeKey(QStringLiteral("id_ed25519"), {QStringLiteral("-t"), QStringLiteral("rsa")});
        with.stepTimeout = 1000ms;
        SshClient client(with, m_prompter.get());
        const auto connection = client.connectionTo(host());
        const Status status = open(*connection);
        QVERIFY2(status.ok(), qPrintable(textOf(status)));
        QCOMPARE(m_prompter->questions.size(), 1);
        QCOMPARE(m_prompter->questions[0].kind, Question::Kind::Touch);
        QVERIFY(m_prompter->questions[0].host.endsWith(QString::number(sshd.port())));
        QTRY_COMPARE(m_prompter->withdrawn, 1);
        QCOMPARE(sh(*connection, "echo in").out, QByteArray("in\n"));
    }

    // D7
    void saysThatTheAgentDidNotSign() {
        Sshd sshd;
        AgentStub agent;
        sshd.authorizeLine(agent.addKey(AgentStub::Kind::SecurityKey, "yubikey"));
        agent.refuseToSign();
        const SshOptions with = options(sshd, agent, QStringLiteral("IdentitiesOnly no"));
        sshd.makeKey(QStringLiteral("id_ed25519"), {QStringLiteral("-t"), QStringLiteral("rsa")});
        SshClient client(with, m_prompter.get());
        const auto connection = client.connectionTo(host());
        const Status status = open(*connection);
        QVERIFY(!status.ok());
        QCOMPARE(status.error().code, Code::Unauthenticated);
        QVERIFY2(textOf(status).contains(QStringLiteral("yubikey")) &&
                     textOf(status).contains(QStringLiteral("did not sign")),
                 qPrintable(textOf(status)));
    }

    // D7, D16
    void cancelsWhileAKeyWaitsToBeTouched() {
        Sshd sshd;
        AgentStub agent;
        sshd.authorizeLine(agent.addKey(AgentStub::Kind::SecurityKey, "yubikey"));
        agent.signAfter(60'000ms);
        const SshOptions with = options(sshd, agent, QStringLiteral("IdentitiesOnly no"));
        sshd.makeKey(QStringLiteral("id_ed25519"), {QStringLiteral("-t"), QStringLiteral("rsa")});
        const int threadsBefore = threads();
        SshClient client(with, m_prompter.get());
        const auto connection = client.connectionTo(host());
        Opened opened;
        connection->open([&](Status status) { opened = {true, status}; });
        QTRY_COMPARE_WITH_TIMEOUT(m_prompter->questions.size(), 1, 10'000);
        QElapsedTimer took;
        took.start();
        connection->close();
        QVERIFY(opened.isDone);
        QCOMPARE(opened.status.error().code, Code::Cancelled);
        QCOMPARE(m_prompter->withdrawn, 1);
        QTRY_COMPARE_WITH_TIMEOUT(threads(), threadsBefore, 1000);
        QVERIFY(took.elapsed() < 1000);
    }

    // D7: a key file that only its hardware can use
    void saysThatASecurityKeyNeedsTheAgent() {
        Sshd sshd;
        AgentStub elsewhere;
        AgentStub agent;
        const SshOptions with = options(sshd, agent, QStringLiteral("IdentitiesOnly yes"));
        write(sshd.clientKey() + QStringLiteral(".pub"),
              elsewhere.addKey(AgentStub::Kind::SecurityKey, "yubikey"));
        SshClient client(with, m_prompter.get());
        const auto connection = client.connectionTo(host());
        const Status status = open(*connection);
        QVERIFY(!status.ok());
        QVERIFY2(textOf(status).contains(QStringLiteral("ssh-add ") + sshd.clientKey()),
                 qPrintable(textOf(status)));
    }

    // D8
    void goesThroughTwoFactorsAfterAKey() {
        SKIP_OR_FAIL_WITHOUT(support::missingAccounts());
        Sshd sshd({QStringLiteral("UsePAM yes"), QStringLiteral("KbdInteractiveAuthentication yes"),
                   QStringLiteral("AuthenticationMethods publickey,keyboard-interactive:pam")},
                  {{QStringLiteral("alice"), QStringLiteral("unused")}});
        SshOptions with;
        with.resolve.configFile =
            sshd.writeConfig(QStringLiteral("n0"), {QStringLiteral("User alice")});
        SshClient client(with, m_prompter.get());
        m_prompter->answers = {Answer{{QStringLiteral("lab")}}, Answer{{QStringLiteral("1")}}};
        const auto connection = client.connectionTo(host());
        const Status status = open(*connection);
        QVERIFY2(status.ok(), qPrintable(textOf(status) + sshd.log()));
        QCOMPARE(m_prompter->questions.size(), 2);
        const Question first = m_prompter->questions[0];
        QCOMPARE(first.kind, Question::Kind::Interactive);
        QCOMPARE(first.prompts.size(), 1);
        QCOMPARE(first.prompts[0].text.trimmed(), QStringLiteral("Password:"));
        QVERIFY(!first.prompts[0].echo);
        const Question second = m_prompter->questions[1];
        QCOMPARE(second.prompts[0].text.count(u'\n'), 6);
        QVERIFY(second.prompts[0].text.trimmed().endsWith(QStringLiteral("option (1-3):")));
        QVERIFY(second.prompts[0].echo);
        QCOMPARE(second.round, 2);
        QCOMPARE(sh(*connection, "id -un").out, QByteArray("alice\n"));
        // The password is remembered and never sent into the menu, which is asked again.
        m_prompter->answers = {Answer{{QStringLiteral("1")}}};
        const auto again = client.connectionTo(host());
        const Status later = open(*again);
        QVERIFY2(later.ok(), qPrintable(textOf(later)));
        QCOMPARE(m_prompter->questions.size(), 3);
        QVERIFY(m_prompter->questions[2].prompts[0].echo);
    }

    // D8
    void asksTheServersQuestionsAgainWhenTheyWereWronglyAnswered() {
        SKIP_OR_FAIL_WITHOUT(support::missingAccounts());
        Sshd sshd({QStringLiteral("UsePAM yes"), QStringLiteral("KbdInteractiveAuthentication yes"),
                   QStringLiteral("PubkeyAuthentication no")},
                  {{QStringLiteral("alice"), QStringLiteral("unused")}});
        SshOptions with;
        with.resolve.configFile =
            sshd.writeConfig(QStringLiteral("n0"), {QStringLiteral("User alice")});
        SshClient client(with, m_prompter.get());
        m_prompter->answers = {Answer{{QStringLiteral("wrong")}}, Answer{{QStringLiteral("lab")}},
                               Answer{{QStringLiteral("1")}}};
        const auto connection = client.connectionTo(host());
        const Status status = open(*connection, 30'000);
        QVERIFY2(status.ok(), qPrintable(textOf(status) + sshd.log()));
        QCOMPARE(m_prompter->questions.size(), 3);
    }

    void asksForAPasswordUntilItFitsAndKeepsIt() {
        SKIP_OR_FAIL_WITHOUT(support::missingAccounts());
        Sshd sshd({QStringLiteral("PasswordAuthentication yes")},
                  {{QStringLiteral("alice"), m_password}});
        SshOptions with;
        with.resolve.configFile =
            sshd.writeConfig(QStringLiteral("n0"), {QStringLiteral("User alice"),
                                                    QStringLiteral("PubkeyAuthentication no")});
        SshClient client(with, m_prompter.get());
        m_prompter->answers = {Answer{{QStringLiteral("wrong")}}, Answer{{m_password}}};
        const auto connection = client.connectionTo(host());
        const Status status = open(*connection, 30'000);
        QVERIFY2(status.ok(), qPrintable(textOf(status) + sshd.log()));
        QCOMPARE(m_prompter->questions.size(), 2);
        QCOMPARE(m_prompter->questions[1].kind, Question::Kind::Password);
        QCOMPARE(m_prompter->questions[1].round, 2);
        const auto again = client.connectionTo(host());
        QVERIFY(open(*again).ok());
        QCOMPARE(m_prompter->questions.size(), 2);
    }

    void givesUpAfterThreeWrongPasswords() {
        SKIP_OR_FAIL_WITHOUT(support::missingAccounts());
        Sshd sshd({QStringLiteral("PasswordAuthentication yes")},
                  {{QStringLiteral("alice"), m_password}});
        SshOptions with;
        with.resolve.configFile =
            sshd.writeConfig(QStringLiteral("n0"), {QStringLiteral("User alice"),
                                                    QStringLiteral("PubkeyAuthentication no")});
        SshClient client(with, m_prompter.get());
        const Answer wrong{{QStringLiteral("wrong")}};
        m_prompter->answers = {wrong, wrong, wrong, wrong, wrong};
        const auto connection = client.connectionTo(host());
        const Status status = open(*connection, 30'000);
        QVERIFY(!status.ok());
        QCOMPARE(status.error().code, Code::Unauthenticated);
        QCOMPARE(m_prompter->questions.size(), 3);
        QVERIFY2(!textOf(status).contains(QStringLiteral("wrong")), qPrintable(textOf(status)));
    }

    // D5: sshd hangs up while a person reads
    void goesOnWhenTheAnswerCameTooLateForTheServer() {
        Sshd sshd({QStringLiteral("LoginGraceTime 1")});
        SshOptions with;
        with.resolve.configFile = sshd.writeConfig(QStringLiteral("n0"));
        with.stepTimeout = 1000ms;
        QFile::remove(sshd.knownHosts());
        m_prompter->thinks = 2500ms;
        m_prompter->answers = {Answer{}};
        SshClient client(with, m_prompter.get());
        const auto connection = client.connectionTo(host());
        const Status status = open(*connection);
        QVERIFY2(status.ok(), qPrintable(textOf(status)));
        QCOMPARE(m_prompter->questions.size(), 1);
    }

    // D5: one dialog shows them all
    void asksForTheKeysOfManyHostsAtOnce() {
        std::vector<std::unique_ptr<Sshd>> hosts;
        QStringList lines;
        for (int i = 0; i < 8; ++i) {
            hosts.push_back(std::make_unique<Sshd>());
            lines += QStringLiteral("Host h%1\n  HostName 127.0.0.1\n  Port %2\n  IdentityFile %3")
                         .arg(i)
                         .arg(hosts.back()->port())
                         .arg(hosts.back()->clientKey());
        }
        SshOptions with;
        with.resolve.configFile = hosts[0]->writeConfig(QStringLiteral("n0"), lines, false);
        SshClient client(with, m_prompter.get());
        m_prompter->isSilent = true;
        std::vector<std::unique_ptr<Connection>> all;
        for (int i = 0; i < 8; ++i) {
            Destination destination;
            destination.host = QStringLiteral("h%1").arg(i);
            all.push_back(client.connectionTo(destination));
            all.back()->open([](const Status&) {});
        }
        QTRY_COMPARE_WITH_TIMEOUT(m_prompter->questions.size(), 8, 20'000);
    }

    // E2
    void showsALongBannerAndReadsNothingFromIt() {
        QTemporaryDir folder;
        QByteArray banner;
        for (int i = 1; i <= 200; ++i)
            banner +=
                "line " + QByteArray::number(i) + " \xc3\xbc \x1b[31mred\x07\x01 SSH-2.0-x\r\n";
        write(folder.filePath(QStringLiteral("banner")), banner);
        Sshd sshd({QStringLiteral("Banner ") + folder.filePath(QStringLiteral("banner"))});
        SshOptions with;
        with.resolve.configFile = sshd.writeConfig(QStringLiteral("n0"));
        SshClient client(with, m_prompter.get());
        const auto connection = client.connectionTo(host());
        QStringList banners;
        connect(connection.get(), &Connection::bannerReceived, this,
                [&](const QString&, const QString& text) { banners += text; });
        const Status status = open(*connection);
        QVERIFY2(status.ok(), qPrintable(textOf(status)));
        QCOMPARE(banners.size(), 1);
        QVERIFY(banners[0].contains(QStringLiteral("line 200 \u00fc")));
        QCOMPARE(banners[0].count(u'\n'), 200);
        for (const char c : {'\x1b', '\x07', '\x01', '\r'})
            QVERIFY(!banners[0].contains(QLatin1Char(c)));
        QCOMPARE(sh(*connection, "echo in").out, QByteArray("in\n"));
    }

private:
    static Destination host() {
        Destination destination;
        destination.host = QStringLiteral("n0");
        return destination;
    }
    static SshOptions options(Sshd& sshd, const AgentStub& agent, const QString& line) {
        SshOptions options;
        options.resolve.configFile = sshd.writeConfig(
            QStringLiteral("n0"), {line, QStringLiteral("IdentityAgent ") + agent.socketPath()});
        return options;
    }
    static void write(const QString& path, const QByteArray& bytes) {
        QFile file(path);
        QVERIFY(file.open(QIODevice::WriteOnly | QIODevice::Truncate));
        file.write(bytes);
    }

    std::unique_ptr<ScriptedPrompter> m_prompter;
    const QString m_password = QStringLiteral("correct horse");
};

QTEST_GUILESS_MAIN(TestLogin)
#include "tst_login.moc"
