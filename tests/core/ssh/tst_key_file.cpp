// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/ssh/key_file.h"

#include <QFile>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>
#include <QtEndian>

using namespace lockstep;
using namespace lockstep::ssh;
using Format = KeyFile::Format;

namespace {

QByteArray string(const QByteArray& bytes) {
    QByteArray size(4, '\0');
    qToBigEndian(static_cast<quint32>(bytes.size()), size.data());
    return size + bytes;
}

/// A file as ssh-keygen -t ed25519-sk writes it, which needs a token to be made.
QByteArray securityKey(const QByteArray& type, const QByteArray& cipher) {
    const QByteArray blob = string(type) + string(QByteArray(32, 'k')) + string("ssh:");
    const QByteArray bytes = QByteArray("openssh-key-v1\0", 15) + string(cipher) +
                             string(cipher == "none" ? "none" : "bcrypt") + string({}) +
                             QByteArray("\0\0\0\1", 4) + string(blob) + string(QByteArray(64, 'p'));
    return "-----BEGIN OPENSSH PRIVATE KEY-----\n" + bytes.toBase64() +
           "\n-----END OPENSSH PRIVATE KEY-----\n";
}

} // namespace

class TestKeyFile : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() { m_folder = std::make_unique<QTemporaryDir>(); }

    void tellsEveryKindThatSshKeygenWrites_data() {
        QTest::addColumn<QStringList>("kind");
        QTest::addColumn<QString>("type");
        QTest::addColumn<QString>("form");
        QTest::addColumn<QString>("phrase");
        const std::pair<QString, QString> kinds[] = {
            {QStringLiteral("rsa 2048"), QStringLiteral("ssh-rsa")},
            {QStringLiteral("ecdsa 256"), QStringLiteral("ecdsa-sha2-nistp256")},
            {QStringLiteral("ecdsa 384"), QStringLiteral("ecdsa-sha2-nistp384")},
            {QStringLiteral("ecdsa 521"), QStringLiteral("ecdsa-sha2-nistp521")},
            {QStringLiteral("ed25519 256"), QStringLiteral("ssh-ed25519")}};
        for (const auto& [kind, type] : kinds)
            for (const char* form : {"RFC4716", "PEM", "PKCS8"})
                for (const char* phrase : {"", "open sesame"})
                    QTest::addRow("%s %s%s", qPrintable(kind), form, *phrase ? " sealed" : "")
                        << kind.split(u' ') << type << QString::fromLatin1(form)
                        << QString::fromLatin1(phrase);
    }
    void tellsEveryKindThatSshKeygenWrites() {
        QFETCH(QStringList, kind);
        QFETCH(QString, type);
        QFETCH(QString, form);
        QFETCH(QString, phrase);
        if (!keygen({QStringLiteral("-t"), kind[0], QStringLiteral("-b"), kind[1],
                     QStringLiteral("-m"), form, QStringLiteral("-N"), phrase}))
            QSKIP("ssh-keygen (openssh-client) is missing or does not write this kind");
        const auto key = inspectKeyFile(path());
        QVERIFY(key.ok());
        // ssh-keygen writes ed25519 in OpenSSH's own format, whatever it is told.
        Format format = form == u"PEM"     ? Format::Pem
                        : form == u"PKCS8" ? Format::Pkcs8
                                           : Format::OpenSsh;
        if (kind[0] == u"ed25519")
            format = Format::OpenSsh;
        QCOMPARE(key->format, format);
        QCOMPARE(key->isEncrypted, !phrase.isEmpty());
        QCOMPARE(key->type, type);
        QVERIFY(key->hasPublicFile);
        QCOMPARE(key->publicBlob, publicBlob());
        QVERIFY(key->canBeTried());
        QCOMPARE(key->problems(), QStringList());
    }

    void tellsWhatItCanWithoutThePublicFile_data() {
        QTest::addColumn<QString>("form");
        QTest::addColumn<QString>("phrase");
        QTest::addColumn<bool>("hasType");
        QTest::addColumn<bool>("hasBlob");
        const QString none;
        const QString phrase = QStringLiteral("open sesame");
        QTest::newRow("openssh") << "RFC4716" << none << true << true;
        QTest::newRow("openssh sealed") << "RFC4716" << phrase << true << true;
        QTest::newRow("PEM") << "PEM" << none << true << false;
        QTest::newRow("PEM sealed") << "PEM" << phrase << false << false;
        QTest::newRow("PKCS8") << "PKCS8" << none << true << false;
        QTest::newRow("PKCS8 sealed") << "PKCS8" << phrase << false << false;
    }
    void tellsWhatItCanWithoutThePublicFile() {
        QFETCH(QString, form);
        QFETCH(QString, phrase);
        QFETCH(bool, hasType);
        QFETCH(bool, hasBlob);
        if (!keygen({QStringLiteral("-t"), QStringLiteral("ecdsa"), QStringLiteral("-m"), form,
                     QStringLiteral("-N"), phrase}))
            QSKIP("ssh-keygen (openssh-client) is missing");
        const QByteArray blob = publicBlob();
        QVERIFY(QFile::remove(path() + QStringLiteral(".pub")));
        const auto key = inspectKeyFile(path());
        QVERIFY(key.ok());
        QVERIFY(!key->hasPublicFile);
        QCOMPARE(key->isEncrypted, !phrase.isEmpty());
        QCOMPARE(key->type, hasType ? QStringLiteral("ecdsa-sha2-nistp256") : QString());
        QCOMPARE(key->publicBlob, hasBlob ? blob : QByteArray());
    }

    void sendsSecurityKeysToTheAgent_data() {
        QTest::addColumn<QByteArray>("type");
        QTest::addColumn<QByteArray>("cipher");
        QTest::newRow("ed25519") << QByteArray("sk-ssh-ed25519@openssh.com") << QByteArray("none");
        QTest::newRow("ed25519 sealed")
            << QByteArray("sk-ssh-ed25519@openssh.com") << QByteArray("aes256-ctr");
        QTest::newRow("ecdsa") << QByteArray("sk-ecdsa-sha2-nistp256@openssh.com")
                               << QByteArray("none");
    }
    void sendsSecurityKeysToTheAgent() {
        QFETCH(QByteArray, type);
        QFETCH(QByteArray, cipher);
        write(securityKey(type, cipher));
        const auto key = inspectKeyFile(path());
        QVERIFY(key.ok());
        QCOMPARE(key->type.toLatin1(), type);
        QCOMPARE(key->isEncrypted, cipher != "none");
        QVERIFY(key->isSecurityKey());
        QVERIFY(!key->canBeTried());
        QVERIFY(key->problems().join(u' ').contains(QStringLiteral("ssh-add ") + path()));
    }

    void tellsOfModesThatSshRefuses() {
        write(securityKey("ssh-ed25519", "none"));
        QVERIFY(inspectKeyFile(path())->canBeTried());
        QFile::setPermissions(path(), QFileDevice::ReadOwner | QFileDevice::WriteOwner |
                                          QFileDevice::ReadGroup | QFileDevice::ReadOther);
        const auto key = inspectKeyFile(path());
        QVERIFY(key->isTooOpen);
        QVERIFY(!key->canBeTried());
        QVERIFY(key->problems().join(u' ').contains(QStringLiteral("mode 0644")));
        QVERIFY(key->problems().join(u' ').contains(QStringLiteral("chmod 600 ") + path()));
    }

    void tellsFilesThatAreNoPrivateKeys_data() {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<Format>("format");
        const QByteArray good = securityKey("ssh-ed25519", "none");
        QTest::newRow("empty") << QByteArray() << Format::Other;
        QTest::newRow("text") << QByteArray("hello there\n") << Format::Other;
        QTest::newRow("zeros") << QByteArray(1000, '\0') << Format::Other;
        QTest::newRow("certificate")
            << QByteArray("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
            << Format::Other;
        QTest::newRow("cut off") << good.left(60) << Format::Other;
        QTest::newRow("cut inside") << good.left(60) + "\n-----END OPENSSH PRIVATE KEY-----\n"
                                    << Format::Other;
        QTest::newRow("PuTTY") << QByteArray("PuTTY-User-Key-File-3: ssh-ed25519\n")
                               << Format::Putty;
        QTest::newRow("public")
            << "ssh-ed25519 " + (string("ssh-ed25519") + string(QByteArray(32, 'k'))).toBase64() +
                   " alice@n0\n"
            << Format::PublicOnly;
    }
    void tellsFilesThatAreNoPrivateKeys() {
        QFETCH(QByteArray, bytes);
        QFETCH(Format, format);
        write(bytes);
        const auto key = inspectKeyFile(path());
        QVERIFY(key.ok());
        QCOMPARE(key->format, format);
        QVERIFY(!key->canBeTried());
        QCOMPARE(key->problems().size(), 1);
        QCOMPARE(key->publicBlob.isEmpty(), format != Format::PublicOnly);
    }

    void believesThePrivateFileRatherThanAForeignPublicOne() {
        write(securityKey("ssh-ed25519", "none"));
        const QByteArray own = inspectKeyFile(path())->publicBlob;
        QFile foreign(path() + QStringLiteral(".pub"));
        QVERIFY(foreign.open(QIODevice::WriteOnly));
        foreign.write("ssh-rsa " + (string("ssh-rsa") + string("x")).toBase64() + "\n");
        foreign.close();
        QCOMPARE(inspectKeyFile(path())->publicBlob, own);
        QCOMPARE(inspectKeyFile(path())->type, QStringLiteral("ssh-ed25519"));
    }

    void saysWhyAFileCannotBeRead() {
        QCOMPARE(inspectKeyFile(path()).error().code, Code::NotFound);
        QCOMPARE(inspectKeyFile(m_folder->path()).error().code, Code::InvalidArgument);
    }

private:
    QString path() const { return m_folder->filePath(QStringLiteral("key")); }
    void write(const QByteArray& bytes) {
        QFile file(path());
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(bytes);
        file.close();
        file.setPermissions(QFileDevice::ReadOwner | QFileDevice::WriteOwner);
    }
    bool keygen(QStringList words) {
        QProcess program;
        program.start(QStringLiteral("ssh-keygen"),
                      words << QStringLiteral("-q") << QStringLiteral("-f") << path());
        return program.waitForFinished() && program.exitStatus() == QProcess::NormalExit &&
               program.exitCode() == 0;
    }
    QByteArray publicBlob() const {
        QFile file(path() + QStringLiteral(".pub"));
        return file.open(QIODevice::ReadOnly)
                   ? QByteArray::fromBase64(file.readAll().split(' ').value(1))
                   : QByteArray();
    }

    std::unique_ptr<QTemporaryDir> m_folder;
};

QTEST_GUILESS_MAIN(TestKeyFile)
#include "tst_key_file.moc"
