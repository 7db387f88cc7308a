// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// K4: what a person types for a login is in no file, no argument, no variable and no log, here or
// on the hosts.
#include "tests/support/lab.h"

#include <QDir>
#include <QDirIterator>
#include <QFile>
#include <QtTest>

#include <algorithm>

using lockstep::support::Lab;

namespace {

const QString kCtl = QStringLiteral(LOCKSTEP_BIN_DIR "/lockstepctl");
const QString kJob =
    QStringLiteral(LOCKSTEP_SOURCE_DIR "/resources/examples/digits/digits.job.json");
const QByteArray kPassphrase = "phrase-of-a-key-5f1c";
const QStringList kHosts{"n0", "n1", "n2"};

/// As QString keeps an ASCII text; without the ends, for either order of bytes.
QByteArray utf16(const QByteArray& ascii) {
    QByteArray wide;
    for (const char c : ascii)
        wide += QByteArray(1, c) + QByteArray(1, '\0');
    wide.chop(1);
    return wide;
}

/// As it stands, as Qt's own texts, and in the usual codes.
QList<QByteArray> formsOf(const QByteArray& secret) {
    QList<QByteArray> forms{secret, utf16(secret), secret.toHex()};
    // Base64 of it within other bytes: what each of the three places leaves unchanged.
    for (int before = 0; before < 3; ++before) {
        const QByteArray code = (QByteArray(before, 'x') + secret).toBase64();
        forms +=
            code.mid(before == 0 ? 0 : 4, (before + secret.size()) / 3 * 4 - (before == 0 ? 0 : 4));
    }
    return forms;
}

} // namespace

