// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// Pictures of every page, light and dark, small and large, into build/<preset>/screens/, and a look
// at each: no empty page, no cut label.
#include "tests/ui/support/made_up_check.h"
#include "tests/ui/support/made_up_run.h"
#include "tests/ui/support/made_up_ssh.h"
#include "ui/charts/line_chart.h"
#include "ui/models/run_desk.h"
#include "ui/pages/cluster_page.h"
#include "ui/pages/job_page.h"
#include "ui/pages/monitor_page.h"
#include "ui/shell/log_drawer.h"
#include "ui/shell/main_window.h"
#include "ui/widgets/theme.h"

#include <QAbstractButton>
#include <QAbstractItemView>
#include <QApplication>
#include <QComboBox>
#include <QDir>
#include <QLabel>
#include <QLineEdit>
#include <QScrollArea>
#include <QTest>

#include <memory>
#include <set>

using namespace lockstep;
using namespace lockstep::ui;

namespace {

QString folder() {
    const QString path = QStringLiteral(LOCKSTEP_BUILD_DIR) + QStringLiteral("/screens");
    QDir().mkpath(path);
    return path;
}

/// What `describe` says about the digits example.
JobDescription digits() {
    JobDescription description;
    description.isCurrent = true;
    description.layers = {
        {QStringLiteral("dense"), QStringLiteral("Dense"), QStringLiteral("(None, 128)"), 8320},
        {QStringLiteral("dense_1"), QStringLiteral("Dense"), QStringLiteral("(None, 64)"), 8256},
        {QStringLiteral("dense_2"), QStringLiteral("Dense"), QStringLiteral("(None, 10)"), 650}};
    description.parameters = description.trainable = 17226;
    description.trainRows = 1437;
    description.validationRows = 360;
    description.features = 64;
    description.labels = 1;
    description.memoryBytes = 412'000;
    description.bytesPerAllReduce = 68'904;
    return description;
}

/// A window with everything behind it, in the state that a picture wants.
struct Scene {
    Workspace workspace;
    MadeUpLibrary library;
    MadeUpSession* session = nullptr; ///< the newest one
    RunDesk desk;
    MadeUpHost host;
    MadeUpCheck check;
    MainWindow window;

    Scene()
        : desk(
              &workspace,
              [this] {
                  auto made = std::make_unique<MadeUpSession>();
                  session = made.get();
                  return made;
              },
              &library)
        , window(&desk, madeUpAccess(&host), &check) {
        library.set(madeUpHistory());
        const QString examples = QStringLiteral(LOCKSTEP_SOURCE_DIR "/resources/examples/digits/");
        window.openPath(Document::Cluster, examples + QStringLiteral("digits.cluster.json"));
        window.openPath(Document::Job, examples + QStringLiteral("digits.job.json"));
        workspace.setDescription(digits());
    }

    void train(int workers, int steps) {
        desk.launch();
        session->m_record = madeUpRecord(workers);
        MadeUpTraining training(workers);
        training.begin(session->m_store);
        training.steps(session->m_store, steps);
        session->setState(run::State::Training);
    }

    void join() {
        desk.launch();
        session->m_record = madeUpRecord(4);
        const double now = Clock::system().utcSeconds();
        for (int rank = 0; rank < 3; ++rank) {
            wire::Started started;
            started.task = MadeUpTraining::task(rank);
            started.rank = rank;
            session->m_store.add(started.task, 1, {now, started});
            session->m_store.add(started.task, 1,
                                 {now, wire::PhaseChanged{wire::Phase::Joining, {"worker:3"}, 48}});
        }
        session->setState(run::State::Joining);
    }

