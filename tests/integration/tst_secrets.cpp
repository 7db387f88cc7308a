// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// K4: what a person types for a login is in no file, no argument, no variable and no log, here or
// on the hosts.
#include "tests/support/lab.h"

#include <QDir>
#include <QDirIterator>
#include <QFile>
#include <QtTest>

using lockstep::support::Lab;

namespace {

const QString kCtl = QStringLiteral(LOCKSTEP_BIN_DIR "/lockstepctl");
const QString kJob =
    QStringLiteral(LOCKSTEP_SOURCE_DIR "/resources/examples/digits/digits.job.json");
const QByteArray kPassphrase = "phrase-of-a-key-5f1c";

} // namespace

class TestSecrets : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        LOCKSTEP_NEEDS_LAB();
        m_lab = std::make_unique<Lab>(QStringList{"n0", "n1"});
        QVERIFY2(m_lab->isUp(), qPrintable(m_lab->error()));
        m_secrets = {m_lab->password().toUtf8(), kPassphrase};
        QVERIFY(m_secrets[0].size() > 7);
        // n0 wants a password, n1 a key with a passphrase.
        const QString key = m_lab->home() + "/locked_key";
        QVERIFY(QFile::copy(m_lab->clientKey(), key));
        QVERIFY(QFile::setPermissions(key, QFile::ReadOwner | QFile::WriteOwner));
        QCOMPARE(
            m_lab->onController({"ssh-keygen", "-q", "-p", "-P", "", "-N", kPassphrase, "-f", key})
                .exitCode,
            0);
        QFile config(m_lab->home() + "/secret.ssh_config");
        QVERIFY(config.open(QIODevice::WriteOnly));
        config.write("Host n0\nPubkeyAuthentication no\nHost n1\nIdentitiesOnly yes\n"
                     "PasswordAuthentication no\nIdentityFile " +
                     key.toUtf8() + "\nHost *\nInclude " + m_lab->sshConfig().toUtf8() + '\n');
        config.close();
        qputenv("LOCKSTEP_SSH_CONFIG", config.fileName().toUtf8());
        qputenv("QT_LOGGING_RULES", "*=true");
        m_cluster = m_lab->clusterFile({"n0", "n1"});
    }

    void findsWhatWasPlanted() {
        QFile planted(m_lab->hostPath("n1", "/home/bash/planted"));
        QVERIFY(planted.open(QIODevice::WriteOnly));
        planted.write("before " + m_secrets[1] + " after");
        planted.close();
        QCOMPARE(filesWithSecrets().size(), 1);
        QVERIFY(planted.remove());
        const auto sleeper = m_lab->startOnHost("n1", {"sh", "-c", "sleep 100; : " + m_secrets[1]});
        QTRY_COMPARE(processesWithSecrets().isEmpty(), false);
        sleeper->kill();
        QVERIFY(sleeper->waitForFinished(5000));
        QTRY_VERIFY(processesWithSecrets().isEmpty());
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
                if (wantsPhrase || fresh.contains("Password: ")) {
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
        QCOMPARE(answers, 2);
        QCOMPARE(seen, QStringList());
        for (const QByteArray& secret : m_secrets)
            QVERIFY2(!said.contains(secret), said.constData());
        QCOMPARE(filesWithSecrets(), QStringList());
    }

private:
    bool holdsSecret(const QByteArray& bytes) const {
        for (const QByteArray& secret : m_secrets)
            if (bytes.contains(secret))
                return true;
        return false;
    }

    /// Of the controller's home, with all that Lockstep keeps there, and wherever a host can be
    /// written.
    QStringList filesWithSecrets() const {
        QStringList folders{m_lab->home(), m_lab->path("log")};
        for (const char* host : {"n0", "n1"})
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
};

QTEST_GUILESS_MAIN(TestSecrets)
#include "tst_secrets.moc"
