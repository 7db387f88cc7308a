// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// The window's own dialogs between a person and a real sshd on loopback.
#include "core/ssh/ssh_client.h"
#include "tests/core/ssh/scripted.h"
#include "tests/support/sshd.h"
#include "ui/dialogs/host_details_dialog.h"
#include "ui/dialogs/host_key_stop.h"
#include "ui/dialogs/host_keys_dialog.h"
#include "ui/dialogs/prompt_dialogs.h"
#include "ui/dialogs/question_dialog.h"
#include "ui/widgets/theme.h"

#include <QAbstractItemView>
#include <QApplication>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QTest>

#include <memory>

using namespace lockstep;
using namespace lockstep::ui;

namespace {

constexpr int kPatience = 20'000;

QByteArray contents(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

} // namespace

class RealSshdTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() {
        SKIP_OR_FAIL_WITHOUT(support::missingSshd());
        applyTheme(*qApp, ThemeChoice::Light);
        m_sshd = std::make_unique<support::Sshd>();
        QVERIFY2(m_sshd->isRunning(), qPrintable(m_sshd->log()));
    }

    void acceptsAnUnknownKeyThatAPersonTickedAndWritesIt() {
        const QString config = m_sshd->writeConfig(QStringLiteral("n0"), {}, false);
        QFile::remove(m_sshd->knownHosts());
        PromptDialogs prompts;
        ssh::SshOptions options;
        options.resolve.configFile = config;
        ssh::SshClient client(options, &prompts);
        HostDetailsDialog details(accessThrough(&client, options.resolve), n0());
        details.startTest();
        QTRY_VERIFY_WITH_TIMEOUT(qobject_cast<HostKeysDialog*>(prompts.current()), kPatience);
        QCOMPARE(details.test()->state(), ConnectionTest::State::Asking);
        auto* model = prompts.current()->findChild<QAbstractItemView*>()->model();
        QCOMPARE(model->index(0, HostKeysModel::Fingerprint).data().toString(),
                 m_sshd->fingerprint());
        model->setData(model->index(0, 0), Qt::Checked, Qt::CheckStateRole);
        prompts.current()->accept();
        QTRY_VERIFY_WITH_TIMEOUT(!details.test()->isRunning(), kPatience);
        QVERIFY2(details.test()->state() == ConnectionTest::State::Passed,
                 qPrintable(details.test()->words()));
        QVERIFY(!details.test()->facts().isEmpty());
        QVERIFY(contents(m_sshd->knownHosts()).contains("ssh-ed25519 "));
    }

    void connectsNowhereWhenAPersonDeclines() {
        const QString config = m_sshd->writeConfig(QStringLiteral("n0"), {}, false);
        QFile::remove(m_sshd->knownHosts());
        PromptDialogs prompts;
        ssh::SshOptions options;
        options.resolve.configFile = config;
        ssh::SshClient client(options, &prompts);
        ConnectionTest test(accessThrough(&client, options.resolve));
        test.start(n0());
        QTRY_VERIFY_WITH_TIMEOUT(prompts.current(), kPatience);
        prompts.current()->reject();
        QTRY_VERIFY_WITH_TIMEOUT(!test.isRunning(), kPatience);
        QCOMPARE(test.error()->code, Code::HostKeyUnknown);
        QVERIFY(contents(m_sshd->knownHosts()).isEmpty());
    }

    void closesTheDialogWhenTheTestIsCancelled() {
        const QString config = m_sshd->writeConfig(QStringLiteral("n0"), {}, false);
        QFile::remove(m_sshd->knownHosts());
        PromptDialogs prompts;
        ssh::SshOptions options;
        options.resolve.configFile = config;
        ssh::SshClient client(options, &prompts);
        ConnectionTest test(accessThrough(&client, options.resolve));
        test.start(n0());
        QTRY_VERIFY_WITH_TIMEOUT(prompts.current(), kPatience);
        test.cancel();
        QTRY_VERIFY_WITH_TIMEOUT(!prompts.current(), 1000);
    }

