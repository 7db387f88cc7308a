// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// Whole runs on this machine, through the real agent, with a worker program that only pretends to
// train.
#include "core/agent/protocol.h"
#include "core/base/files.h"
#include "core/base/hash.h"
#include "core/job/job_spec.h"
#include "core/run/catalogue.h"
#include "core/run/port_check.h"
#include "core/run/run_controller.h"
#include "core/run/run_folder.h"

#include <QDir>
#include <QElapsedTimer>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>

using namespace lockstep;
using namespace lockstep::run;

namespace {

using Env = std::vector<std::pair<std::string, std::string>>;

/// Processes whose environment names the run.
std::vector<int> processesOf(const std::string& runId) {
    std::vector<int> pids;
    const auto names = QDir(QStringLiteral("/proc")).entryList(QDir::Dirs);
    for (const QString& name : names) {
        const auto environment = files::read("/proc/" + name.toStdString() + "/environ");
        if (environment && environment->find("LOCKSTEP_RUN_ID=" + runId) != std::string::npos)
            pids.push_back(name.toInt());
    }
    return pids;
}

int listenAt(int port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(fd, 1) != 0)
        return -1;
    return fd;
}

} // namespace

class TstLocalRuns : public QObject {
    Q_OBJECT

    QTemporaryDir m_data;
    std::string m_root;

    ControllerOptions options() const {
        ControllerOptions options;
        options.root = m_root;
        options.hosts = defaultHosts(QStringLiteral(LOCKSTEP_BUILD_DIR "/tests/fake_worker"));
        options.stopGrace = std::chrono::milliseconds(400);
        return options;
    }

