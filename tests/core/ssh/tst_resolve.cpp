// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/ssh/config_parser.h"
#include "core/ssh/resolve.h"

#include <QDir>
#include <QElapsedTimer>
#include <QFile>
#include <QProcess>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>

#include <optional>

using namespace lockstep;
using namespace lockstep::ssh;

namespace {

const QString kNoClient = QStringLiteral("/nonexistent/ssh");

/// "ssh" and our own parser, which have to agree.
const QStringList kPrograms{QStringLiteral("ssh"), kNoClient};

QString message(const Error& error) {
    return QString::fromStdString(describe(error));
}

QStringList texts(const QList<Destination>& destinations) {
    QStringList list;
    for (const Destination& each : destinations)
        list += each.text();
    return list;
}

} // namespace

class TestResolve : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() {
        if (QStandardPaths::findExecutable(QStringLiteral("ssh")).isEmpty())
            QSKIP("ssh is missing: install openssh-client");
    }
    void init() {
        m_home = std::make_unique<QTemporaryDir>();
        qputenv("HOME", m_home->path().toLocal8Bit()); // where Include looks
        qputenv("SHELL", "/bin/sh");
    }

    // D3: the configuration that other tools read wrongly.
    void readsWhatOthersReadWrongly_data() {
        QTest::addColumn<QString>("program");
        QTest::newRow("with the client") << kPrograms[0];
        QTest::newRow("without") << kPrograms[1];
    }
    void readsWhatOthersReadWrongly() {
        QFETCH(QString, program);
        write(u"conf.d/10-port.conf", "Host lab*\n  Port 2222\n");
        write(u"conf.d/20-late.conf", "Host lab*\n  Port 3333\n  User late\n");
        write(u"inside", "User inside\nHost other\n  HostKeyAlias wrong\n");
        write(u"config", "Include conf.d/*.conf\n"
                         "Match host lab* exec \"false\"\n"
                         "  ProxyCommand nc evil 22\n"
                         "Host lab1\n"
                         "  HostName %h.lab\n"
                         "  ProxyJump gw\n"
                         "Host lab2\n"
                         "  HostName two.lab\n"
                         "  User \"bob\"\n"
                         "  ProxyCommand nc -x 100%% %h %p %r %n\n"
                         "Host in1\n"
                         "  Include inside\n"
                         "  HostKeyAlias Right\n"
                         "Host gw\n"
                         "  Port 22\n");
        const auto one = ask(QStringLiteral("lab1"), program);
        QVERIFY2(one.ok(), one.ok() ? "" : describe(one.error()).c_str());
        QCOMPARE(one->hostname, QStringLiteral("lab1.lab"));
        QCOMPARE(one->port, 2222);
        QCOMPARE(one->user, QStringLiteral("late"));
        QCOMPARE(one->proxyCommand, QString()); // the Match did not apply
        QCOMPARE(texts(one->jumps), QStringList{QStringLiteral("gw")});
        const auto two = ask(QStringLiteral("lab2"), program);
        QVERIFY(two.ok());
        QCOMPARE(two->proxyCommand, QStringLiteral("nc -x 100% two.lab 2222 late lab2"));
        QVERIFY(two->jumps.isEmpty());
        const auto in = ask(QStringLiteral("in1"), program);
        QVERIFY(in.ok());
        QCOMPARE(in->user, QStringLiteral("inside"));
        QCOMPARE(in->hostKeyAlias, QStringLiteral("right"));
        const auto other = ask(QStringLiteral("other"), program);
        QVERIFY(other.ok());
        QCOMPARE(other->hostKeyAlias, QString()); // a Host in an Include stays in its block
    }

    void givesTheSameWithAndWithoutTheClient_data() {
        QTest::addColumn<QByteArray>("config");
        QTest::addColumn<QString>("host");
        const auto row = [](const char* name, const char* config, const char* host = "x") {
            QTest::newRow(name) << QByteArray(config) << QString::fromLatin1(host);
        };
        row("nothing", "");
        row("equals sign", "Port=9\nUser = \"a b\"\n");
        row("tabs and CRLF", "Port\t9\r\n\tUser\tbob \r\n");
        row("comments", "# Port 1\nPort 9 # nine\nUser a#b\n");
        row("quotes", "User 'a \"b'\nHostKeyAlias \"a\\\"b\"\n");
        row("first wins", "Port 9\nPort 10\nUser a\nUser b\n");
        row("negated", "Host * !x\nPort 9\nHost *\nPort 10\n");
        row("negated alone", "Host !y\nPort 9\n");
        row("case of Host", "Host X\nPort 9\n");
        row("case of a typed host", "Host X\nPort 9\n", "X");
        row("commas are no list in Host", "Host a,x\nPort 9\n");
        row("list in Match", "Match host a,x\nPort 9\n");
        row("taken back in Match", "Match host *,!x\nPort 9\n");
        row("negated Match", "Match !host y\nPort 9\n");
        row("Match with =", "Match host=x\nPort 9\n");
        row("Match ignores case", "Match host X\nPort 9\n");
        row("Match sees HostName", "HostName zz\nMatch host zz\nPort 9\n");
        row("Match originalhost", "HostName zz\nMatch originalhost x\nPort 9\n");
        row("Match user", "User bob\nMatch user bob,eve\nPort 9\n");
        row("Match other user", "User bob\nMatch user eve\nPort 9\n");
        row("Match all", "Match host y\nPort 8\nMatch all\nPort 9\n");
        row("Match exec", "Match exec \"test %h-%n-%p = x-x-22\"\nPort 9\n");
        row("Match exec fails", "Match exec \"exit 3\"\nPort 9\n");
        row("Match not exec", "Match !exec \"exit 3\"\nPort 9\n");
        row("Match with comment", "Match host x # y\nPort 9\n");
        row("numbers", "ServerAliveInterval 1h30m\nServerAliveCountMax 7\nConnectTimeout 1m\n");
        row("login", "PasswordAuthentication no\nPubkeyAuthentication NO\n"
                     "ChallengeResponseAuthentication no\n");
        row("preferred", "PreferredAuthentications publickey,password\n");
        row("identities", "IdentityFile ~/none\nIdentityFile /dev/null\nIdentityFile /dev/null\n"
                          "IdentitiesOnly yes\nIdentityAgent none\n");
        row("no identity", "IdentityFile none\n");
        row("identity with tokens", "IdentityFile /etc/%h/%r-%p-%n-%u-%%\n");
        row("known hosts", "UserKnownHostsFile /tmp/%h ~/two\nGlobalKnownHostsFile /tmp/g\n"
                           "HashKnownHosts yes\nStrictHostKeyChecking off\n");
        row("no known hosts", "UserKnownHostsFile none\n");
        row("algorithms", "HostKeyAlgorithms rsa-sha2-512,ssh-ed25519\n");
        row("algorithms less", "HostKeyAlgorithms -ecdsa-*\n");
        row("algorithms first", "HostKeyAlgorithms ^rsa-sha2-256\n");
        row("agent forwarding", "ForwardAgent yes\n");
        row("family", "AddressFamily inet6\nBindAddress ::1\n");
        row("jump first", "Host x\nProxyJump gw\nProxyCommand nc\n");
        row("command first", "ProxyCommand nc\nProxyJump gw\n");
        row("no jump", "Host x\nProxyJump none\nHost *\nProxyJump gw\n");
        row("jump of a jump", "Host x\nProxyJump a,b@c:99\nHost a\nProxyJump d\n"
                              "Host c\nProxyJump ignored\n");
        row("name", "HostName UP.%h.Lab\n");
        row("address", "HostName FD00::1\n");
        row("ignored unknown", "IgnoreUnknown Use*,Foo\nUseKeychain yes\nPort 9\n");
        row("irrelevant",
            "LocalForward 1 b:2\nControlMaster auto\nCiphers aes128-ctr\nSendEnv A\n");
        row("missing Include", "Include none/*\nPort 9\n");
    }
    void givesTheSameWithAndWithoutTheClient() {
        QFETCH(QByteArray, config);
        QFETCH(QString, host);
        write(u"config", config);
        const auto client = ask(host, kPrograms[0]);
        const auto own = ask(host, kPrograms[1]);
        QVERIFY2(client.ok(), client.ok() ? "" : describe(client.error()).c_str());
        QVERIFY2(own.ok(), own.ok() ? "" : describe(own.error()).c_str());
        compare(*own, *client);
    }

    void prefersWhatTheDestinationSays() {
        write(u"config", "Port 9\nUser bob\nIdentityFile /etc/passwd\nHost x\nProxyCommand nc\n");
        const QString key = path(u"config");
        for (const QString& program : kPrograms) {
            const auto values = askFor({QStringLiteral("x"),
                                        QStringLiteral("alice"),
                                        2222,
                                        {key},
                                        QStringLiteral("gw:2200")},
                                       program);
            QVERIFY(values.ok());
            QCOMPARE(values->text(), QStringLiteral("alice@x:2222"));
            QCOMPARE(texts(values->jumps), QStringList{QStringLiteral("gw:2200")});
            QCOMPARE(values->proxyCommand, QString());
            QCOMPARE(values->identityFiles, QStringList({key, QStringLiteral("/etc/passwd")}));
        }
    }

    void refusesWhatBothRefuse_data() {
        QTest::addColumn<QByteArray>("config");
        QTest::addColumn<int>("line");
        QTest::newRow("keyword") << QByteArray("Host y\n\nFrobnicate yes\n") << 3;
        QTest::newRow("keyword in Match") << QByteArray("Match host y\nFrobnicate yes\n") << 2;
        QTest::newRow("condition") << QByteArray("Match weather rainy\nPort 9\n") << 1;
        QTest::newRow("no condition") << QByteArray("Match\n") << 1;
        QTest::newRow("no value") << QByteArray("Match host\n") << 1;
        QTest::newRow("all and more") << QByteArray("Match all host x\n") << 1;
        QTest::newRow("port") << QByteArray("Port 0\n") << 1;
        QTest::newRow("large port") << QByteArray("Host y\nPort 70000\n") << 2;
        QTest::newRow("flag") << QByteArray("PasswordAuthentication maybe\n") << 1;
        QTest::newRow("time") << QByteArray("ServerAliveInterval soon\n") << 1;
        QTest::newRow("two values") << QByteArray("Port 1 2\n") << 1;
        QTest::newRow("open quote") << QByteArray("Host \"x\nPort 9\n") << 1;
        QTest::newRow("nothing") << QByteArray("User\n") << 1;
    }
    void refusesWhatBothRefuse() {
        QFETCH(QByteArray, config);
        QFETCH(int, line);
        write(u"config", config);
        for (const QString& program : kPrograms) {
            const auto values = ask(QStringLiteral("x"), program);
            QVERIFY2(!values.ok(), qPrintable(program));
            const QString text = message(values.error());
            QVERIFY2(text.contains(path(u"config")), qPrintable(text));
            QVERIFY2(text.contains(QStringLiteral("line %1").arg(line)) ||
                         text.contains(QStringLiteral("config:%1").arg(line)),
                     qPrintable(text));
        }
    }

    void refusesWhatOnlyTheClientUnderstands_data() {
        QTest::addColumn<QByteArray>("config");
        QTest::newRow("canonical") << QByteArray("Match canonical host x\nPort 9\n");
        QTest::newRow("final") << QByteArray("Match final\nPort 9\n");
        QTest::newRow("canonical names") << QByteArray("CanonicalizeHostname yes\n");
    }
    void refusesWhatOnlyTheClientUnderstands() {
        QFETCH(QByteArray, config);
        write(u"config", config);
        QVERIFY(ask(QStringLiteral("x"), kPrograms[0]).ok());
        const auto values = ask(QStringLiteral("x"), kNoClient);
        QVERIFY(!values.ok());
        QVERIFY2(message(values.error())
                     .contains(QStringLiteral("install openssh-client"), Qt::CaseInsensitive),
                 qPrintable(message(values.error())));
    }

    void endsAnIncludeLoop() {
        write(u"config", "Include config\n");
        for (const QString& program : kPrograms) {
            const auto values = ask(QStringLiteral("x"), program);
            QVERIFY(!values.ok());
            QVERIFY2(
                message(values.error()).contains(QStringLiteral("include"), Qt::CaseInsensitive),
                qPrintable(message(values.error())));
        }
    }

    void refusesFilesThatOthersMayWrite() {
        write(u"loose", "Port 9\n");
        QVERIFY(QFile::setPermissions(path(u"loose"), QFileDevice::ReadOwner |
                                                          QFileDevice::WriteOwner |
                                                          QFileDevice::WriteOther));
        write(u"config", "Include loose\n");
        for (const QString& program : kPrograms) {
            const auto values = ask(QStringLiteral("x"), program);
            QVERIFY(!values.ok());
            QVERIFY2(message(values.error()).contains(path(u"loose")),
                     qPrintable(message(values.error())));
        }
    }

    void tellsOfAConfigurationThatIsNotThere() {
        for (const QString& program : kPrograms) {
            const auto values = ask(QStringLiteral("x"), program);
            QVERIFY(!values.ok());
            QVERIFY(message(values.error()).contains(path(u"config")));
        }
    }

    void refusesJumpsInACircle_data() {
        QTest::addColumn<QByteArray>("config");
        QTest::newRow("self") << QByteArray("Host *\nProxyJump x\n");
        QTest::newRow("two") << QByteArray("Host x\nProxyJump y\nHost y\nProxyJump x\n");
        QTest::newRow("behind") << QByteArray("Host x\nProxyJump a\nHost a\nProxyJump b\n"
                                              "Host b\nProxyJump a\n");
    }
    void refusesJumpsInACircle() {
        QFETCH(QByteArray, config);
        write(u"config", config);
        for (const QString& program : kPrograms) {
            const auto values = ask(QStringLiteral("x"), program);
            QVERIFY(!values.ok());
            QCOMPARE(values.error().code, Code::InvalidArgument);
        }
    }

    void listsAllHopsOfTheWay() {
        write(u"config",
              "Host x\nProxyJump joe@a:2222,b\nHost a\nProxyJump c\nHost c\nProxyJump d\n"
              "Host b\nProxyJump never\n");
        for (const QString& program : kPrograms) {
            const auto values = ask(QStringLiteral("x"), program);
            QVERIFY(values.ok());
            QCOMPARE(texts(values->jumps).join(u' '), QStringLiteral("d c joe@a:2222 b"));
        }
    }

    // D10
    void keepsThePortOfEachHost() {
        write(u"config", "Host n1\nPort 2222\nHost n2\nHostName fd00::2\nPort 2022\n");
        for (const QString& program : kPrograms) {
            QCOMPARE(ask(QStringLiteral("n0"), program)->port, 22);
            QCOMPARE(ask(QStringLiteral("n1"), program)->port, 2222);
            QVERIFY(ask(QStringLiteral("n2"), program)
                        ->text()
                        .endsWith(QStringLiteral("@[fd00::2]:2022")));
        }
    }

    // D13
    void saysWhatItDoesNotFollow() {
        write(u"config", "ForwardAgent yes\nStrictHostKeyChecking no\nIdentityFile /none/here\n"
                         "RevokedHostKeys /tmp/r\n");
        for (const QString& program : kPrograms) {
            const auto values = ask(QStringLiteral("x"), program);
            QVERIFY(values.ok());
            const QString notes = values->notes.join(u'\n');
            for (const char* word : {"ForwardAgent", "StrictHostKeyChecking no", "/none/here",
                                     "RevokedHostKeys /tmp/r"})
                QVERIFY2(notes.contains(QString::fromLatin1(word)), qPrintable(notes));
            QCOMPARE(values->notes.size(), 4);
        }
    }

    void letsNoShellReadAHostName() {
        write(u"config", "ProxyCommand nc %h %p\n");
        for (const QString& program : kPrograms) {
            const auto values = ask(QStringLiteral("x;touch,y"), program);
            QVERIFY(!values.ok());
        }
    }

    void refusesTokensWithoutMeaning() {
        write(u"config", "ProxyCommand nc %h %z\n");
        for (const QString& program : kPrograms) {
            const auto values = ask(QStringLiteral("x"), program);
            QVERIFY(!values.ok());
            QVERIFY2(message(values.error()).contains(QStringLiteral("%z")),
                     qPrintable(message(values.error())));
        }
    }

    void endsACommandThatHangs() {
        const QString mark = path(u"pid");
        write(u"config", "Match exec \"echo $$ > " + mark.toLocal8Bit() + "; sleep 300; true\"\n");
        for (const QString& program : kPrograms) {
            QFile::remove(mark);
            QElapsedTimer took;
            took.start();
            const auto values = askFor({QStringLiteral("x"), {}, 0, {}, {}}, program,
                                       std::chrono::milliseconds(400));
            QVERIFY(!values.ok());
            QCOMPARE(values.error().code, Code::TimedOut);
            QVERIFY(took.elapsed() < 3000);
            QFile file(mark);
            QVERIFY(file.open(QIODevice::ReadOnly));
            const QString process =
                QStringLiteral("/proc/") + QString::fromLatin1(file.readAll().trimmed());
            QTRY_VERIFY_WITH_TIMEOUT(!isRunning(process), 3000);
        }
    }

    void asksNothingOfACommandThatDecidesNothing() {
        write(u"config",
              "Match host y exec \"touch " + path(u"ran").toLocal8Bit() + "\"\nPort 9\n");
        for (const QString& program : kPrograms) {
            QVERIFY(ask(QStringLiteral("x"), program).ok());
            QVERIFY(!QFile::exists(path(u"ran")));
        }
    }

    void answersNobodyWhoIsGone() {
        write(u"config", "Match exec \"sleep 0.2\"\n");
        for (const QString& program : kPrograms) {
            bool isAnswered = false;
            {
                QObject context;
                ResolveOptions options;
                options.program = program;
                options.configFile = path(u"config");
                resolve({QStringLiteral("x"), {}, 0, {}, {}}, options, &context,
                        [&](const Result<Resolved>&) { isAnswered = true; });
            }
            QTest::qWait(400); // longer than the command: whether anything comes after all
            QVERIFY(!isAnswered);
        }
    }

    void listsTheHostsThatAConfigurationNames() {
        write(u"conf.d/a", "Host n1 n0 *.lab\nHost !n9 n?\n");
        write(u"conf.d/b", "Host n2\nInclude conf.d/b config\n");
        write(u"config",
              "# hosts\nHost n0\n  Include conf.d/*\nHOST = \"n3\" # last\nMatch host m\n"
              "Host -oops \"open\nHost n4\nFrobnicate\n");
        const auto names = hostAliases(path(u"config"));
        QVERIFY(names.ok());
        QCOMPARE(names->join(u' '), QStringLiteral("n0 n1 n2 n3 n4"));
        QVERIFY(hostAliases(path(u"none"))->isEmpty());
    }

