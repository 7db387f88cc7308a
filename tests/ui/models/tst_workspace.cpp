// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/json_reader.h"
#include "tests/ui/support/made_up_run.h"
#include "ui/models/run_desk.h"
#include "ui/models/workspace.h"

#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QUndoStack>

using namespace lockstep;
using namespace lockstep::ui;

namespace {
const QString kDigits = QStringLiteral(LOCKSTEP_SOURCE_DIR "/resources/examples/digits/");
}

class WorkspaceTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void opensTheExampleAndComputesWhatItComesTo() {
        Workspace workspace;
        QVERIFY(workspace.open(Document::Cluster, kDigits + QStringLiteral("digits.cluster.json"))
                    .ok());
        QVERIFY(workspace.open(Document::Job, kDigits + QStringLiteral("digits.job.json")).ok());
        QCOMPARE(workspace.title(Document::Job), QStringLiteral("digits.job"));
        QVERIFY(!workspace.isModified(Document::Job));
        QVERIFY(workspace.canLaunch());
        QCOMPARE(workspace.replicas(), 2);
        QVERIFY(!workspace.trainRows());
        JobDescription description;
        description.isCurrent = true;
        description.trainRows = 1437;
        workspace.setDescription(description);
        QCOMPARE(workspace.batching().stepsPerEpoch, 45);
        QCOMPARE(workspace.batching().largestReplicaBatch, 16);
    }

    void refusesAFileThatIsNoDocument() {
        Workspace workspace;
        const auto status =
            workspace.open(Document::Job, kDigits + QStringLiteral("digits.cluster.json"));
        QVERIFY(!status.ok());
        QCOMPARE(workspace.title(Document::Job), QStringLiteral("untitled"));
    }

    void undoesTypingAsOneStep() {
        Workspace workspace;
        const auto before = workspace.jobDocument();
        for (const char* name : {"d", "di", "dig"})
            QVERIFY(workspace.editJob(QStringLiteral("x"), "name", name).ok());
        QCOMPARE(workspace.undoStack()->count(), 1);
        QVERIFY(workspace.isModified(Document::Job));
        workspace.undoStack()->undo();
        QVERIFY(workspace.jobDocument() == before);
        QVERIFY(!workspace.isModified(Document::Job));
    }

    void keepsFormAndTextInStep() {
        Workspace workspace;
        QVERIFY(workspace.editJob(QStringLiteral("x"), "fit.epochs", 7).ok());
        QVERIFY(workspace.jobText().contains(QStringLiteral("\"epochs\": 7")));
        QString text = workspace.jobText();
        text.replace(QStringLiteral("\"epochs\": 7"), QStringLiteral("\"epochs\": 9"));
        QVERIFY(workspace.setJobText(text).ok());
        QCOMPARE(workspace.job().fit.epochs, 9);
        QVERIFY(!workspace.setJobText(QStringLiteral("{\"a\": ")).ok());
        QCOMPARE(workspace.job().fit.epochs, 9);
    }

    void replacesOneBatchSizeByTheOther() {
        Workspace workspace;
        QVERIFY(workspace.editJob(QStringLiteral("x"), "fit.global_batch_size", 64).ok());
        QVERIFY(workspace.editJob(QStringLiteral("x"), "fit.batch_size_per_replica", 16).ok());
        QVERIFY(!json::findPath(workspace.jobDocument(), "fit.global_batch_size"));
        QCOMPARE(workspace.batching().globalBatch, 32);
    }

    void placesProblemsAtTheirFields() {
        Workspace workspace;
        QVERIFY(workspace.editJob(QStringLiteral("x"), "fit.epochs", 0).ok());
        QVERIFY(workspace.problemAt(Document::Job, "fit.epochs"));
        QVERIFY(workspace.problemAt(Document::Job, "fit"));
        QVERIFY(!workspace.problemAt(Document::Job, "fit.epoch"));
        QVERIFY(!workspace.canLaunch());
    }

    void savesWhatItOpened() {
        QTemporaryDir folder;
        Workspace workspace;
        const QString path = folder.filePath(QStringLiteral("训练 一号.cluster.json"));
        workspace.editCluster(QStringLiteral("x"), [](auto& spec) { spec.setName("lab"); });
        QVERIFY(workspace.save(Document::Cluster, path).ok());
        QVERIFY(!workspace.isModified(Document::Cluster));
        Workspace other;
        QVERIFY(other.open(Document::Cluster, path).ok());
        QCOMPARE(other.cluster().name(), std::string("lab"));
        QVERIFY(!workspace.save(Document::Cluster, QStringLiteral("/proc/none/x.json")).ok());
    }

    void changesThePrimaryActionWithTheRun() {
        Workspace workspace;
        QVERIFY(workspace.open(Document::Job, kDigits + QStringLiteral("digits.job.json")).ok());
        MadeUpLibrary library;
        MadeUpSession* session = nullptr;
        RunDesk desk(&workspace, keeping(session), &library);
        QVERIFY(desk.primary() == PrimaryAction::Launch);
        QVERIFY(desk.isPrimaryEnabled());
        desk.runPrimary();
        QVERIFY(desk.primary() == PrimaryAction::Cancel);
        session->setState(run::State::Training);
        QVERIFY(desk.primary() == PrimaryAction::Stop);
        desk.runPrimary();
        QVERIFY(desk.primary() == PrimaryAction::Stopping);
        QVERIFY(!desk.isPrimaryEnabled());
        QSignalSpy ended(&desk, &RunDesk::runEnded);
        session->setState(run::State::Stopped);
        QCOMPARE(ended.size(), 1);
        QVERIFY(desk.primary() == PrimaryAction::LaunchAgain);
        QVERIFY(desk.shown() == session);
    }

    void asksOnceForEachWarningOfTheCheck() {
        Workspace workspace;
        MadeUpLibrary library;
        MadeUpSession* session = nullptr;
        RunDesk desk(&workspace, keeping(session), &library);
        QSignalSpy asked(&desk, &RunDesk::confirmationWanted);
        const auto launchWith = [&](const Problems& warnings) {
            desk.launch();
            session->m_problems = warnings;
            session->setState(run::State::Checking);
            Q_EMIT session->confirmationWanted();
        };
        Problem busy;
        busy.severity = Severity::Warning;
        busy.message = "n1 is busy.";
        Problem ends = busy;
        ends.message = "n2 ends a user's programs.";
        launchWith({busy});
        QCOMPARE(asked.size(), 1);
        desk.confirm(false); // said no: asked again
        QVERIFY(session->state() == run::State::Refused);
        launchWith({busy});
        QCOMPARE(asked.size(), 2);
        desk.confirm(true);
        QVERIFY(session->state() == run::State::Deploying);
        session->setState(run::State::Finished);
        launchWith({busy});
        QCOMPARE(asked.size(), 2);
        QVERIFY(session->state() == run::State::Deploying);
        session->setState(run::State::Finished);
        launchWith({busy, ends});
        QCOMPARE(asked.size(), 3);
        QCOMPARE(asked.last().at(0).value<Problems>(), Problems{ends});
    }

    void opensAnOldRunBesideTheLiveOne() {
        Workspace workspace;
        QVERIFY(workspace.open(Document::Job, kDigits + QStringLiteral("digits.job.json")).ok());
        MadeUpLibrary library;
        library.set(madeUpHistory());
        RunDesk desk(
            &workspace, [] { return std::make_unique<MadeUpSession>(); }, &library);
        desk.launch();
        const RunSession* live = desk.live();
        desk.open(QString::fromStdString(library.entries()[1].entry.id));
        QVERIFY(desk.live() == live);
        QVERIFY(desk.shown() != live);
        QVERIFY(desk.primary() == PrimaryAction::Cancel);
        desk.showLive();
        QVERIFY(desk.shown() == live);
    }

    void readsADescription() {
        const auto value = json::parse(
            R"({"problems":[{"severity":"error","path":"model","line":3,"message":"No.","hint":"Do."}],
                "model":{"layers":[{"name":"d","class":"Dense","output_shape":[null,10],
                "parameters":650}],"parameters":650,"trainable":650},
                "memory":{"parameters_bytes":2600,"activations_bytes":400},
                "data":{"train_rows":1437,"validation_rows":360},"bytes_per_all_reduce":2600})",
            "describe");
        QVERIFY(value.ok());
        const auto description = JobDescription::fromJson(*value);
        QCOMPARE(description.layers.front().outputShape, QStringLiteral("(None, 10)"));
        QCOMPARE(description.memoryBytes, 3000);
        QCOMPARE(description.problems.front().line, 3);
    }
};

QTEST_GUILESS_MAIN(WorkspaceTest)
#include "tst_workspace.moc"
