// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/ssh/known_hosts.h"

#include <QFile>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

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
        QTest::newRow("other port") << QByteArray("n0") << "n0" << 2222 << false;
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
        write("n0\nn0 ssh-ed25519\nn0 ssh-ed25519 !!!\n@what n0 " + text(key('a')) + "\n\xff\n");
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