    void fail() {
        train(3, 300);
        wire::Failed failed;
        failed.task = "worker:2";
        failed.host = "127.0.0.1:2224";
        failed.verdict = "killed";
        failed.reason = "worker:2 was killed: its connection closed in the middle of a step.";
        for (int rank = 0; rank < 2; ++rank)
            session->m_store.add(MadeUpTraining::task(rank), 1, {1'796'112'850.0, failed});
        session->m_record.failure = run::Cause{
            "worker:2", "this machine",
            "worker:2 (127.0.0.1:2224) was killed: its connection closed in the middle of a step. "
            "Nothing of the run is left on the host. Look at its log, then launch again."};
        session->setState(run::State::Failed);
    }
};

void breakCluster(Workspace& workspace) {
    workspace.editCluster(QStringLiteral("x"), [](cluster::ClusterSpec& spec) {
        auto worker = spec.workers()[1];
        worker.address = spec.workers()[0].address;
        spec.set(1, worker);
    });
}

struct Picture {
    const char* name;
    std::function<void(Scene&)> prepare;
};

const Picture kPictures[] = {
    {"cluster", [](Scene& s) { s.window.showPage(MainWindow::PageId::Cluster); }},
    {"cluster-problem",
     [](Scene& s) {
         breakCluster(s.workspace);
         s.window.showPage(MainWindow::PageId::Cluster);
         s.window.page(MainWindow::PageId::Cluster)->reveal(QStringLiteral("workers.1.address"));
     }},
    {"cluster-hosts",
     [](Scene& s) {
         s.workspace.editCluster(QStringLiteral("x"), [](cluster::ClusterSpec& spec) {
             for (const char* host : {"n1", "n2", "gpu-box"}) {
                 cluster::Worker worker;
                 worker.ssh = json::Value(std::string("alice@") + host);
                 worker.address = std::string(host) + ".lab.example:2222";
                 spec.add(worker);
             }
         });
         s.window.page(MainWindow::PageId::Cluster)->reveal(QStringLiteral("workers.3.ssh"));
     }},
    {"cluster-empty",
     [](Scene& s) {
         s.workspace.editCluster(QStringLiteral("x"), [](cluster::ClusterSpec& spec) {
             while (spec.size() > 0)
                 spec.remove(0);
         });
     }},
    {"job", [](Scene& s) { s.window.showPage(MainWindow::PageId::Job); }},
    {"job-command",
     [](Scene& s) {
         s.window.openPath(Document::Job,
                           QStringLiteral(LOCKSTEP_SOURCE_DIR
                                          "/resources/examples/tensorflow/tensorflow.job.json"));
         s.window.showPage(MainWindow::PageId::Job);
     }},
    {"job-json",
     [](Scene& s) {
         s.window.showPage(MainWindow::PageId::Job);
         s.window.jobPage()->showTab(JobPage::Tab::Json);
     }},
    {"check",
     [](Scene& s) {
         s.check.set(madeUpCheckView(4));
         s.window.showPage(MainWindow::PageId::Check);
     }},
    {"check-32",
     [](Scene& s) {
         CheckView view = madeUpCheckView(32);
         view.isRunning = true;
         view.progress = 0.4;
         view.words = QStringLiteral("Pairs, round 13 of 31…");
         for (int i = 600; i < 1024; ++i)
             if (view.pairs[i].state == CheckPair::State::Good)
                 view.pairs[i].state =
                     i < 632 ? CheckPair::State::Working : CheckPair::State::Waiting;
         s.check.set(view);
         s.window.showPage(MainWindow::PageId::Check);
     }},
    {"check-empty", [](Scene& s) { s.window.showPage(MainWindow::PageId::Check); }},
    {"monitor-empty", [](Scene& s) { s.window.showPage(MainWindow::PageId::Monitor); }},
    {"monitor-join", [](Scene& s) { s.join(); }},
    {"monitor", [](Scene& s) { s.train(3, 560); }},
    {"monitor-many", [](Scene& s) { s.train(16, 560); }},
    {"monitor-log",
     [](Scene& s) {
         s.train(3, 560);
         s.window.log()->setOpen(true);
     }},
    {"monitor-failed", [](Scene& s) { s.fail(); }},
    {"monitor-filled",
     [](Scene& s) {
         s.train(3, 560);
         s.window.monitor()->fill(0);
     }},
    {"monitor-finished",
     [](Scene& s) {
         s.train(2, 900);
         s.session->setState(run::State::Finished);
     }},
    {"runs", [](Scene& s) { s.window.showPage(MainWindow::PageId::Runs); }},
    {"runs-empty",
     [](Scene& s) {
         s.library.set({});
         s.window.showPage(MainWindow::PageId::Runs);
     }},
};

/// "QLabel 'loss' of Card: 40 < 52" for each text that has less room than it needs.
QStringList cutTexts(const QWidget& window) {
    QStringList cut;
    for (const QWidget* widget : window.findChildren<QWidget*>()) {
        if (!widget->isVisible() || widget->visibleRegion().isEmpty() ||
            widget->property("elides").toBool())
            continue;
        QString text;
        int room = widget->contentsRect().width();
        int need = 0;
        if (const auto* label = qobject_cast<const QLabel*>(widget)) {
            text = label->text();
            if (label->wordWrap()) {
                if (label->heightForWidth(label->width()) > label->height())
                    cut.append(QStringLiteral("wrapped label '%1'").arg(text));
                continue;
            }
            need = label->fontMetrics().horizontalAdvance(text);
        } else if (const auto* button = qobject_cast<const QAbstractButton*>(widget)) {
            text = button->text();
            room = button->width();
            if (button->sizeHint().width() > room + 1 && !text.isEmpty())
                cut.append(QStringLiteral("button '%1'").arg(text));
            need = text.isEmpty() ? 0
                                  : button->fontMetrics().horizontalAdvance(text) +
                                        (button->icon().isNull() ? 0 : button->iconSize().width());
        } else if (const auto* box = qobject_cast<const QComboBox*>(widget)) {
            text = box->currentText();
            room = box->width() - 30;
            need = box->fontMetrics().horizontalAdvance(text);
        }
        if (need > room)
            cut.append(QStringLiteral("%1 '%2': %3 < %4")
                           .arg(QLatin1String(widget->metaObject()->className()), text)
                           .arg(room)
                           .arg(need));
    }
    return cut;
}

/// Colours in the middle of the page: an empty one has hardly any.
int colors(const QImage& picture) {
    std::set<QRgb> seen;
    for (int y = picture.height() / 8; y < picture.height() * 7 / 8; y += 2)
        for (int x = picture.width() / 10; x < picture.width(); x += 2)
            seen.insert(picture.pixel(x, y));
    return static_cast<int>(seen.size());
}

void show(Scene& scene, const QSize& size) {
    scene.window.resize(size);
    scene.window.show();
    QVERIFY(QTest::qWaitForWindowExposed(&scene.window));
    QCoreApplication::processEvents();
    for (LineChart* chart : scene.window.monitor()->charts())
        chart->setToolTip({});
    scene.window.monitor()->refreshNow();
    QCoreApplication::processEvents();
    scene.window.monitor()->refreshNow();
}

} // namespace

class ScreensTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void everyPageIsFullAndUncut_data() {
        QTest::addColumn<int>("picture");
        QTest::addColumn<bool>("dark");
        QTest::addColumn<QSize>("size");
        for (int i = 0; i < static_cast<int>(std::size(kPictures)); ++i)
            for (const bool dark : {false, true})
                for (const QSize& size : {QSize(1024, 700), QSize(1920, 1080)})
                    QTest::addRow("%s-%s-%d", kPictures[i].name, dark ? "dark" : "light",
                                  size.width())
                        << i << dark << size;
    }
    void everyPageIsFullAndUncut() {
        QFETCH(int, picture);
        QFETCH(bool, dark);
        QFETCH(QSize, size);
        applyTheme(*qApp, dark ? ThemeChoice::Dark : ThemeChoice::Light);
        Scene scene;
        kPictures[picture].prepare(scene);
        show(scene, size);
        const QPixmap image = scene.window.grab();
        const QString file =
            QStringLiteral("%1/%2.png").arg(folder(), QLatin1String(QTest::currentDataTag()));
        QVERIFY(image.save(file));
        QCOMPARE(image.size(), size);
        QVERIFY2(colors(image.toImage()) > 24, "the page is empty");
        const QStringList cut = cutTexts(scene.window);
        QVERIFY2(cut.isEmpty(), qPrintable(cut.join(QLatin1Char('\n'))));
    }

    /// Run again with QT_SCALE_FACTOR 1.25, 1.5 and 2.
    void isUncutAtThisScale() {
        applyTheme(*qApp, ThemeChoice::Light);
        Scene scene;
        scene.train(3, 200);
        show(scene, QSize(1024, 700));
        const QPixmap image = scene.window.grab();
        const qreal ratio = image.devicePixelRatio();
        if (qEnvironmentVariableIsSet("QT_SCALE_FACTOR"))
            QCOMPARE(ratio, qEnvironmentVariable("QT_SCALE_FACTOR").toDouble());
        QCOMPARE(image.size(), (QSizeF(1024, 700) * ratio).toSize());
        QVERIFY(image.save(QStringLiteral("%1/monitor-at-%2.png").arg(folder()).arg(ratio)));
        const QStringList cut = cutTexts(scene.window);
        QVERIFY2(cut.isEmpty(), qPrintable(cut.join(QLatin1Char('\n'))));
    }
};

QTEST_MAIN(ScreensTest)
#include "tst_screens.moc"