private:
    QString path(QStringView name) const {
        return m_home->filePath(QStringLiteral(".ssh/") + name.toString());
    }
    void write(QStringView name, const QByteArray& bytes) {
        QVERIFY(QDir().mkpath(QFileInfo(path(name)).path()));
        QFile file(path(name));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(bytes);
        file.close();
        file.setPermissions(QFileDevice::ReadOwner | QFileDevice::WriteOwner);
    }
    static bool isRunning(const QString& process) {
        QFile state(process + QStringLiteral("/stat"));
        return state.open(QIODevice::ReadOnly) && !state.readAll().contains(") Z ");
    }
    Result<Resolved> ask(const QString& host, const QString& program) {
        return askFor({host, {}, 0, {}, {}}, program);
    }
    Result<Resolved> askFor(const Destination& destination, const QString& program,
                            std::chrono::milliseconds deadline = std::chrono::seconds(5)) {
        ResolveOptions options;
        options.program = program;
        options.configFile = path(u"config");
        options.deadline = deadline;
        std::optional<Result<Resolved>> answer;
        QObject context;
        resolve(destination, options, &context,
                [&](Result<Resolved> values) { answer.emplace(std::move(values)); });
        if (!QTest::qWaitFor([&] { return answer.has_value(); }, 10'000))
            return Error{Code::Internal, "no answer came", {}};
        return *answer;
    }
    static void compare(const Resolved& own, const Resolved& client) {
        QCOMPARE(own.text(), client.text());
        QCOMPARE(own.identityFiles, client.identityFiles);
        QCOMPARE(own.identitiesOnly, client.identitiesOnly);
        QCOMPARE(own.identityAgent, client.identityAgent);
        QCOMPARE(own.userKnownHosts, client.userKnownHosts);
        QCOMPARE(own.globalKnownHosts, client.globalKnownHosts);
        QCOMPARE(own.hostKeyAlias, client.hostKeyAlias);
        QCOMPARE(own.hostKeyAlgorithms, client.hostKeyAlgorithms);
        QCOMPARE(own.strictHostKeyChecking, client.strictHostKeyChecking);
        QCOMPARE(own.proxyCommand, client.proxyCommand);
        QCOMPARE(texts(own.jumps), texts(client.jumps));
        QCOMPARE(own.aliveInterval, client.aliveInterval);
        QCOMPARE(own.connectTimeout, client.connectTimeout);
        QCOMPARE(own.preferredAuthentications, client.preferredAuthentications);
        QCOMPARE(own.notes, client.notes);
        QVERIFY(own == client);
    }

    std::unique_ptr<QTemporaryDir> m_home;
};

QTEST_GUILESS_MAIN(TestResolve)
#include "tst_resolve.moc"