class TestSecrets : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        LOCKSTEP_NEEDS_LAB();
        m_lab = std::make_unique<Lab>(kHosts);
        QVERIFY2(m_lab->isUp(), qPrintable(m_lab->error()));
        m_secrets = {m_lab->password().toUtf8(), kPassphrase};
        QVERIFY(m_secrets[0].size() > 7);
        for (const QByteArray& secret : m_secrets)
            m_forms += formsOf(secret);
        // n0 wants a password, n1 a key with a passphrase, n2 asks on its own.
        const QString key = m_lab->home() + "/locked_key";
        QVERIFY(QFile::copy(m_lab->clientKey(), key));
        QVERIFY(QFile::setPermissions(key, QFile::ReadOwner | QFile::WriteOwner));
        QCOMPARE(
            m_lab->onController({"ssh-keygen", "-q", "-p", "-P", "", "-N", kPassphrase, "-f", key})
                .exitCode,
            0);
        QFile config(m_lab->home() + "/secret.ssh_config");
        QVERIFY(config.open(QIODevice::WriteOnly));
        config.write("Host n0\nPreferredAuthentications password\n"
                     "Host n2\nPreferredAuthentications keyboard-interactive\n"
                     "Host n1\nIdentitiesOnly yes\nPreferredAuthentications publickey\n"
                     "IdentityFile " +
                     key.toUtf8() + "\nHost *\nInclude " + m_lab->sshConfig().toUtf8() + '\n');
        config.close();
        qputenv("LOCKSTEP_SSH_CONFIG", config.fileName().toUtf8());
        qputenv("QT_LOGGING_RULES", "*=true");
        QVERIFY(QDir(m_lab->home()).mkpath("tmp"));
        qputenv("TMPDIR", (m_lab->home() + "/tmp").toUtf8()); // looked through with the rest
        m_cluster = m_lab->clusterFile(kHosts);
    }

    void findsWhatWasPlanted() {
        QFile planted(m_lab->hostPath("n1", "/home/bash/planted"));
        for (const QByteArray& secret : m_secrets)
            for (const QByteArray& form :
                 {secret, secret.toHex(), secret.toBase64(), ("x" + secret).toBase64(),
                  ("xy" + secret).toBase64(), utf16(secret)}) {
                QVERIFY(planted.open(QIODevice::WriteOnly));
                planted.write("before " + form + " after");
                planted.close();
                QCOMPARE(filesWithSecrets(), QStringList{planted.fileName()});
            }
        QVERIFY(planted.remove());
        QCOMPARE(filesWithSecrets(), QStringList());
        const auto argument =
            m_lab->startOnHost("n1", {"sh", "-c", "sleep 100; : " + m_secrets[1]});
        QTRY_VERIFY(processesWithSecrets().filter("cmdline").size() > 0);
        argument->kill();
        QVERIFY(argument->waitForFinished(5000));
        QTRY_COMPARE(processesWithSecrets(), QStringList());
        const auto variable =
            m_lab->startOnHost("n1", {"env", "PLANTED=" + m_secrets[0], "sleep", "100"});
        QTRY_VERIFY(processesWithSecrets().filter("environ").size() > 0);
        variable->kill();
        QVERIFY(variable->waitForFinished(5000));
        QTRY_COMPARE(processesWithSecrets(), QStringList());
    }

    void keepsThemInMemoryAlone_data() {
        QTest::addColumn<QStringList>("words");
        QTest::newRow("check") << QStringList{"check", m_cluster};
        QTest::newRow("push") << QStringList{"push", m_cluster};
        QTest::newRow("run") << QStringList{"run",   kJob,    "--cluster",    m_cluster,
                                            "--yes", "--set", "fit.epochs=40"};
    }
    void keepsThemInMemoryAlone() {
        QFETCH(QStringList, words);
        const auto program = m_lab->startOnController(
            {"script", "-qec", (QStringList{kCtl} + words).join(' '), "/dev/null"});
        QByteArray said;
        qsizetype answered = 0;
        int answers = 0;
        QStringList seen;
        const bool ended = QTest::qWaitFor(
            [&] {
                said += program->readAllStandardOutput() + program->readAllStandardError();
                // Log lines come between: a prompt need not stand at the end.
                const QByteArray fresh = said.mid(answered);
                const bool wantsPhrase = fresh.contains("assphrase ");
                if (wantsPhrase || fresh.contains("Password: ") || fresh.contains("Password of ")) {
                    program->write((wantsPhrase ? m_secrets[1] : m_secrets[0]) + '\n');
                    answered = said.size();
                    ++answers;
                }
                if (answers > 0)
                    seen += processesWithSecrets();
                return program->state() == QProcess::NotRunning;
            },
            40'000);
        QVERIFY2(ended, said.constData());
        said += program->readAllStandardOutput();
        QVERIFY2(program->exitCode() == 0, said.constData());
        QCOMPARE(answers, 3);
        const QStringList ways{"password", "publickey", "keyboard-interactive/pam"};
        for (qsizetype i = 0; i < kHosts.size(); ++i) {
            const QString log = m_lab->log(kHosts[i]);
            QVERIFY2(log.contains("Accepted " + ways[i] + " for "), qPrintable(log.right(2000)));
        }
        QCOMPARE(seen, QStringList());
        QVERIFY2(!holdsSecret(said), said.constData());
        QCOMPARE(filesWithSecrets(), QStringList());
    }

private:
    bool holdsSecret(const QByteArray& bytes) const {
        return std::any_of(m_forms.begin(), m_forms.end(),
                           [&](const QByteArray& form) { return bytes.contains(form); });
    }

    /// Of the controller's home, with all that Lockstep keeps there, and wherever a host can be
    /// written.
    QStringList filesWithSecrets() const {
        QStringList folders{m_lab->home(), m_lab->path("log")};
        for (const QString& host : kHosts)
            for (const char* folder : {"/home", "/root", "/run", "/tmp", "/var", "/dev/shm"})
                folders += m_lab->hostPath(host, folder);
        QStringList found;
        for (const QString& folder : folders) {
            QDirIterator each(folder, QDir::Files | QDir::Hidden, QDirIterator::Subdirectories);
            while (each.hasNext()) {
                QFile file(each.next());
                if (!file.open(QIODevice::ReadOnly) || holdsSecret(file.readAll()))
                    found += file.fileName();
            }
        }
        return found;
    }

    /// Arguments and variables of every process of the machine.
    QStringList processesWithSecrets() const {
        QStringList found;
        for (const QString& pid : QDir("/proc").entryList({"[1-9]*"}, QDir::Dirs))
            for (const char* name : {"cmdline", "environ"}) {
                QFile file("/proc/" + pid + '/' + name);
                if (file.open(QIODevice::ReadOnly) && holdsSecret(file.readAll()))
                    found += file.fileName();
            }
        return found;
    }

    std::unique_ptr<Lab> m_lab;
    QString m_cluster;
    QList<QByteArray> m_secrets;
    QList<QByteArray> m_forms;
};

QTEST_GUILESS_MAIN(TestSecrets)
#include "tst_secrets.moc"