    void unlocksAKeyWithItsPassphraseAfterAWrongOne() {
        const QString key = m_sshd->makeKey(QStringLiteral("locked"),
                                            {QStringLiteral("-t"), QStringLiteral("ed25519"),
                                             QStringLiteral("-N"), QStringLiteral("open sesame")});
        m_sshd->authorize(key);
        QFile config(m_sshd->writeConfig(QStringLiteral("n0")));
        QByteArray text = contents(config.fileName());
        text.replace(m_sshd->clientKey().toUtf8(), key.toUtf8());
        QVERIFY(config.open(QIODevice::WriteOnly));
        config.write(text);
        config.close();
        PromptDialogs prompts;
        ssh::SshOptions options;
        options.resolve.configFile = config.fileName();
        ssh::SshClient client(options, &prompts);
        ConnectionTest test(accessThrough(&client, options.resolve));
        test.start(n0());
        for (const char* phrase : {"wrong", "open sesame"}) {
            QTRY_VERIFY_WITH_TIMEOUT(qobject_cast<QuestionDialog*>(prompts.current()), kPatience);
            prompts.current()->findChild<QLineEdit*>()->setText(QString::fromLatin1(phrase));
            prompts.current()->accept();
        }
        QTRY_VERIFY_WITH_TIMEOUT(!test.isRunning(), kPatience);
        QVERIFY2(test.state() == ConnectionTest::State::Passed, qPrintable(test.words()));
    }

    void answersTwoRoundsOfTheServersQuestions() {
        SKIP_OR_FAIL_WITHOUT(support::missingAccounts());
        support::Sshd sshd({QStringLiteral("UsePAM yes"), QStringLiteral("PubkeyAuthentication no"),
                            QStringLiteral("PasswordAuthentication no"),
                            QStringLiteral("KbdInteractiveAuthentication yes")},
                           {{QStringLiteral("alice"), QStringLiteral("lab")}});
        QVERIFY2(sshd.isRunning(), qPrintable(sshd.log()));
        PromptDialogs prompts;
        ssh::SshOptions options;
        options.resolve.configFile =
            sshd.writeConfig(QStringLiteral("n0"), {QStringLiteral("  User alice")});
        ssh::SshClient client(options, &prompts);
        ConnectionTest test(accessThrough(&client, options.resolve));
        test.start(*ssh::parseDestination(QStringLiteral("alice@n0")));
        for (const char* reply : {"lab", "1"}) {
            QTRY_VERIFY2_WITH_TIMEOUT(qobject_cast<QuestionDialog*>(prompts.current()),
                                      qPrintable(test.words()), kPatience);
            prompts.current()->findChild<QLineEdit*>()->setText(QString::fromLatin1(reply));
            prompts.current()->accept();
        }
        QTRY_VERIFY_WITH_TIMEOUT(!test.isRunning(), kPatience);
        QVERIFY2(test.state() == ConnectionTest::State::Passed, qPrintable(test.words()));
    }

    void stopsAtAKeyThatChanged() {
        const QString config = m_sshd->writeConfig(QStringLiteral("n0"));
        const QString old = m_sshd->fingerprint();
        m_sshd->changeHostKey();
        PromptDialogs prompts;
        ssh::SshOptions options;
        options.resolve.configFile = config;
        ssh::SshClient client(options, &prompts);
        HostDetailsDialog details(accessThrough(&client, options.resolve), n0());
        details.show();
        details.startTest();
        QTRY_VERIFY_WITH_TIMEOUT(details.findChild<HostKeyStop*>(), kPatience);
        QString said;
        for (const auto* label : details.findChild<HostKeyStop*>()->findChildren<QLabel*>())
            said += label->text();
        QVERIFY(said.contains(old));
        QVERIFY(said.contains(m_sshd->fingerprint()));
        QVERIFY(said.contains(m_sshd->knownHosts() + QStringLiteral(":1")));
        QVERIFY(!prompts.current());
    }

private:
    static ssh::Destination n0() { return *ssh::parseDestination(QStringLiteral("n0")); }
    std::unique_ptr<support::Sshd> m_sshd;
};

QTEST_MAIN(RealSshdTest)
#include "tst_real_sshd.moc"
