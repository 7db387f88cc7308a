// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "tests/ui/support/made_up_run.h"
#include "ui/models/problems_model.h"
#include "ui/models/run_workers_model.h"
#include "ui/models/runs_model.h"
#include "ui/models/workers_model.h"

#include <QAbstractItemModelTester>
#include <QMimeData>
#include <QSignalSpy>
#include <QTest>
#include <QUndoStack>

#include <memory>

using namespace lockstep;
using namespace lockstep::ui;

namespace {

using Tester = QAbstractItemModelTester;
constexpr auto kFatal = Tester::FailureReportingMode::Fatal;

void edit(Workspace& workspace, const std::function<void(cluster::ClusterSpec&)>& change) {
    workspace.editCluster(QStringLiteral("change"), change);
}

QStringList addresses(const QAbstractItemModel& model) {
    QStringList list;
    for (int row = 0; row < model.rowCount(); ++row)
        list.append(model.index(row, 0).data(WorkersModel::AddressRole).toString());
    return list;
}

void makeWorkers(Workspace& workspace, int count) {
    edit(workspace, [&](cluster::ClusterSpec& spec) {
        while (spec.size() > 0)
            spec.remove(0);
        for (const auto& worker : cluster::localCluster(count, 3000).workers())
            spec.add(worker);
    });
}

} // namespace

class ItemModelsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void workersFollowTheDocumentWithPreciseSignals() {
        Workspace workspace;
        WorkersModel model(&workspace);
        const Tester tester(&model, kFatal);
        makeWorkers(workspace, 4);
        QCOMPARE(model.rowCount(), 4);
        QSignalSpy moved(&model, &QAbstractItemModel::rowsMoved);
        QSignalSpy reset(&model, &QAbstractItemModel::modelReset);
        edit(workspace, [](auto& spec) { spec.move(0, 2); });
        QCOMPARE(moved.size(), 1);
        edit(workspace, [](auto& spec) { spec.move(3, 1); });
        QCOMPARE(moved.size(), 2);
        QSignalSpy removed(&model, &QAbstractItemModel::rowsRemoved);
        edit(workspace, [](auto& spec) { spec.remove(1); });
        QCOMPARE(removed.size(), 1);
        QSignalSpy inserted(&model, &QAbstractItemModel::rowsInserted);
        workspace.undoStack()->undo();
        QCOMPARE(inserted.size(), 1);
        while (workspace.undoStack()->canUndo())
            workspace.undoStack()->undo();
        while (workspace.undoStack()->canRedo())
            workspace.undoStack()->redo();
        QCOMPARE(model.rowCount(), 3);
        QVERIFY(reset.isEmpty());
        QStringList expected;
        for (const auto& worker : workspace.cluster().workers())
            expected.append(QString::fromStdString(worker.address));
        QCOMPARE(addresses(model), expected);
    }

    void workersMarkTheChiefAndTheProblem() {
        Workspace workspace;
        WorkersModel model(&workspace);
        const Tester tester(&model, kFatal);
        makeWorkers(workspace, 2);
        QVERIFY(model.index(0).data(WorkersModel::IsChiefRole).toBool());
        QVERIFY(!model.index(1).data(WorkersModel::IsChiefRole).toBool());
        edit(workspace, [](auto& spec) {
            auto worker = spec.workers()[1];
            worker.address = "127.0.0.1:0";
            spec.set(1, worker);
        });
        QVERIFY(model.index(1).data(WorkersModel::HasErrorRole).toBool());
        QVERIFY(!model.index(1).data(WorkersModel::ProblemRole).toString().isEmpty());
        QVERIFY(!workspace.canLaunch());
    }

    void workersAskForTheMoveOfADroppedRow() {
        Workspace workspace;
        makeWorkers(workspace, 3);
        WorkersModel model(&workspace);
        QSignalSpy asked(&model, &WorkersModel::moveRequested);
        const std::unique_ptr<QMimeData> data(model.mimeData({model.index(0)}));
        model.dropMimeData(data.get(), Qt::MoveAction, 3, 0, {});
        QCOMPARE(asked.size(), 1);
        QCOMPARE(asked[0], (QVariantList{0, 2}));
        model.dropMimeData(data.get(), Qt::MoveAction, 1, 0, {}); // onto its own place
        QCOMPARE(asked.size(), 1);
    }

    void problemsFollowTheDocuments() {
        Workspace workspace;
        ProblemsModel model(&workspace);
        const Tester tester(&model, kFatal);
        const int before = model.rowCount();
        edit(workspace, [](auto& spec) {
            auto worker = spec.workers()[0];
            worker.address = "no address";
            spec.set(0, worker);
        });
        QVERIFY(model.rowCount() > before);
        bool found = false;
        for (int row = 0; row < model.rowCount(); ++row)
            found = found || model.index(row).data(ProblemsModel::PathRole).toString() ==
                                 QStringLiteral("workers.0.address");
        QVERIFY(found);
        workspace.undoStack()->undo();
        QCOMPARE(model.rowCount(), before);
    }

    void runsFollowTheLibrary() {
        MadeUpLibrary library;
        RunsModel model(&library);
        const Tester tester(&model, kFatal);
        auto history = madeUpHistory();
        library.set(history.mid(1));
        QCOMPARE(model.rowCount(), 5);
        QSignalSpy inserted(&model, &QAbstractItemModel::rowsInserted);
        QSignalSpy reset(&model, &QAbstractItemModel::modelReset);
        library.set(history);
        QCOMPARE(inserted.size(), 1);
        QSignalSpy changed(&model, &QAbstractItemModel::dataChanged);
        history[0].entry.status = run::RunStatus::Finished;
        library.set(history);
        QCOMPARE(changed.size(), 1);
        history.removeAt(3);
        library.set(history);
        QCOMPARE(model.rowCount(), 5);
        QVERIFY(reset.isEmpty());
    }

    void showsHostsUntilTheirWorkersSpeak() {
        using Stage = run::HostProgress::Stage;
        MadeUpSession session;
        session.setState(run::State::PreparingHosts);
        session.m_hosts = {{"worker:0", "n0", "10.0.0.1:2222", true, Stage::Ready},
                           {"worker:1", "n1", "10.0.0.2:2222", true, Stage::Deploying, 40, 100}};
        RunWorkersModel model;
        const Tester tester(&model, kFatal);
        model.setSession(&session);
        QCOMPARE(model.rowCount(), 2);
        QCOMPARE(model.index(0).data(RunWorkersModel::StateRole).toString(),
                 QStringLiteral("ready"));
        QVERIFY(model.index(1)
                    .data(RunWorkersModel::StateRole)
                    .toString()
                    .contains(QStringLiteral("40 %")));
        QCOMPARE(model.index(1).data(RunWorkersModel::HostRole).toString(), QStringLiteral("n1"));
        // The worker speaks for itself, until its host is out of sight.
        session.m_record = madeUpRecord(2);
        session.setState(run::State::Training);
        wire::Started started;
        started.task = "worker:1";
        started.rank = 1;
        session.m_store.add("worker:1", 1, {1, started});
        model.refresh();
        QCOMPARE(model.index(1).data(RunWorkersModel::StateRole).toString(),
                 QStringLiteral("started"));
        session.m_hosts[1].stage = Stage::Reconnecting;
        model.refresh();
        QVERIFY(model.index(1)
                    .data(RunWorkersModel::StateRole)
                    .toString()
                    .contains(QStringLiteral("sight")));
    }

    void runWorkersBlameTheKilledOneAndNotItsWitnesses() {
        MadeUpSession session;
        session.m_record = madeUpRecord(3);
        MadeUpTraining training(3);
        RunWorkersModel model;
        const Tester tester(&model, kFatal);
        model.setSession(&session);
        QCOMPARE(model.rowCount(), 3);
        training.begin(session.m_store);
        training.steps(session.m_store, 20);
        session.setState(run::State::Training);
        model.refresh();
        QCOMPARE(model.index(2).data(RunWorkersModel::MoodRole).toInt(), int(Mood::Good));
        wire::Failed failed;
        failed.task = "worker:2";
        failed.verdict = "killed";
        session.m_store.add("worker:0", 1, {1'796'112'850.0, failed});
        session.setState(run::State::Failed);
        model.refresh();
        QCOMPARE(model.index(2).data(RunWorkersModel::StateRole).toString(),
                 QStringLiteral("killed"));
        QCOMPARE(model.index(2).data(RunWorkersModel::MoodRole).toInt(), int(Mood::Bad));
        QVERIFY(model.index(0).data(RunWorkersModel::MoodRole).toInt() != int(Mood::Bad));
        model.setSession(nullptr);
        QCOMPARE(model.rowCount(), 0);
    }

    void runWorkersSayWhoIsMissingAndWhoIsSlow() {
        MadeUpSession session;
        session.m_record = madeUpRecord(3);
        session.m_store.add("worker:0", 1,
                            {1.0, wire::PhaseChanged{wire::Phase::Joining, {"worker:2"}, 60}});
        RunWorkersModel model;
        model.setSession(&session);
        QVERIFY(model.index(2).data(RunWorkersModel::IsMissingRole).toBool());
        QVERIFY(!model.index(1).data(RunWorkersModel::IsMissingRole).toBool());
        MadeUpTraining training(3);
        training.begin(session.m_store);
        training.slowDown();
        training.steps(session.m_store, 30);
        session.setState(run::State::Training);
        model.refresh();
        QCOMPARE(model.index(2).data(RunWorkersModel::StateRole).toString(),
                 QStringLiteral("slow (input)"));
        QCOMPARE(model.index(0).data(RunWorkersModel::StateRole).toString(),
                 QStringLiteral("training"));
    }
};

QTEST_GUILESS_MAIN(ItemModelsTest)
#include "tst_item_models.moc"
