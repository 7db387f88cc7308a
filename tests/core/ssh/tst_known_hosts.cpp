// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/ssh/known_hosts.h"

#include <QFile>
#include <QFileInfo>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

#include <thread>
#include <vector>

using namespace lockstep;
using namespace lockstep::ssh;
using Verdict = HostKeyCheck::Verdict;

namespace {

const QString kType = QStringLiteral("ssh-ed25519");

HostKey key(char c) {
    return {kType, QByteArray("\0\0\0\x0bssh-ed25519\0\0\0\x20", 19) + QByteArray(32, c)};
}

QByteArray text(const HostKey& key) {
    return key.type.toUtf8() + ' ' + key.blob.toBase64();
}

} // namespace

class TestKnownHosts : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() { QFile::remove(file()); }

    void knowsNamesAsOpenSshDoes_data() {
        QTest::addColumn<QByteArray>("hosts");
        QTest::addColumn<QString>("name");
        QTest::addColumn<int>("port");
        QTest::addColumn<bool>("isKnown");
        QTest::newRow("name") << QByteArray("n0") << "n0" << 22 << true;
        QTest::newRow("case") << QByteArray("N0") << "n0" << 22 << true;
        QTest::newRow("list") << QByteArray("a,n0,b") << "n0" << 22 << true;
        QTest::newRow("other name") << QByteArray("n00") << "n0" << 22 << false;
        QTest::newRow("port") << QByteArray("[n0]:2222") << "n0" << 2222 << true;
        QTest::newRow("other port") << QByteArray("[n0]:22222") << "n0" << 2222 << false;
        QTest::newRow("wildcard") << QByteArray("*.lab") << "n0.lab" << 22 << true;
        QTest::newRow("question mark") << QByteArray("n?.lab") << "n0.lab" << 22 << true;
        QTest::newRow("taken back") << QByteArray("*.lab,!n0.lab") << "n0.lab" << 22 << false;
        QTest::newRow("address") << QByteArray("10.0.0.1") << "10.0.0.1" << 22 << true;
        QTest::newRow("IPv6") << QByteArray("[fd00::2]:2022") << "fd00::2" << 2022 << true;
    }
    void knowsNamesAsOpenSshDoes() {
        QFETCH(QByteArray, hosts);
        QFETCH(QString, name);
        QFETCH(int, port);
        write(hosts + ' ' + text(key('a')) + " a comment\r\n");
        const auto known = KnownHosts::read({file()});
        QVERIFY(known.ok());
        QTEST(known->check(name, port, key('a')).verdict == Verdict::Match, "isKnown");
        QTEST(known->typesOf(name, port) == QStringList{kType}, "isKnown");
        // ssh-keygen is the oracle.
        QProcess oracle;
        oracle.start(
            QStringLiteral("ssh-keygen"),
            {QStringLiteral("-F"), knownHostsName(name, port), QStringLiteral("-f"), file()});
        if (oracle.waitForFinished())
            QTEST(oracle.exitCode() == 0, "isKnown");
    }

    void knowsHashedNames() {
        QVERIFY(addKnownHost(file(), QStringLiteral("n0"), 2222, key('a'), true).ok());
        QVERIFY(!contents().contains("n0"));
        const auto known = KnownHosts::read({file()});
        QCOMPARE(known->check(QStringLiteral("n0"), 2222, key('a')).verdict, Verdict::Match);
        QCOMPARE(known->check(QStringLiteral("n1"), 2222, key('a')).verdict, Verdict::Unknown);
        QProcess oracle;
        oracle.start(
            QStringLiteral("ssh-keygen"),
            {QStringLiteral("-F"), QStringLiteral("[n0]:2222"), QStringLiteral("-f"), file()});
        QVERIFY(oracle.waitForFinished());
        QCOMPARE(oracle.exitCode(), 0);
    }

    // Lines that ssh-keygen -H wrote.
    void readsWhatSshKeygenHashed() {
        write("n0,10.0.0.1 " + text(key('a')) + "\n[fd00::2]:2022 " + text(key('b')) + "\n*.lab " +
              text(key('c')) + '\n');
        QProcess program;
        program.start(QStringLiteral("ssh-keygen"),
                      {QStringLiteral("-H"), QStringLiteral("-f"), file()});
        if (!program.waitForFinished() || program.exitCode() != 0)
            QSKIP("ssh-keygen (openssh-client) is missing");
        QVERIFY(!contents().contains("n0,"));
        const auto known = KnownHosts::read({file()});
        QCOMPARE(known->check(QStringLiteral("N0"), 22, key('a')).verdict, Verdict::Match);
        QCOMPARE(known->check(QStringLiteral("10.0.0.1"), 22, key('a')).verdict, Verdict::Match);
        QCOMPARE(known->check(QStringLiteral("10.0.0.1"), 22, key('b')).verdict, Verdict::Changed);
        QCOMPARE(known->check(QStringLiteral("fd00::2"), 2022, key('b')).verdict, Verdict::Match);
        QCOMPARE(known->check(QStringLiteral("n1.lab"), 22, key('c')).verdict, Verdict::Match);
        QCOMPARE(known->check(QStringLiteral("n1"), 22, key('c')).verdict, Verdict::Unknown);
    }

    // sshconnect.c: "checking without port identifier"
    void takesAKeyThatIsKnownWithoutThePort() {
        write("n0 " + text(key('a')) + '\n');
        const auto known = KnownHosts::read({file()});
        QCOMPARE(known->check(QStringLiteral("n0"), 2222, key('a')).verdict, Verdict::Match);
        QCOMPARE(known->check(QStringLiteral("n0"), 2222, key('b')).verdict, Verdict::Unknown);
        QCOMPARE(known->typesOf(QStringLiteral("n0"), 2222), QStringList{kType});
        write("n0 " + text(key('a')) + "\n[n0]:2222 " + text(key('b')) + '\n');
        QCOMPARE(KnownHosts::read({file()})->check(QStringLiteral("n0"), 2222, key('a')).verdict,
                 Verdict::Changed);
        write("@revoked n0 " + text(key('a')) + '\n');
        QCOMPARE(KnownHosts::read({file()})->check(QStringLiteral("n0"), 2222, key('a')).verdict,
                 Verdict::Revoked);
    }

    void tellsOtherKindsOfKey() {
        const HostKey rsa{QStringLiteral("ssh-rsa"), QByteArray("\0\0\0\x07ssh-rsa\0\0\0\1\3", 16)};
        write("n1 " + text(key('b')) + "\nn0 " + text(rsa) + '\n');
        const auto known = KnownHosts::read({file()});
        const auto check = known->check(QStringLiteral("n0"), 22, key('a'));
        QCOMPARE(check.verdict, Verdict::Unknown);
        QCOMPARE(check.otherTypes, QStringList{QStringLiteral("ssh-rsa")});
        QCOMPARE(check.otherLines.size(), 1);
        QCOMPARE(check.otherLines[0].line, 2);
        QCOMPARE(known->typesOf(QStringLiteral("n0"), 22), QStringList{QStringLiteral("ssh-rsa")});
    }

    void readsSeveralFilesInTheirOrder() {
        write("n0 " + text(key('a')) + '\n');
        const QString second = folder.filePath(QStringLiteral("second"));
        QVERIFY(addKnownHost(second, QStringLiteral("n0"), 22, key('b'), false).ok());
        const auto known = KnownHosts::read({file(), second});
        QCOMPARE(known->check(QStringLiteral("n0"), 22, key('b')).line.file, second);
        QCOMPARE(known->check(QStringLiteral("n0"), 22, key('c')).line.file, file());
    }

    void tellsAChangedKeyWithItsLine() {
        write("# ours\n\nn0 " + text(key('a')) + '\n');
        const auto check = KnownHosts::read({file()})->check(QStringLiteral("n0"), 22, key('b'));
        QCOMPARE(check.verdict, Verdict::Changed);
        QCOMPARE(check.line.file, file());
        QCOMPARE(check.line.line, 3);
        QCOMPARE(check.line.key, key('a'));
    }

    void takesAnyOfSeveralKeys() {
        write("n0 " + text(key('a')) + "\nn0 " + text(key('b')) + '\n');
        const auto known = KnownHosts::read({file()});
        QCOMPARE(known->check(QStringLiteral("n0"), 22, key('b')).verdict, Verdict::Match);
    }

    void letsRevokedOutweighEverything() {
        write("n0 " + text(key('a')) + "\n@revoked * " + text(key('a')) + '\n');
        const auto check = KnownHosts::read({file()})->check(QStringLiteral("n0"), 22, key('a'));
        QCOMPARE(check.verdict, Verdict::Revoked);
        QCOMPARE(check.line.line, 2);
    }

    void tellsOfCertificateAuthoritiesAndClones() {
        write("@cert-authority *.lab " + text(key('c')) + "\nn1.lab " + text(key('a')) + '\n');
        const auto check =
            KnownHosts::read({file()})->check(QStringLiteral("n0.lab"), 22, key('a'));
        QCOMPARE(check.verdict, Verdict::Unknown);
        QVERIFY(check.hasCertAuthority);
        QCOMPARE(check.otherNames, QStringList{QStringLiteral("n1.lab")});
    }

    void passesOverBrokenLines() {
        write("n0\nn0 ssh-ed25519\nn0 ssh-ed25519 !!!\n@what n0 " + text(key('a')) +
              "\n\xff\nn0 1024 35 1234567\nn0 ssh-rsa " + key('a').blob.toBase64() + '\n');
        const auto known = KnownHosts::read({file(), folder.filePath(QStringLiteral("none"))});
        QVERIFY(known.ok());
        QCOMPARE(known->check(QStringLiteral("n0"), 22, key('a')).verdict, Verdict::Unknown);
    }

    void addsLinesAndKeepsTheOthers() {
        const QString nested = folder.filePath(QStringLiteral("ssh/known_hosts"));
        QVERIFY(addKnownHost(nested, QStringLiteral("n0"), 22, key('a'), false).ok());
        QFile::setPermissions(nested, QFileDevice::ReadOwner | QFileDevice::WriteOwner |
                                          QFileDevice::ReadOther);
        QVERIFY(addKnownHost(nested, QStringLiteral("n1"), 2222, key('b'), false).ok());
        QFile result(nested);
        QVERIFY(result.open(QIODevice::ReadOnly));
        QCOMPARE(result.readAll(), "n0 " + text(key('a')) + "\n[n1]:2222 " + text(key('b')) + '\n');
        QVERIFY(result.permissions().testFlag(QFileDevice::ReadOther));
        QFile old(nested + QStringLiteral(".old"));
        QVERIFY(old.open(QIODevice::ReadOnly));
        QCOMPARE(old.readAll(), "n0 " + text(key('a')) + '\n');
    }

    void writesThroughALinkAndKeepsTheMode() {
        write("n0 " + text(key('a')) + '\n');
        QVERIFY(QFile::setPermissions(file(), QFileDevice::ReadOwner | QFileDevice::WriteOwner |
                                                  QFileDevice::ReadGroup));
        const QString link = folder.filePath(QStringLiteral("link"));
        QVERIFY(QFile::link(file(), link));
        QVERIFY(addKnownHost(link, QStringLiteral("n1"), 22, key('b'), false).ok());
        QVERIFY(QFileInfo(link).isSymLink());
        QVERIFY(contents().contains("n1 "));
        QVERIFY(QFile::permissions(file()).testFlag(QFileDevice::ReadGroup));
        QVERIFY(!QFile::permissions(file()).testFlag(QFileDevice::ReadOther));
    }

    void makesItsFolderForTheUserAlone() {
        const QString nested = folder.filePath(QStringLiteral("home/.ssh/known_hosts"));
        QVERIFY(addKnownHost(nested, QStringLiteral("n0"), 22, key('a'), false).ok());
        const auto others = QFileDevice::ReadGroup | QFileDevice::ExeGroup |
                            QFileDevice::ReadOther | QFileDevice::ExeOther;
        QVERIFY((QFile::permissions(QFileInfo(nested).path()) & others) == 0);
        QVERIFY((QFile::permissions(nested) & others) == 0);
    }

    void addsNothingTwice() {
        for (const bool hashed : {false, true})
            QVERIFY(addKnownHost(file(), QStringLiteral("n0"), 22, key('a'), hashed).ok());
        QCOMPARE(contents().count('\n'), 1);
    }

    void losesNoLineWhenManyAddAtOnce() {
        std::vector<std::thread> threads;
        for (int i = 0; i < 16; ++i)
            threads.emplace_back([this, i] {
                const Status added =
                    addKnownHost(file(), QStringLiteral("n%1").arg(i), 22, key('a'), false);
                if (!added)
                    qWarning("%s", describe(added.error()).c_str());
            });
        for (std::thread& thread : threads)
            thread.join();
        QCOMPARE(contents().count('\n'), 16);
    }

    void writesNoNameThatWouldMeanMore() {
        for (const char* name :
             {"", "n0 n1", "n0\nn1", "n0,n1", "*", "!n0", "|1|a|b", "@revoked", "#n0"}) {
            const Status added =
                addKnownHost(file(), QString::fromLatin1(name), 22, key('a'), false);
            QVERIFY2(!added.ok(), name);
            QCOMPARE(added.error().code, Code::InvalidArgument);
        }
        QVERIFY(!QFile::exists(file()));
    }

    void printsFingerprintsAsSshKeygenDoes() {
        const QString path = folder.filePath(QStringLiteral("key"));
        QProcess program;
        program.start(QStringLiteral("ssh-keygen"),
                      {QStringLiteral("-q"), QStringLiteral("-t"), QStringLiteral("ed25519"),
                       QStringLiteral("-N"), QString(), QStringLiteral("-f"), path});
        if (!program.waitForFinished() || program.exitCode() != 0)
            QSKIP("ssh-keygen (openssh-client) is missing");
        QFile file(path + QStringLiteral(".pub"));
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QByteArray blob = QByteArray::fromBase64(file.readAll().split(' ')[1]);
        program.start(QStringLiteral("ssh-keygen"),
                      {QStringLiteral("-l"), QStringLiteral("-f"), path});
        QVERIFY(program.waitForFinished());
        QCOMPARE(fingerprint(blob).toUtf8(), program.readAll().split(' ')[1]);
    }

private:
    QString file() const { return folder.filePath(QStringLiteral("known_hosts")); }
    void write(const QByteArray& bytes) {
        QFile out(file());
        QVERIFY(out.open(QIODevice::WriteOnly));
        out.write(bytes);
    }
    QByteArray contents() {
        QFile in(file());
        return in.open(QIODevice::ReadOnly) ? in.readAll() : QByteArray();
    }

    QTemporaryDir folder;
};

QTEST_GUILESS_MAIN(TestKnownHosts)
#include "tst_known_hosts.moc"
