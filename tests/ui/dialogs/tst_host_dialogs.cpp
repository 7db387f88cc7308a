// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// Adding hosts and looking at one, with pictures in build/<preset>/screens/.
#include "tests/ui/support/made_up_ssh.h"
#include "ui/dialogs/add_workers_dialog.h"
#include "ui/dialogs/host_details_dialog.h"
#include "ui/dialogs/host_key_stop.h"
#include "ui/dialogs/launch_warnings_dialog.h"
#include "ui/widgets/labels.h"
#include "ui/widgets/theme.h"

#include <QApplication>
#include <QDir>
#include <QLineEdit>
#include <QListWidget>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>

using namespace lockstep;
using namespace lockstep::ui;

namespace {

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

void savePicture(QWidget& dialog, const QString& name) {
    const QString folder = QStringLiteral(LOCKSTEP_BUILD_DIR) + QStringLiteral("/screens");
    QDir().mkpath(folder);
    dialog.show();
    QVERIFY(QTest::qWaitForWindowExposed(&dialog));
    QCoreApplication::processEvents();
    QVERIFY(dialog.grab().save(folder + QLatin1Char('/') + name + QStringLiteral(".png")));
}

void type(const QWidget& dialog, const QString& text) {
    auto* line = dialog.findChild<QLineEdit*>();
    line->setFocus();
    QTest::keyClicks(line, text);
    QTest::keyClick(line, Qt::Key_Return);
}

} // namespace

class HostDialogsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { applyTheme(*qApp, ThemeChoice::Light); }

    void addsTypedHostsByKeyboardAlone() {
        MadeUpHost host;
        AddWorkersDialog dialog(cluster::localCluster(2, 2222), madeUpAccess(&host));
        static_cast<QDialog&>(dialog).show();
        QVERIFY(QTest::qWaitForWindowExposed(&dialog));
        QVERIFY(!button(&dialog, QStringLiteral("Add workers"))->isEnabled());
        type(dialog, QStringLiteral("-oProxyCommand=x"));
        QCOMPARE(dialog.workers().size(), std::size_t{0});
        dialog.findChild<QLineEdit*>()->clear();
        type(dialog, QStringLiteral("alice@n1"));
        type(dialog, QStringLiteral("alice@n1"));
        QVERIFY(dialog.isVisible()); // Return adds a row, it does not close
        QTRY_COMPARE(dialog.workers().at(1).address, std::string("n1.lab.example:2223"));
        QCOMPARE(dialog.workers().at(0).address, std::string("n1.lab.example:2222"));
        QCOMPARE(dialog.workers().at(0).sshText(), std::string("alice@n1"));
        auto* add = button(&dialog, QStringLiteral("Add 2 workers"));
        QVERIFY(add && add->isEnabled());
        add->setFocus();
        QTest::keyClick(add, Qt::Key_Space);
        QCOMPARE(dialog.result(), static_cast<int>(QDialog::Accepted));
    }

    void ticksHostsOfTheConfiguration() {
        MadeUpHost host;
        AddWorkersDialog dialog(cluster::localCluster(0, 2222), madeUpAccess(&host));
        dialog.show(AddWorkersDialog::From::Config);
        auto* list = dialog.findChild<QListWidget*>();
        QCOMPARE(list->count(), 4);
        list->item(0)->setCheckState(Qt::Checked);
        list->item(3)->setCheckState(Qt::Checked);
        QTRY_COMPARE(dialog.workers().at(1).address, std::string("gpu-box.lab.example:2222"));
        list->item(0)->setCheckState(Qt::Unchecked);
        QCOMPARE(dialog.workers().size(), std::size_t{1});
        QCOMPARE(dialog.workers().at(0).sshText(), std::string("gpu-box"));
    }

    void namesTheColumnOfAFaultInAPastedList_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<int>("workers");
        QTest::addColumn<QString>("problem");
        QTest::addRow("blank before a comma") << QStringLiteral("h0:2 ,h1:2") << 4 << QString();
        QTest::addRow("blanks for commas") << QStringLiteral("h0:2 h1:2") << 4 << QString();
        QTest::addRow("no slots") << QStringLiteral("h0:0,h1:2") << 2
                                  << QStringLiteral("Line 1, column 4");
        QTest::addRow("blanks around") << QStringLiteral(" h0 : 2 ") << 2 << QString();
        QTest::addRow("comma at the end") << QStringLiteral("h0:2,h1:2,") << 4 << QString();
    }
    void namesTheColumnOfAFaultInAPastedList() {
        QFETCH(QString, text);
        QFETCH(int, workers);
        QFETCH(QString, problem);
        MadeUpHost host;
        AddWorkersDialog dialog(cluster::localCluster(0, 2222), madeUpAccess(&host));
        dialog.show(AddWorkersDialog::From::List);
        dialog.findChild<QPlainTextEdit*>()->setPlainText(text);
        QCOMPARE(static_cast<int>(dialog.workers().size()), workers);
        QString said;
        for (const auto* label : dialog.findChildren<ProblemLabel*>())
            said += label->text();
        if (problem.isEmpty())
            QVERIFY2(said.isEmpty(), qPrintable(said));
        else
            QVERIFY2(said.contains(problem), qPrintable(said));
    }

    void showsWarningsBeforeALaunchAndDefaultsToNone() {
        Problem busy;
        busy.severity = Severity::Warning;
        busy.message = "worker:1: n1 is busy: load 9.1 on 8 cores. All workers would wait for it.";
        busy.hint = "See with top what runs there.";
        Problem ends = busy;
        ends.message = "worker:2: n2 ends a user's programs when the last session ends "
                       "(KillUserProcesses): a run would end with the connection.\x1b[2J";
        ends.hint = "Run there: loginctl enable-linger alice";
        for (const auto& [theme, name] : {std::pair(ThemeChoice::Light, "launch_warnings_light"),
                                          std::pair(ThemeChoice::Dark, "launch_warnings_dark")}) {
            applyTheme(*qApp, theme);
            LaunchWarningsDialog dialog({busy, ends});
            savePicture(dialog, QString::fromLatin1(name));
            QVERIFY(allText(&dialog).contains(QStringLiteral("enable-linger alice")));
            QVERIFY(!allText(&dialog).contains(QChar(0x1b)));
            QVERIFY(button(&dialog, QStringLiteral("Do not launch"))->isDefault());
            QTest::keyClick(&dialog, Qt::Key_Return);
            QCOMPARE(dialog.result(), static_cast<int>(QDialog::Rejected));
            dialog.show();
            button(&dialog, QStringLiteral("Launch all the same"))->click();
            QCOMPARE(dialog.result(), static_cast<int>(QDialog::Accepted));
        }
        applyTheme(*qApp, ThemeChoice::Light);
    }

    void testsAHostAndSaysWhatItIs() {
        QTemporaryDir home;
        MadeUpHost host;
        host.home = home.path();
        HostDetailsDialog dialog(madeUpAccess(&host), *ssh::parseDestination(QStringLiteral("n1")));
        dialog.startTest();
        QVERIFY(button(&dialog, QStringLiteral("Cancel")));
        QTRY_VERIFY(button(&dialog, QStringLiteral("Test again")));
        QVERIFY(allText(&dialog).contains(QStringLiteral("n1 can be used")));
        QVERIFY(allText(&dialog).contains(QStringLiteral("n1.lab.example")));
        QVERIFY(allText(&dialog).contains(QStringLiteral("Maintenance on Sunday.")));
    }

    void stopsAtAChangedKey() {
        MadeUpHost host;
        host.refuse = Error{Code::HostKeyChanged, "The host key has changed.", "n1"};
        HostDetailsDialog dialog(madeUpAccess(&host), *ssh::parseDestination(QStringLiteral("n1")));
        dialog.show();
        dialog.startTest();
        QTRY_VERIFY(dialog.findChild<HostKeyStop*>());
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
        QTemporaryDir home;
        MadeUpHost host;
        host.home = home.path();
        AddWorkersDialog add(cluster::localCluster(2, 2222), madeUpAccess(&host));
        type(add, QStringLiteral("alice@n1"));
        type(add, QStringLiteral("n2"));
        savePicture(add, QStringLiteral("dialog-add-typed") + end);
        add.show(AddWorkersDialog::From::Config);
        add.findChild<QListWidget*>()->item(3)->setCheckState(Qt::Checked);
        savePicture(add, QStringLiteral("dialog-add-config") + end);
        add.show(AddWorkersDialog::From::List);
        add.findChild<QPlainTextEdit*>()->setPlainText(
            QStringLiteral("alice@10.0.0.4:2222, 10.0.0.5\n10.0.0.4:2222 n9:99999\n"));
        savePicture(add, QStringLiteral("dialog-add-list") + end);
        HostDetailsDialog details(madeUpAccess(&host),
                                  *ssh::parseDestination(QStringLiteral("alice@n1")));
        details.startTest();
        QTRY_VERIFY(!details.test()->isRunning());
        savePicture(details, QStringLiteral("dialog-host") + end);
        applyTheme(*qApp, ThemeChoice::Light);
    }
};

QTEST_MAIN(HostDialogsTest)
#include "tst_host_dialogs.moc"
