// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// What a person is asked while hosts are connected to, and pictures of it in
// build/<preset>/screens/.
#include "ui/dialogs/host_key_stop.h"
#include "ui/dialogs/host_keys_dialog.h"
#include "ui/dialogs/prompt_dialogs.h"
#include "ui/dialogs/question_dialog.h"
#include "ui/widgets/theme.h"

#include <QAbstractItemModelTester>
#include <QApplication>
#include <QCheckBox>
#include <QDir>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QTableView>
#include <QTest>

#include <map>

using namespace lockstep;
using namespace lockstep::ui;
using ssh::Question;

namespace {

Question hostKey(const QString& host, const QString& fingerprint) {
    Question question;
    question.kind = Question::Kind::HostKey;
    question.host = question.destination = host;
    question.keyType = QStringLiteral("ssh-ed25519");
    question.fingerprint = fingerprint;
    question.knownHosts = QStringLiteral("/home/alice/.ssh/known_hosts");
    return question;
}

QString madeUpFingerprint(int n) {
    return QStringLiteral("SHA256:") +
           QString::fromLatin1(
               QByteArray("n0ck3yXQ9bT1vZ5mEw").append(QByteArray::number(n)).repeated(3).left(43));
}

Question password(int round = 1) {
    Question question;
    question.kind = Question::Kind::Password;
    question.host = QStringLiteral("alice@gateway.lab");
    question.destination = QStringLiteral("alice@n1:2222");
    question.hop = 1;
    question.hops = 2;
    question.round = round;
    question.prompts = {{QStringLiteral("Password:"), false}};
    return question;
}

Question menu() {
    Question question = password(2);
    question.kind = Question::Kind::Interactive;
    question.title = QStringLiteral("Duo two-factor login");
    question.instruction = QStringLiteral("<b>Enter</b> a passcode\nor select one of these:\n"
                                          "1. push to a phone\n2. call\x1b[31m\n3. text\n");
    question.prompts = {{QStringLiteral("Passcode or option (1-3):"), true},
                        {QStringLiteral("PIN:"), false}};
    return question;
}

QPushButton* button(const QWidget* dialog, const QString& text) {
    for (auto* each : dialog->findChildren<QPushButton*>())
        if (each->text() == text)
            return each;
    return nullptr;
}

QString allText(const QWidget* dialog) {
    QStringList texts;
    for (const auto* label : dialog->findChildren<QLabel*>())
        texts.append(label->text());
    return texts.join(QLatin1Char('\n'));
}

class MadeUpStore final : public SecretStore {
public:
    void find(const QString& name, std::function<void(std::optional<QString>)> done) override {
        const auto at = secrets.find(name);
        const std::optional<QString> secret =
            at == secrets.end() ? std::nullopt : std::optional(at->second);
        QTimer::singleShot(0, [done, secret] { done(secret); });
    }
    void keep(const QString& name, const QString& secret) override { secrets[name] = secret; }
    void forget(const QString& name) override { secrets.erase(name); }
    std::map<QString, QString> secrets;
};

/// Answers as they came: by question, empty for declined.
struct Answers {
    std::map<int, std::optional<ssh::Answer>> got;
    ssh::Prompter::Done at(int n) {
        return [this, n](std::optional<ssh::Answer> answer) { got[n] = std::move(answer); };
    }
};

void savePicture(QWidget& dialog, const QString& name) {
    const QString folder = QStringLiteral(LOCKSTEP_BUILD_DIR) + QStringLiteral("/screens");
    QDir().mkpath(folder);
    dialog.show();
    QVERIFY(QTest::qWaitForWindowExposed(&dialog));
    QVERIFY(dialog.grab().save(folder + QLatin1Char('/') + name + QStringLiteral(".png")));
}

} // namespace

class PromptDialogsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { applyTheme(*qApp, ThemeChoice::Light); }

    void keepsTheRulesOfItemModels() {
        HostKeysModel model;
        const QAbstractItemModelTester tester(
            &model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        for (int i = 1; i < 5; ++i)
            model.add(static_cast<unsigned>(i),
                      hostKey(QStringLiteral("n%1").arg(i), madeUpFingerprint(i)));
        QVERIFY(model.setData(model.index(1, 0), Qt::Checked, Qt::CheckStateRole));
        model.remove(1);
        QCOMPARE(model.rowCount(), 3);
        QCOMPARE(model.ticked(), 1);
        QVERIFY(model.isTicked(2));
    }

    void showsManyHostKeysInOneDialogAndAcceptsOnlyTheTicked() {
        PromptDialogs prompts;
        Answers answers;
        for (int i = 0; i < 3; ++i)
            prompts.ask(hostKey(QStringLiteral("alice@n%1").arg(i), madeUpFingerprint(i)),
                        answers.at(i));
        QTRY_VERIFY(qobject_cast<HostKeysDialog*>(prompts.current()));
        QDialog* dialog = prompts.current();
        auto* table = dialog->findChild<QTableView*>();
        QCOMPARE(table->model()->rowCount(), 3);
        QVERIFY2(!button(dialog, QStringLiteral("Accept the ticked"))->isEnabled(),
                 "nothing is ticked by itself");
        QVERIFY(button(dialog, QStringLiteral("Accept none"))->isDefault());
        // One that comes while the dialog is open joins it.
        prompts.ask(hostKey(QStringLiteral("alice@n3"), madeUpFingerprint(3)), answers.at(3));
        QCOMPARE(table->model()->rowCount(), 4);
        table->setFocus();
        table->setCurrentIndex(table->model()->index(1, 0));
        QTest::keyClick(table, Qt::Key_Space);
        button(dialog, QStringLiteral("Accept 1 key"))->click();
        QTRY_COMPARE(answers.got.size(), std::size_t{4});
        QVERIFY(answers.got[1].has_value());
        for (const int other : {0, 2, 3})
            QVERIFY(!answers.got[other].has_value());
    }

    void offersToTickAllOnlyAfterAllRowsWereSeen() {
        HostKeysModel model;
        for (int i = 0; i < 32; ++i)
            model.add(static_cast<unsigned>(i + 1),
                      hostKey(QStringLiteral("n%1").arg(i), madeUpFingerprint(i)));
        HostKeysDialog dialog(&model);
        dialog.show();
        QVERIFY(QTest::qWaitForWindowExposed(&dialog));
        auto* all = button(&dialog, QStringLiteral("Tick all that I have seen"));
        QCoreApplication::processEvents();
        QVERIFY(!all->isEnabled());
        auto* table = dialog.findChild<QTableView*>();
        table->setFocus();
        for (int press = 0; press < 12 && !all->isEnabled(); ++press) {
            QTest::keyClick(table, Qt::Key_PageDown);
            QCoreApplication::processEvents();
        }
        QVERIFY(all->isEnabled());
        all->click();
        QCOMPARE(model.ticked(), 32);
        savePicture(dialog, QStringLiteral("dialog-host-keys-32"));
    }

    void warnsOfTwoHostsWithOneKey() {
        HostKeysModel model;
        model.add(1, hostKey(QStringLiteral("n1"), madeUpFingerprint(1)));
        model.add(2, hostKey(QStringLiteral("n2"), madeUpFingerprint(1)));
        model.add(3, hostKey(QStringLiteral("n3"), madeUpFingerprint(3)));
        QVERIFY(model.notesOf(0).join(QString()).contains(QStringLiteral("n2")));
        QVERIFY(model.notesOf(1).join(QString()).contains(QStringLiteral("n1")));
        QVERIFY(model.notesOf(2).isEmpty());
    }

    void answersAPasswordAndNamesWhoAsks() {
        PromptDialogs prompts;
        Answers answers;
        prompts.ask(password(), answers.at(0));
        QTRY_VERIFY(prompts.current());
        QDialog* dialog = prompts.current();
        QVERIFY(allText(dialog).contains(QStringLiteral("alice@gateway.lab")));
        QVERIFY(
            allText(dialog).contains(QStringLiteral("hop 1 of 2, on the way to alice@n1:2222")));
        QVERIFY2(!dialog->findChild<QCheckBox*>(), "without a keyring nothing can be remembered");
        auto* edit = dialog->findChild<QLineEdit*>();
        QCOMPARE(edit->echoMode(), QLineEdit::Password);
        QTest::keyClicks(edit, QStringLiteral("se cret"));
        QTest::keyClick(edit, Qt::Key_Return);
        QTRY_VERIFY(answers.got[0].has_value());
        QCOMPARE(answers.got[0]->replies, QStringList{QStringLiteral("se cret")});
    }

    void showsServerTextPlainInABoxAndHonoursEcho() {
        QuestionDialog dialog(menu(), QuestionDialog::Remember::NotOffered);
        const auto* text = dialog.findChild<QPlainTextEdit*>();
        QVERIFY(text->toPlainText().contains(QStringLiteral("<b>Enter</b> a passcode")));
        QVERIFY(text->toPlainText().contains(QStringLiteral("\n2. call")));
        QVERIFY(!text->toPlainText().contains(QChar(0x1b)));
        QVERIFY(allText(&dialog).contains(QStringLiteral("The server says:")));
        const auto edits = dialog.findChildren<QLineEdit*>();
        QCOMPARE(edits.size(), 2);
        QCOMPARE(edits[0]->echoMode(), QLineEdit::Normal);
        QCOMPARE(edits[1]->echoMode(), QLineEdit::Password);
        for (const auto* label : dialog.findChildren<QLabel*>())
            QCOMPARE(label->textFormat(), Qt::PlainText);
    }

    void asksOneRoundAfterTheOther() {
        PromptDialogs prompts;
        Answers answers;
        prompts.ask(password(), answers.at(0));
        prompts.ask(menu(), answers.at(1));
        QTRY_VERIFY(prompts.current());
        const QDialog* first = prompts.current();
        first->findChild<QLineEdit*>()->setText(QStringLiteral("a"));
        prompts.current()->accept();
        QTRY_VERIFY(prompts.current() && prompts.current() != first);
        QCOMPARE(answers.got[0]->replies, QStringList{QStringLiteral("a")});
        prompts.current()->reject();
        QTRY_COMPARE(answers.got.size(), std::size_t{2});
        QVERIFY(!answers.got[1].has_value());
    }

    void closesADialogThatIsNoLongerNeeded() {
        PromptDialogs prompts;
        Answers answers;
        Question touch = password();
        touch.kind = Question::Kind::Touch;
        touch.prompts.clear();
        const auto id = prompts.ask(touch, answers.at(0));
        QTRY_VERIFY(prompts.current());
        QVERIFY(allText(prompts.current()).contains(QStringLiteral("Touch your security key now")));
        prompts.withdraw(id);
        QVERIFY(!prompts.current());
        const auto key =
            prompts.ask(hostKey(QStringLiteral("n1"), madeUpFingerprint(1)), answers.at(1));
        QTRY_VERIFY(prompts.current());
        prompts.withdraw(key);
        QVERIFY(!prompts.current());
        QVERIFY2(answers.got.empty(), "a withdrawn question is not answered");
    }

    void remembersInTheKeyringOnlyWhenAskedTo() {
        MadeUpStore store;
        PromptDialogs prompts(&store);
        Answers answers;
        prompts.ask(password(), answers.at(0));
        QTRY_VERIFY(prompts.current());
        prompts.current()->findChild<QLineEdit*>()->setText(QStringLiteral("one"));
        prompts.current()->accept();
        QTRY_VERIFY(answers.got[0].has_value());
        QVERIFY(store.secrets.empty());

        prompts.ask(password(), answers.at(1));
        QTRY_VERIFY(prompts.current());
        prompts.current()->findChild<QLineEdit*>()->setText(QStringLiteral("two"));
        prompts.current()->findChild<QCheckBox*>()->setChecked(true);
        prompts.current()->accept();
        QTRY_COMPARE(store.secrets.size(), std::size_t{1});

        prompts.ask(password(), answers.at(2)); // no dialog this time
        QTRY_VERIFY(answers.got[2].has_value());
        QCOMPARE(answers.got[2]->replies, QStringList{QStringLiteral("two")});

        prompts.ask(password(2), answers.at(3)); // the remembered one was wrong
        QTRY_VERIFY(prompts.current());
        QVERIFY(store.secrets.empty());
        prompts.ask(menu(), answers.at(4));
        prompts.current()->reject();
        QTRY_VERIFY(prompts.current() &&
                    allText(prompts.current()).contains(QStringLiteral("The server says:")));
        QVERIFY2(!prompts.current()->findChild<QCheckBox*>(),
                 "never for the server's own questions");
    }

    void stopsHardAtAChangedKey() {
        const Error error{
            Code::HostKeyChanged,
            "The host key has changed. Known is SHA256:old (ssh-ed25519) from "
            "/home/alice/.ssh/known_hosts:7; the host now shows SHA256:new. Either it "
            "was installed anew, or someone stands in between. If you are sure, "
            "remove the old line with: ssh-keygen -f \"/home/alice/.ssh/known_hosts\" "
            "-R \"[n1]:2222\"",
            "alice@n1:2222"};
        HostKeyStop stop(error);
        const QString text = allText(&stop);
        for (const char* part : {"SHA256:old", "SHA256:new", "known_hosts:7", "alice@n1:2222"})
            QVERIFY2(text.contains(QLatin1String(part)), part);
        const auto buttons = stop.findChildren<QPushButton*>();
        QCOMPARE(buttons.size(), 1);
        QCOMPARE(buttons[0]->text(), QStringLiteral("Close"));
        QCOMPARE(stop.findChild<QLineEdit*>()->text(),
                 QStringLiteral("ssh-keygen -f \"/home/alice/.ssh/known_hosts\" -R \"[n1]:2222\""));
    }

    void looksAsItShould_data() {
        QTest::addColumn<bool>("dark");
        QTest::addRow("light") << false;
        QTest::addRow("dark") << true;
    }
    void looksAsItShould() {
        QFETCH(bool, dark);
        applyTheme(*qApp, dark ? ThemeChoice::Dark : ThemeChoice::Light);
        const QString end = dark ? QStringLiteral("-dark") : QStringLiteral("-light");
        HostKeysModel model;
        for (int i = 0; i < 5; ++i) {
            Question question = hostKey(QStringLiteral("alice@n%1.lab:2222").arg(i),
                                        madeUpFingerprint(i == 4 ? 1 : i));
            if (i > 1) {
                question.hop = question.hops = 2;
            }
            model.add(static_cast<unsigned>(i + 1), question);
        }
        model.setData(model.index(0, 0), Qt::Checked, Qt::CheckStateRole);
        HostKeysDialog keys(&model);
        savePicture(keys, QStringLiteral("dialog-host-keys") + end);
        QuestionDialog secret(password(2), QuestionDialog::Remember::Offered);
        savePicture(secret, QStringLiteral("dialog-password") + end);
        QuestionDialog server(menu(), QuestionDialog::Remember::NotOffered);
        savePicture(server, QStringLiteral("dialog-interactive") + end);
        HostKeyStop stop(
            {Code::HostKeyChanged,
             "The host key has changed. Known is " + madeUpFingerprint(1).toStdString() +
                 " (ssh-ed25519) from /home/alice/.ssh/known_hosts:7; the host now "
                 "shows " +
                 madeUpFingerprint(2).toStdString() +
                 ". Either it was installed anew, or someone stands in between. If you "
                 "are sure, remove the old line with: ssh-keygen -f "
                 "\"/home/alice/.ssh/known_hosts\" -R \"[n1]:2222\"",
             "alice@n1:2222"});
        savePicture(stop, QStringLiteral("dialog-key-changed") + end);
        applyTheme(*qApp, ThemeChoice::Light);
    }
};

QTEST_MAIN(PromptDialogsTest)
#include "tst_prompt_dialogs.moc"