    static LaunchRequest request(int workers, const Env& all = {}, int special = -1,
                                 const Env& own = {}) {
        LaunchRequest request;
        const auto port = findFreePorts(workers, 33'000);
        cluster::ClusterSpec spec = cluster::localCluster(workers, port.value_or(0));
        for (int i = 0; i < workers; ++i) {
            cluster::Worker worker = spec.workers()[static_cast<std::size_t>(i)];
            worker.env = all;
            if (i == special)
                worker.env.insert(worker.env.end(), own.begin(), own.end());
            spec.set(static_cast<std::size_t>(i), worker);
        }
        request.cluster = spec.document();
        request.job = job::newJobDocument("pretended");
        return request;
    }

    /// Starts it and waits until every worker has reported a step.
    void startAndTrain(RunController& controller, LaunchRequest request) {
        const auto count = cluster::ClusterSpec(request.cluster).size();
        controller.launch(std::move(request));
        QTRY_VERIFY_WITH_TIMEOUT(
            controller.store().workers().size() == count || isFinal(controller.state()), 30'000);
        for (const metrics::Worker* worker : controller.store().workers())
            QTRY_VERIFY_WITH_TIMEOUT(worker->step > 0, 30'000);
    }

    static void waitForEnd(RunController& controller) {
        QTRY_VERIFY_WITH_TIMEOUT(isFinal(controller.state()), 40'000);
    }

private Q_SLOTS:
    void initTestCase() {
        m_root = m_data.path().toStdString() + "/lockstep";
        qputenv("XDG_DATA_HOME", m_data.path().toUtf8());
        QVERIFY2(QFile::exists(QStringLiteral(LOCKSTEP_BUILD_DIR "/tests/fake_worker")), "");
    }

    void bringsTheModelHomeAndKeepsExactCopies() {
        RunController controller(options());
        QSignalSpy lines(&controller, &RunController::outputReceived);
        QSignalSpy done(&controller, &RunController::done);
        controller.launch(request(2));
        QTRY_COMPARE_WITH_TIMEOUT(done.count(), 1, 40'000);
        const RunRecord record = controller.record();
        QVERIFY2(controller.state() == State::Finished,
                 record.failure                  ? record.failure->reason.c_str()
                 : controller.problems().empty() ? stateName(controller.state())
                                                 : describe(controller.problems().front()).c_str());
        QCOMPARE(controller.exitCode(), 0);
        QCOMPARE(lines.count(), 4); // the chief's console

        const RunFolder folder(m_root, record.id);
        const auto model = files::read(folder.modelPath());
        QVERIFY(model && record.model);
        QCOMPARE(toHex(sha256(*model)), record.model->sha256);
        for (const TaskPlace& place : record.tasks)
            for (const char* name : {"events.jsonl", "stdout.log", "stderr.log"}) {
                const auto there = files::read(place.runFolder + "/" + name);
                const auto here = files::read(folder.attemptFolder(place.task, 1) + "/" + name);
                QVERIFY(there);
                QVERIFY(here);
                QCOMPARE(*here, *there);
            }
        const json::Value result = controller.result();
        QCOMPARE(result.find("status")->toString(), std::string("finished"));
        QCOMPARE(result.find("workers")->toInteger(), 2);
        QCOMPARE(result.find("epochs")->size(), std::size_t{2});
        QCOMPARE(result.find("digest")->size(), std::size_t{2});
        QVERIFY(!result.find("failure"));
        Catalogue catalogue(m_root);
        QVERIFY(catalogue.open());
        QCOMPARE(catalogue.entries()->front().id, record.id);
        QVERIFY(catalogue.entries()->front().status == RunStatus::Finished);

        // And once more, from the folder alone.
        RunController again(options());
        again.attach(record.id);
        waitForEnd(again);
        QVERIFY(again.state() == State::Finished);
        QCOMPARE(json::dump(again.result()), json::dump(result));
    }

    void succeedsWhereOneRankEndsLongBeforeTheOther() {
        RunController controller(options());
        controller.launch(request(2, {}, 0, {{"FAKE_STEP_MS", "60"}}));
        waitForEnd(controller);
        QVERIFY(controller.state() == State::Finished);
    }

    void failsWithinFiveSecondsAndNamesTheKilledWorker() {
        RunController controller(options());
        startAndTrain(controller, request(3, {{"FAKE_STEPS", "100000"}}));
        const auto state = files::read(controller.record().tasks[1].runFolder + "/state.json");
        QVERIFY(state);
        const auto process = agent::decodeFile(*state, "state.json");
        QVERIFY(process);
        QElapsedTimer timer;
        timer.start();
        ::kill(static_cast<pid_t>(process->process.pid), SIGKILL);
        waitForEnd(controller);
        QVERIFY2(timer.elapsed() < 5'000, qPrintable(QString::number(timer.elapsed())));
        QVERIFY(controller.state() == State::Failed);
        QCOMPARE(controller.exitCode(), 1);
        QCOMPARE(controller.record().failure->task, std::string("worker:1"));
        QVERIFY(controller.record().failure->reason.find("SIGKILL") != std::string::npos);
        QCOMPARE(processesOf(controller.record().id).size(), std::size_t{0});
    }

    void namesTheFrozenWorkerThatAPeerBlames() {
        RunController controller(options());
        controller.launch(request(3, {{"FAKE_STEPS", "100000"}}, 0,
                                  {{"FAKE_EXIT_AT", "5"}, {"FAKE_BLAME", "worker:2"}}));
        waitForEnd(controller);
        QVERIFY(controller.state() == State::Failed);
        QCOMPARE(controller.record().failure->task, std::string("worker:2"));
        QCOMPARE(controller.record().failure->reason,
                 std::string("worker:2 did not answer for 5 s."));
    }

    void tellsWhatAWorkerPrintedBeforeItEnded() {
        RunController controller(options());
        controller.launch(request(2, {{"FAKE_STEPS", "100000"}}, 1, {{"FAKE_EXIT_AT", "5"}}));
        waitForEnd(controller);
        QVERIFY(controller.state() == State::Failed);
        QCOMPARE(controller.record().failure->task, std::string("worker:1"));
        const std::string& reason = controller.record().failure->reason;
        QVERIFY2(reason.find("out of luck") != std::string::npos, reason.c_str());
        QVERIFY2(reason.find("exit code 3") != std::string::npos, reason.c_str());
    }

    void refusesASuccessThatIsNone_data() {
        QTest::addColumn<QString>("variable");
        QTest::addColumn<QString>("task");
        QTest::addColumn<QString>("words");
        QTest::newRow("a rank with other bits") << "FAKE_DIGEST"
                                                << "worker:2"
                                                << "differ from";
        QTest::newRow("an end without having finished") << "FAKE_NO_FINISH"
                                                        << "worker:2"
                                                        << "without having finished";
        QTest::newRow("a model that arrives changed") << "FAKE_BAD_MODEL"
                                                      << "worker:0"
                                                      << "arrived changed";
    }
    void refusesASuccessThatIsNone() {
        QFETCH(QString, variable);
        QFETCH(QString, task);
        QFETCH(QString, words);
        RunController controller(options());
        const int special = task == QStringLiteral("worker:0") ? 0 : 2;
        controller.launch(request(3, {}, special, {{variable.toStdString(), "x"}}));
        waitForEnd(controller);
        QVERIFY(controller.state() == State::Failed);
        QCOMPARE(controller.record().failure->task, task.toStdString());
        QVERIFY(controller.record().failure->reason.find(words.toStdString()) != std::string::npos);
        QVERIFY(!controller.record().model);
    }

    void stopsWhatIgnoresTermAndItsChildren() {
        RunController controller(options());
        startAndTrain(controller, request(2, {{"FAKE_STEPS", "100000"},
                                              {"FAKE_IGNORE_TERM", "1"},
                                              {"FAKE_GRANDCHILD", "1"}}));
        QVERIFY(processesOf(controller.record().id).size() >= 4);
        controller.stop();
        waitForEnd(controller);
        QVERIFY(controller.state() == State::Stopped);
        QCOMPARE(controller.exitCode(), 1);
        QCOMPARE(processesOf(controller.record().id).size(), std::size_t{0});
    }

    void namesAWorkerThatCannotBeExecuted() {
        LaunchRequest launch = request(4);
        cluster::ClusterSpec spec(launch.cluster);
        cluster::Worker fourth = spec.workers()[3];
        fourth.env = {{"PATH", "/nonexistent"}};
        spec.set(3, fourth);
        launch.cluster = spec.document();
        launch.job = json::Value::object({{"format", "lockstep-job"},
                                          {"version", 1},
                                          {"name", "command"},
                                          {"kind", "command"},
                                          {"argv", json::Value::array({"sleep", "300"})}});
        RunController controller(options());
        QElapsedTimer timer;
        timer.start();
        controller.launch(std::move(launch));
        waitForEnd(controller);
        QVERIFY2(controller.state() == State::Failed,
                 controller.problems().empty() ? ""
                                               : describe(controller.problems().front()).c_str());
        QCOMPARE(controller.record().failure->task, std::string("worker:3"));
        QCOMPARE(processesOf(controller.record().id).size(), std::size_t{0});
    }

    void refusesABusyPortBeforeAnythingStarts() {
        LaunchRequest launch = request(2);
        const auto address =
            cluster::Address::parse(cluster::ClusterSpec(launch.cluster).workers()[1].address);
        const int listener = listenAt(address->port);
        QVERIFY(listener >= 0);
        const auto runs = QDir(QString::fromStdString(m_root + "/runs")).entryList().size();
        RunController controller(options());
        controller.launch(std::move(launch));
        waitForEnd(controller);
        QVERIFY(controller.state() == State::Refused);
        QCOMPARE(controller.exitCode(), 2);
        const Problem problem = controller.problems().front();
        QCOMPARE(problem.path, std::string("workers.1.address"));
        const std::string pid = std::to_string(QCoreApplication::applicationPid());
        QVERIFY2(problem.message.find(pid) != std::string::npos, problem.message.c_str());
        QCOMPARE(QDir(QString::fromStdString(m_root + "/runs")).entryList().size(), runs);
        ::close(listener);
    }

    void continuesWhereItLookedAway() {
        std::string id;
        {
            RunController first(options());
            startAndTrain(first, request(2, {{"FAKE_STEPS", "150"}, {"FAKE_STEP_MS", "5"}}));
            id = first.record().id;
        } // gone without a word, as after a crash
        QVERIFY(RunFolder(m_root, id).load()->status == RunStatus::Running);
        QVERIFY(!processesOf(id).empty());
        RunController second(options());
        second.attach(id);
        waitForEnd(second);
        QVERIFY(second.state() == State::Finished);
        const RunFolder folder(m_root, id);
        for (const TaskPlace& place : second.record().tasks)
            QCOMPARE(*files::read(folder.eventsPath(place.task, 1)),
                     *files::read(place.runFolder + "/events.jsonl"));
        QCOMPARE(second.store().loss().size(), std::size_t{300});
    }

    void finishesARunThatEndedWhileNobodyLooked() {
        std::string id;
        {
            RunController first(options());
            startAndTrain(first, request(2));
            id = first.record().id;
        }
        QTRY_VERIFY_WITH_TIMEOUT(processesOf(id).empty(), 20'000);
        RunController second(options());
        second.attach(id);
        waitForEnd(second);
        QVERIFY(second.state() == State::Finished);
        QVERIFY(RunFolder(m_root, id).load()->model);
    }

    void readsBesideAnotherWriterAndTakesOver() {
        auto writer = std::make_unique<RunController>(options());
        startAndTrain(*writer, request(2, {{"FAKE_STEPS", "200"}, {"FAKE_STEP_MS", "5"}}));
        RunController reader(options());
        reader.attach(writer->record().id);
        QTRY_VERIFY_WITH_TIMEOUT(reader.store().loss().size() > 5, 20'000);
        QVERIFY(reader.isReadOnly());
        writer.reset();
        QTRY_VERIFY_WITH_TIMEOUT(!reader.isReadOnly(), 20'000);
        waitForEnd(reader);
        QVERIFY(reader.state() == State::Finished);
        QCOMPARE(reader.store().loss().size(), std::size_t{400});
        QCOMPARE(reader.store().loss().merged(), 1);
    }

    void readerSeesTheWritersEndAndMayStop() {
        RunController writer(options());
        startAndTrain(writer, request(2, {{"FAKE_STEPS", "100000"}}));
        RunController reader(options());
        reader.attach(writer.record().id);
        QTRY_VERIFY_WITH_TIMEOUT(reader.isCaughtUp(), 20'000);
        reader.stop();
        waitForEnd(writer);
        waitForEnd(reader);
        QVERIFY(writer.state() == State::Stopped);
        QVERIFY(reader.state() == State::Stopped);
        QCOMPARE(processesOf(writer.record().id).size(), std::size_t{0});
    }

    void resumesALaunchThatWasInterrupted() {
        std::string id;
        {
            RunController first(options());
            first.launch(request(3, {{"FAKE_STEPS", "50"}}));
            QTRY_VERIFY_WITH_TIMEOUT(first.state() == State::Launching, 20'000);
            id = first.record().id;
        }
        RunController second(options());
        second.attach(id);
        waitForEnd(second);
        QVERIFY2(second.state() == State::Finished,
                 second.record().failure ? second.record().failure->reason.c_str() : "");
        QCOMPARE(second.store().loss().size(), std::size_t{100});
    }

    void stopsWhileItChecks() {
        RunController controller(options());
        controller.launch(request(2));
        controller.stop();
        waitForEnd(controller);
        QVERIFY(controller.state() == State::Stopped);
        QVERIFY(controller.record().id.empty());
    }
};

QTEST_GUILESS_MAIN(TstLocalRuns)
#include "tst_local_runs.moc"
