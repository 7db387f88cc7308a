// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// The window with nothing made up: it launches the digits example on two workers of this machine,
// the charts move, the run is in the history and opens again from there.
#include "ui/charts/line_chart.h"
#include "ui/models/catalogue_library.h"
#include "ui/models/controller_session.h"
#include "ui/models/run_desk.h"
#include "ui/models/run_words.h"
#include "ui/pages/monitor_page.h"
#include "ui/shell/main_window.h"
#include "ui/widgets/theme.h"

#include <QApplication>
#include <QDir>
#include <QFileInfo>
#include <QTemporaryDir>
#include <QTest>

using namespace lockstep;
using namespace lockstep::ui;

namespace {

const QString kExample = QStringLiteral(LOCKSTEP_SOURCE_DIR "/resources/examples/digits/digits");
constexpr int kWait = 120'000;

struct Desktop {
    explicit Desktop(const std::string& root,
                     const QString& job = kExample + QStringLiteral(".job.json"))
        : library(root)
        , desk(
              &workspace, [this] { return std::make_unique<ControllerSession>(options); }, &library)
        , window(&desk) {
        options.root = root;
        options.hosts = run::defaultHosts(QStringLiteral(LOCKSTEP_BIN_DIR "/lockstep-worker"));
        window.openPath(Document::Cluster, kExample + QStringLiteral(".cluster.json"));
        window.openPath(Document::Job, job);
        // Ports of its own, beside whatever else runs on this machine.
        const int port = 20'000 + static_cast<int>(QCoreApplication::applicationPid() % 20'000);
        workspace.editCluster(QStringLiteral("ports"), [port](cluster::ClusterSpec& spec) {
            for (std::size_t i = 0; i < spec.size(); ++i) {
                auto worker = spec.workers()[i];
                worker.address = "127.0.0.1:" + std::to_string(port + static_cast<int>(i));
                spec.set(i, worker);
            }
        });
        window.resize(1280, 820);
        window.show();
    }
    Workspace workspace;
    run::ControllerOptions options;
    CatalogueLibrary library;
    RunDesk desk;
    MainWindow window;
};

} // namespace

class RealRunTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { QVERIFY(QDir().mkpath(QStringLiteral(LOCKSTEP_BUILD_DIR "/screens"))); }

    void trainsTheExampleAndOpensItAgain() {
        applyTheme(*qApp, ThemeChoice::Light);
        QTemporaryDir root;
        qputenv("XDG_DATA_HOME", root.path().toUtf8()); // the workers' side as well
        QString id;
        {
            Desktop desktop(root.path().toStdString());
            Describer describer(&desktop.workspace,
                                QStringLiteral(LOCKSTEP_BIN_DIR "/lockstep-worker"));
            QTRY_VERIFY_WITH_TIMEOUT(desktop.workspace.description().isCurrent, kWait);
            QCOMPARE(desktop.workspace.description().trainRows, 1437);
            QVERIFY(desktop.workspace.description().layers.size() >= 3);
            QVERIFY(desktop.desk.isPrimaryEnabled());
            desktop.desk.runPrimary();
            QTRY_VERIFY_WITH_TIMEOUT(desktop.desk.primary() == PrimaryAction::LaunchAgain, kWait);
            const RunSession* session = desktop.desk.shown();
            QVERIFY2(session->state() == run::State::Finished,
                     session->problems().empty() ? "" : session->problems()[0].message.c_str());
            id = QString::fromStdString(session->record().id);
            QTRY_VERIFY(!desktop.window.monitor()->charts()[0]->data().isEmpty());
            for (const LineChart* chart : desktop.window.monitor()->charts())
                QTRY_VERIFY2(!chart->data().isEmpty(), qPrintable(chart->accessibleName()));
            desktop.window.monitor()->refreshNow();
            QVERIFY(desktop.window.grab().save(
                QStringLiteral(LOCKSTEP_BUILD_DIR "/screens/real-run.png")));
        }
        Desktop again(root.path().toStdString());
        again.library.refresh();
        QTRY_COMPARE_WITH_TIMEOUT(again.library.entries().size(), 1, kWait);
        const RunEntry& entry = again.library.entries()[0];
        QVERIFY(entry.entry.status == run::RunStatus::Finished);
        QVERIFY(entry.hasModel);
        QVERIFY(entry.losses.size() > 3 && entry.losses.back() < entry.losses.front() / 3);
        again.desk.open(id);
        again.window.showPage(MainWindow::PageId::Monitor);
        QTRY_VERIFY_WITH_TIMEOUT(again.desk.shown()->isOver(), kWait);
        QTRY_VERIFY(!again.window.monitor()->charts()[0]->data().isEmpty());
        const QString target = root.filePath(QStringLiteral("out.safetensors"));
        int done = 0;
        again.library.exportModel(id, target,
                                  [&](const Status& status) { done = status.ok() ? 1 : 2; });
        QTRY_COMPARE_WITH_TIMEOUT(done, 1, kWait);
        QVERIFY(QFileInfo(target).size() > 10'000);
        again.library.exportMetrics(id, root.filePath(QStringLiteral("m.csv")),
                                    [&](const Status& status) { done = status.ok() ? 3 : 4; });
        QTRY_COMPARE_WITH_TIMEOUT(done, 3, kWait);
        again.library.remove(id, [&](const Status& status) { done = status.ok() ? 5 : 6; });
        QTRY_COMPARE_WITH_TIMEOUT(done, 5, kWait);
        QTRY_VERIFY(again.library.entries().isEmpty());
    }

    // A shell script stands in for a TensorFlow program.
    void chartsAProgramOfTheUsersOwn() {
        QTemporaryDir root;
        qputenv("XDG_DATA_HOME", root.path().toUtf8());
        const QString job = root.filePath(QStringLiteral("own.job.json"));
        QFile file(job);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(R"({"format": "lockstep-job", "version": 1, "name": "own", "kind": "command",
            "argv": ["./keras_stand_in.sh"], "push": ")" LOCKSTEP_SOURCE_DIR
                   R"(/tests/core/run/data"})");
        file.close();
        Desktop desktop(root.path().toStdString(), job);
        QTRY_VERIFY(desktop.desk.isPrimaryEnabled());
        desktop.desk.runPrimary();
        QTRY_VERIFY_WITH_TIMEOUT(desktop.desk.primary() == PrimaryAction::LaunchAgain, kWait);
        const RunSession* session = desktop.desk.shown();
        QVERIFY2(session->state() == run::State::Finished,
                 session->problems().empty() ? "" : session->problems()[0].message.c_str());
        QCOMPARE(session->store().loss().lastValue(), double(0.5F));
        // Loss and step time; of the rest Keras says nothing.
        QCOMPARE(desktop.window.monitor()->charts().size(), 2);
        for (const LineChart* chart : desktop.window.monitor()->charts())
            QTRY_VERIFY2(!chart->data().isEmpty(), qPrintable(chart->accessibleName()));
        desktop.window.monitor()->refreshNow();
        QVERIFY(desktop.window.grab().save(
            QStringLiteral(LOCKSTEP_BUILD_DIR "/screens/real-command.png")));
        for (const char* task : {"worker:0", "worker:1"})
            QCOMPARE(wordsOf(task, session->store(), session->state()).text,
                     QStringLiteral("finished"));
    }
};

QTEST_MAIN(RealRunTest)
#include "tst_real_run.moc"
