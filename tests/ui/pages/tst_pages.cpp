// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/json_reader.h"
#include "tests/ui/support/made_up_check.h"
#include "tests/ui/support/made_up_run.h"
#include "tests/ui/support/made_up_ssh.h"
#include "ui/dialogs/add_workers_dialog.h"
#include "ui/dialogs/host_details_dialog.h"
#include "ui/models/run_desk.h"
#include "ui/pages/check_page.h"
#include "ui/pages/cluster_page.h"
#include "ui/pages/job_page.h"
#include "ui/pages/monitor_page.h"
#include "ui/pages/runs_page.h"
#include "ui/widgets/theme.h"

#include <QAbstractButton>
#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QPlainTextEdit>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTableView>
#include <QTest>
#include <QUndoStack>

using namespace lockstep;
using namespace lockstep::ui;

namespace {

QWidget* named(const QWidget& page, const QString& name) {
    for (auto* widget : page.findChildren<QWidget*>())
        if (widget->accessibleName() == name)
            return widget;
    return nullptr;
}

QAbstractButton* button(const QWidget& page, const QString& text) {
    for (auto* each : page.findChildren<QAbstractButton*>())
        if (each->text() == text)
            return each;
    return nullptr;
}

void expose(QWidget& page) {
    page.resize(1000, 640);
    page.show();
    QVERIFY(QTest::qWaitForWindowExposed(&page));
}

} // namespace

class PagesTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { applyTheme(*qApp, ThemeChoice::Light); }

    void everyControlHasANameForScreenReaders() {
        Workspace workspace;
        MadeUpLibrary library;
        library.set(madeUpHistory());
        RunDesk desk(
            &workspace, [] { return std::make_unique<MadeUpSession>(); }, &library);
        MadeUpHost host;
        ClusterPage cluster(&workspace, madeUpAccess(&host));
        JobPage job(&workspace);
        MonitorPage monitor(&desk);
        RunsPage runs(&desk);
        MadeUpCheck session;
        session.set(madeUpCheckView(3));
        CheckPage check(&workspace, &session);
        for (const QWidget* page : {static_cast<QWidget*>(&cluster), static_cast<QWidget*>(&job),
                                    static_cast<QWidget*>(&monitor), static_cast<QWidget*>(&runs),
                                    static_cast<QWidget*>(&check)})
            for (const auto* widget : page->findChildren<QWidget*>()) {
                const bool isControl = qobject_cast<const QAbstractButton*>(widget) ||
                                       qobject_cast<const QComboBox*>(widget) ||
                                       qobject_cast<const QSpinBox*>(widget) ||
                                       qobject_cast<const QAbstractItemView*>(widget) ||
                                       qobject_cast<const QPlainTextEdit*>(widget) ||
                                       (qobject_cast<const QLineEdit*>(widget) &&
                                        !qobject_cast<const QSpinBox*>(widget->parent()));
                if (!isControl || widget->objectName().startsWith(QStringLiteral("qt_")) ||
                    widget->inherits("QComboBoxListView") ||
                    widget->inherits("QTableCornerButton") || widget->inherits("QHeaderView"))
                    continue;
                const auto* asButton = qobject_cast<const QAbstractButton*>(widget);
                const bool hasName = !widget->accessibleName().isEmpty() ||
                                     (asButton && !asButton->text().isEmpty());
                QVERIFY2(hasName, widget->metaObject()->className());
            }
    }

    void checksOnRequestAndShowsWhatWasFound() {
        Workspace workspace;
        MadeUpCheck session;
        CheckPage page(&workspace, &session);
        expose(page);
        button(page, QStringLiteral("Check the cluster"))->click();
        QCOMPARE(session.starts, 1);
        button(page, QStringLiteral("Cancel"))->click();
        QVERIFY(!session.view().isRunning);
        session.set(madeUpCheckView(4));
        QVERIFY(button(page, QStringLiteral("Check again")));
        auto* pairs = static_cast<QTableView*>(
            named(page, QStringLiteral("Pairs: the row dials the column")));
        pairs->setFocus();
        pairs->setCurrentIndex(pairs->model()->index(0, 0));
        QTest::keyClick(pairs, Qt::Key_Right);
        const auto* words =
            static_cast<QLabel*>(named(page, QStringLiteral("The chosen pair in words")));
        QVERIFY(words->text().contains(QStringLiteral("silently dropped")));
        button(page, QStringLiteral("Measure bandwidth"))->click();
        QVERIFY(session.measured);
        session.cancel();
        QSignalSpy noticed(&page, &Page::noticed);
        button(page, QStringLiteral("Push TF_CONFIG"))->click();
        QVERIFY(!button(page, QStringLiteral("Push TF_CONFIG"))->isEnabled());
        session.pushed({});
        QCOMPARE(noticed.size(), 1);
        QVERIFY(button(page, QStringLiteral("Push TF_CONFIG"))->isEnabled());
    }

    void addsHostsAsOneStepOfUndoAndTestsThem() {
        Workspace workspace;
        MadeUpHost host;
        host.home = QStringLiteral("/");
        ClusterPage page(&workspace, madeUpAccess(&host));
        expose(page);
        auto* test = button(page, QStringLiteral("Test connection"));
        QVERIFY2(!test->isVisible(), "this machine needs no connection");
        button(page, QStringLiteral("Add hosts"))->click();
        auto* dialog = page.findChild<AddWorkersDialog*>();
        QVERIFY(dialog);
        auto* line = dialog->findChild<QLineEdit*>();
        for (const char* typed : {"alice@n1", "n2"}) {
            QTest::keyClicks(line, QString::fromLatin1(typed));
            QTest::keyClick(line, Qt::Key_Return);
        }
        QTRY_COMPARE(dialog->workers().at(1).address, std::string("n2.lab.example:2222"));
        QSignalSpy noticed(&page, &Page::noticed);
        dialog->accept();
        QCOMPARE(workspace.cluster().size(), std::size_t{4});
        QCOMPARE(workspace.cluster().workers()[2].sshText(), std::string("alice@n1"));
        QCOMPARE(noticed.size(), 1);
        QVERIFY(noticed[0][1].toBool());
        QVERIFY(test->isVisible());
        test->click();
        auto* details = page.findChild<HostDetailsDialog*>();
        QVERIFY(details);
        QTRY_COMPARE(details->test()->state(), ConnectionTest::State::Passed);
        details->reject();
        workspace.undoStack()->undo();
        QCOMPARE(workspace.cluster().size(), std::size_t{2});
    }

    void makesLocalWorkersInOneClickAndUndoesIt() {
        Workspace workspace;
        ClusterPage page(&workspace);
        expose(page);
        static_cast<QSpinBox*>(named(page, QStringLiteral("Number of local workers")))->setValue(5);
        QSignalSpy noticed(&page, &Page::noticed);
        button(page, QStringLiteral("Local workers"))->click();
        QCOMPARE(workspace.cluster().size(), std::size_t{5});
        QCOMPARE(noticed.size(), 1);
        QVERIFY(noticed[0][1].toBool());
        workspace.undoStack()->undo();
        QCOMPARE(workspace.cluster().size(), std::size_t{2});
    }

    void reordersAndRemovesByKeyboard() {
        Workspace workspace;
        ClusterPage page(&workspace);
        expose(page);
        button(page, QStringLiteral("Local workers"))->click();
        const auto before = workspace.cluster().workers();
        auto* list = page.findChild<QListView*>();
        list->setFocus();
        QTRY_VERIFY(list->hasFocus());
        QTest::keyClick(list, Qt::Key_Down, Qt::AltModifier);
        QCOMPARE(workspace.cluster().workers()[1].address, before[0].address);
        QCOMPARE(list->currentIndex().row(), 1);
        QTest::keyClick(list, Qt::Key_Up, Qt::AltModifier);
        QCOMPARE(workspace.cluster().workers()[0].address, before[0].address);
        QTest::keyClick(list, Qt::Key_Delete);
        QCOMPARE(workspace.cluster().size(), before.size() - 1);
        QCOMPARE(workspace.cluster().workers()[0].address, before[1].address);
    }

    void showsTheTfConfigOfTheSelectedTaskAsItIsTyped() {
        Workspace workspace;
        ClusterPage page(&workspace);
        expose(page);
        auto* code = static_cast<QPlainTextEdit*>(
            named(page, QStringLiteral("TF_CONFIG of the selected task")));
        auto* address =
            static_cast<QLineEdit*>(named(page, QStringLiteral("Address for the other workers")));
        address->setFocus();
        address->selectAll();
        QTest::keyClicks(address, QStringLiteral("10.0.0.9:4000"));
        QVERIFY(code->toPlainText().contains(QStringLiteral("10.0.0.9:4000")));
        QCOMPARE(address->text(), QStringLiteral("10.0.0.9:4000"));
        named(page, QStringLiteral("Copy TF_CONFIG as it is sent"));
        static_cast<QAbstractButton*>(named(page, QStringLiteral("Copy TF_CONFIG as it is sent")))
            ->click();
        const auto task = workspace.cluster().workers()[0].task;
        QCOMPARE(QApplication::clipboard()->text().toStdString(),
                 cluster::tfConfigFor(workspace.cluster(), task)->dump());
        workspace.undoStack()->undo(); // the whole typing
        QVERIFY(!code->toPlainText().contains(QStringLiteral("10.0.0.9")));
    }

    void computesTheJobAsItIsTyped() {
        Workspace workspace;
        JobPage page(&workspace);
        expose(page);
        auto* epochs = static_cast<QLineEdit*>(named(page, QStringLiteral("Epochs")));
        epochs->setFocus();
        epochs->selectAll();
        QTest::keyClicks(epochs, QStringLiteral("12"));
        QTest::keyClick(epochs, Qt::Key_Return);
        QCOMPARE(workspace.job().fit.epochs, 12);
        auto* batch = static_cast<QLineEdit*>(named(page, QStringLiteral("Batch size")));
        batch->setFocus();
        batch->selectAll();
        QTest::keyClicks(batch, QStringLiteral("48"));
        QTest::keyClick(batch, Qt::Key_Return);
        QCOMPARE(workspace.batching().globalBatch, 48);
        button(page, QStringLiteral("Per replica"))->click();
        QCOMPARE(workspace.job().fit.batchSizePerReplica, std::optional<std::int64_t>(48));
        bool shown = false;
        for (const auto* label : page.findChildren<QLabel*>())
            shown = shown || label->text() == QStringLiteral("96");
        QVERIFY2(shown, "the panel shows the global batch of two replicas");
    }

    void editsAProgramOfTheUsersOwn() {
        Workspace workspace;
        QVERIFY(workspace
                    .setJobText(QStringLiteral(
                        R"({"format": "lockstep-job", "version": 1, "name": "own",
                            "kind": "command", "argv": ["python3", "train.py"],
                            "env": {"A": "1"}, "push": {"folder": "src", "ignore": ["*.log"]}})"))
                    .ok());
        JobPage page(&workspace);
        expose(page);
        const auto lines = [&](const char* name) {
            return static_cast<QPlainTextEdit*>(named(page, QString::fromLatin1(name)));
        };
        auto* argv = lines("Program and arguments, one a line");
        QCOMPARE(argv->toPlainText(), QStringLiteral("python3\ntrain.py"));
        argv->setFocus();
        argv->moveCursor(QTextCursor::End);
        QTest::keyClick(argv, Qt::Key_Return); // no word yet
        QCOMPARE(workspace.job().command.argv.size(), std::size_t{2});
        QTest::keyClicks(argv, QStringLiteral("two words"));
        QCOMPARE(workspace.job().command.argv,
                 (std::vector<std::string>{"python3", "train.py", "two words"}));
        auto* variables = lines("Variables, NAME=VALUE");
        QCOMPARE(variables->toPlainText(), QStringLiteral("A=1"));
        variables->setFocus();
        variables->moveCursor(QTextCursor::End);
        QTest::keyClick(variables, Qt::Key_Return);
        QTest::keyClicks(variables, QStringLiteral("B=x=y"));
        QCOMPARE(workspace.job().command.env, (job::Variables{{"A", "1"}, {"B", "x=y"}}));
        auto* push = static_cast<QLineEdit*>(
            named(page, QStringLiteral("Folder to push, from the job's folder on")));
        push->setFocus();
        push->selectAll();
        QTest::keyClicks(push, QStringLiteral("code"));
        QCOMPARE(workspace.job().command.push->folder, std::string("code"));
        QCOMPARE(workspace.job().command.push->ignore, std::vector<std::string>{"*.log"});
        // What only a model has is not asked for.
        QVERIFY(!named(page, QStringLiteral("Epochs"))->isVisible());
        QVERIFY(argv->isVisible());
        while (workspace.undoStack()->canUndo())
            workspace.undoStack()->undo();
        QVERIFY(!argv->isVisible());
        QVERIFY(named(page, QStringLiteral("Epochs"))->isVisible());
    }

    void keepsTheJsonInStepBothWays() {
        Workspace workspace;
        JobPage page(&workspace);
        expose(page);
        page.showTab(JobPage::Tab::Json);
        auto* text = static_cast<QPlainTextEdit*>(named(page, QStringLiteral("The job as JSON")));
        QTRY_VERIFY(text->hasFocus());
        QString changed = text->toPlainText();
        changed.replace(QStringLiteral("\"untitled\""), QStringLiteral("\"renamed\""));
        text->selectAll();
        text->insertPlainText(changed);
        QCOMPARE(workspace.job().name, std::string("renamed"));
        text->selectAll();
        text->insertPlainText(QStringLiteral("{\"format\": "));
        QCOMPARE(workspace.job().name, std::string("renamed"));
        QVERIFY(workspace.editJob(QStringLiteral("x"), "name", "again").ok());
        QVERIFY(text->toPlainText().contains(QStringLiteral("\"again\"")));
    }

    void setsALearningRateOnAnOptimizerThatWasOnlyNamed() {
        Workspace workspace;
        QVERIFY(workspace.editJob(QStringLiteral("x"), "compile.optimizer", "adam").ok());
        JobPage page(&workspace);
        expose(page);
        auto* rate = static_cast<QLineEdit*>(named(page, QStringLiteral("Learning rate")));
        QCOMPARE(rate->text(), QStringLiteral("0.001"));
        rate->setFocus();
        rate->selectAll();
        QTest::keyClicks(rate, QStringLiteral("0.01"));
        QTest::keyClick(rate, Qt::Key_Return);
        QCOMPARE(job::baseLearningRate(workspace.job().compile.optimizer), std::optional(0.01));
    }

    void namesTheMissingWorkerAndTheDeadlineWhileJoining() {
        Workspace workspace;
        MadeUpLibrary library;
        MadeUpSession* session = nullptr;
        RunDesk desk(&workspace, keeping(session), &library);
        MonitorPage page(&desk);
        expose(page);
        desk.launch();
        session->m_record = madeUpRecord(2);
        const double now = Clock::system().utcSeconds();
        session->m_store.add("worker:0", 1,
                             {now, wire::PhaseChanged{wire::Phase::Joining, {"worker:1"}, 50}});
        session->setState(run::State::Joining);
        page.refreshNow();
        QString said;
        for (const auto* label : page.findChildren<QLabel*>())
            if (label->isVisible() && label->text().contains(QStringLiteral("worker:1")))
                said = label->text();
        QVERIFY2(said.contains(QStringLiteral("given up in")), qPrintable(said));
    }

    void asksBeforeARunIsRemoved() {
        Workspace workspace;
        MadeUpLibrary library;
        library.set(madeUpHistory());
        RunDesk desk(
            &workspace, [] { return std::make_unique<MadeUpSession>(); }, &library);
        RunsPage page(&desk);
        expose(page);
        QVERIFY(!button(page, QStringLiteral("Export model"))->isEnabled()); // it still runs
        page.findChild<QTableView*>()->selectRow(1);
        QVERIFY(button(page, QStringLiteral("Export model"))->isEnabled());
        button(page, QStringLiteral("Remove"))->click();
        QTRY_VERIFY(QApplication::activeModalWidget());
        QApplication::activeModalWidget()->close();
    }
};

QTEST_MAIN(PagesTest)
#include "tst_pages.moc"
