// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// The user's own program as a job, on this machine, through the real agent. A shell script stands
// in for a TensorFlow program and prints Keras' lines.
#include "core/base/files.h"
#include "core/metrics/csv.h"
#include "core/run/port_check.h"
#include "core/run/run_controller.h"
#include "core/run/run_folder.h"

#include <QDir>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include <unistd.h>

using namespace lockstep;
using namespace lockstep::run;

class TstCommands : public QObject {
    Q_OBJECT

    QTemporaryDir m_data;
    std::string m_root;

    std::string path(const std::string& name) const {
        return m_data.path().toStdString() + "/" + name;
    }

    void write(const std::string& name, const std::string& text, unsigned mode = 0644) const {
        QVERIFY(files::makeFolders(path(name).substr(0, path(name).rfind('/'))));
        QVERIFY(files::writeAtomic(path(name), text, files::Durability::Renamed, mode));
    }

    void writeStandIn() const {
        const auto script =
            files::read(LOCKSTEP_SOURCE_DIR "/tests/core/run/data/keras_stand_in.sh");
        QVERIFY(script);
        write("own/train.sh", *script, 0755);
    }

    ControllerOptions options() const {
        ControllerOptions options;
        options.root = m_root;
        options.hosts = defaultHosts(QStringLiteral(LOCKSTEP_BIN_DIR "/lockstep-worker"));
        options.stopGrace = std::chrono::milliseconds(400);
        return options;
    }

    LaunchRequest request(int workers, const std::string& members) const {
        LaunchRequest request;
        const auto port = findFreePorts(workers + 1, 36'000);
        request.cluster = cluster::localCluster(workers, port.value_or(0)).document();
        auto job = json::parse(R"({"format": "lockstep-job", "version": 1, "name": "own",
            "kind": "command", )" + members +
                                   "}",
                               "job");
        request.job = job ? std::move(*job) : json::Value();
        request.jobFile = path("own.job.json");
        return request;
    }

    static void waitForEnd(RunController& controller) {
        QTRY_VERIFY_WITH_TIMEOUT(isFinal(controller.state()), 40'000);
    }

    static std::string whyOf(const RunController& controller) {
        if (controller.record().failure)
            return controller.record().failure->reason;
        return controller.problems().empty() ? stateName(controller.state())
                                             : describe(controller.problems().front());
    }

    static std::vector<metrics::LogLine> linesOf(const RunController& controller,
                                                 metrics::Origin origin) {
        std::vector<metrics::LogLine> lines;
        for (const metrics::LogLine& line : controller.store().log())
            if (line.origin == origin)
                lines.push_back(line);
        return lines;
    }

    static bool isSaid(const RunController& controller, const std::string& words) {
        for (const auto& line : linesOf(controller, metrics::Origin::Control))
            if (line.text.find(words) != std::string::npos)
                return true;
        return false;
    }

private Q_SLOTS:
    void initTestCase() {
        m_root = path("lockstep");
        qputenv("XDG_DATA_HOME", m_data.path().toUtf8());
    }

    void chartsWhatTwoWorkersPrint() {
        writeStandIn();
        RunController controller(options());
        std::vector<double> losses;
        connect(&controller, &RunController::updated, this, [&] {
            if (losses.size() < controller.store().loss().size())
                losses.push_back(controller.store().loss().lastValue());
        });
        controller.launch(request(2, R"("argv": ["./train.sh"], "push": "own")"));
        waitForEnd(controller);
        QVERIFY2(controller.state() == State::Finished, whyOf(controller).c_str());
        QCOMPARE(controller.exitCode(), 0);
        // Not all at its end: a line that is redrawn is read while it is.
        QVERIFY(losses.size() >= 4);
        const metrics::Store& store = controller.store();
        // The redraws of a chief among two hold sums.
        const auto drawn = store.loss().decimate(0, 100, 100).columns;
        QCOMPARE(drawn.size(), std::size_t{9});
        QCOMPARE(drawn[0].mean, static_cast<double>(1.4F / 2));
        QCOMPARE(drawn[8].x, 12.0);
        QCOMPARE(drawn[8].mean, static_cast<double>(0.5F));
        QCOMPARE(store.epochs().size(), std::size_t{3});
        QCOMPARE(store.epochValueNames(), (std::vector<std::string>{"loss", "mae", "val_loss"}));
        for (const metrics::Worker* worker : store.workers())
            QCOMPARE(worker->of(metrics::Quantity::StepMs).lastValue(), 12.0);
        QCOMPARE(json::dump(*controller.result().find("final")),
                 std::string(R"({"epoch":3,"loss":0.5,"mae":0.25,"val_loss":0.5})"));
        // The same from the folder of the run and from the host's own files.
        const RunRecord& record = controller.record();
        const auto here = readEventsFiles(RunFolder(m_root, record.id).path());
        const std::string hostFolder = record.tasks[0].runFolder.substr(
            0, record.tasks[0].runFolder.find(record.id) + record.id.size());
        const auto there = readEventsFiles(hostFolder);
        QVERIFY(here && there);
        const metrics::Csv csv = metrics::toCsv(*here);
        QCOMPARE(csv.text, metrics::toCsv(*there).text);
        QCOMPARE(std::count(csv.text.begin(), csv.text.end(), '\n'), 1 + 2 * (9 + 3));
        QVERIFY(csv.text.find("\nepoch,worker:1,1,3,9,12,20") != std::string::npos);
    }

    void keepsTheTimesOfLinesForAReader() {
        writeStandIn();
        RunController controller(options());
        controller.launch(request(3, R"("argv": ["./train.sh"], "push": "own")"));
        waitForEnd(controller);
        QVERIFY2(controller.state() == State::Finished, whyOf(controller).c_str());
        const auto live = linesOf(controller, metrics::Origin::Output);
        QCOMPARE(live.size(), std::size_t{3 * 7});
        QVERIFY(live.back().time - live.front().time > 0.7); // six pauses of 0.15 s
        QVERIFY(std::is_sorted(live.begin(), live.end(),
                               [](const auto& a, const auto& b) { return a.time < b.time; }));

        RunController again(options());
        again.attach(controller.record().id);
        waitForEnd(again);
        const auto reopened = linesOf(again, metrics::Origin::Output);
        QCOMPARE(reopened.size(), live.size());
        const auto timesOf = [](const std::vector<metrics::LogLine>& lines) {
            std::multimap<std::string, double> times;
            for (const auto& line : lines)
                times.emplace(line.task + " " + line.text, line.time);
            return times;
        };
        QVERIFY(timesOf(reopened) == timesOf(live));
        QCOMPARE(again.store().loss().size(), controller.store().loss().size());
        QCOMPARE(json::dump(again.result()), json::dump(controller.result()));
    }

    void missesNothingWhileNobodyLooks() {
        writeStandIn();
        std::string id;
        {
            RunController controller(options());
            controller.launch(request(1, R"("argv": ["./train.sh"], "push": "own")"));
            QTRY_VERIFY_WITH_TIMEOUT(controller.state() == State::Training, 20'000);
            id = controller.record().id;
            controller.detach();
            waitForEnd(controller);
            QVERIFY(controller.state() == State::Detached);
        }
        RunController controller(options());
        controller.attach(id);
        waitForEnd(controller);
        QVERIFY2(controller.state() == State::Finished, whyOf(controller).c_str());
        const auto lines = linesOf(controller, metrics::Origin::Output);
        QCOMPARE(lines.size(), std::size_t{7});
        // Each has the time at which it was printed, not at which it was fetched.
        QVERIFY(lines[2].time - lines[1].time > 0.2);
        QVERIFY(lines[4].time - lines[2].time > 0.2);
        QCOMPARE(controller.store().epochs().size(), std::size_t{3});
    }

    void sendsOnlyFilesThatChanged() {
        write("big/run.sh", "#!/bin/sh\ncat data/a data/b\n", 0755);
        write("big/data/a", "one\n");
        write("big/data/b", std::string(200'000, 'x') + "\n");
        write("big/__pycache__/c.pyc", "never");
        const auto launch = [&](RunController& controller) {
            controller.launch(request(2, R"("argv": ["./run.sh"], "push": "big")"));
            waitForEnd(controller);
        };
        RunController first(options());
        launch(first);
        QVERIFY2(first.state() == State::Finished, whyOf(first).c_str());
        QVERIFY(isSaid(first, "big: 3 files, 200.0 KB."));
        QVERIFY(isSaid(first, " got 3 files that it lacked"));
        RunController second(options());
        launch(second);
        QVERIFY(second.state() == State::Finished);
        QVERIFY(isSaid(second, "has all files of the folder already"));
        write("big/data/a", "two\n");
        RunController third(options());
        launch(third);
        QVERIFY(third.state() == State::Finished);
        QVERIFY(isSaid(third, " got 1 file that it lacked, 4 bytes."));
        QCOMPARE(linesOf(third, metrics::Origin::Output).front().text, std::string("two"));
        const auto home =
            files::read(third.record().tasks[0].runFolder + "/../../job/push/__pycache__/c.pyc");
        QVERIFY(!home);
    }

    void startsAnEvaluatorToo() {
        LaunchRequest wanted = request(2, R"("argv": ["sh", "-c", "echo $0 $TF_CONFIG", "common"],
            "tasks": {"evaluator:0": {"argv": ["sh", "-c", "echo own $TF_CONFIG"]}})");
        cluster::ClusterSpec spec(wanted.cluster);
        cluster::Worker evaluator;
        evaluator.type = cluster::TaskType::Evaluator;
        evaluator.address = "127.0.0.1:" + std::to_string(*findFreePorts(3, 36'100) + 2);
        spec.add(evaluator);
        wanted.cluster = spec.document();
        RunController controller(options());
        controller.launch(wanted);
        waitForEnd(controller);
        QVERIFY2(controller.state() == State::Finished, whyOf(controller).c_str());
        QCOMPARE(controller.record().tasks.size(), std::size_t{3});
        std::map<std::string, std::string> said;
        for (const auto& line : linesOf(controller, metrics::Origin::Output))
            said[line.task] = line.text;
        QVERIFY(said["worker:1"].starts_with("common {\"cluster\":{\"worker\":["));
        QVERIFY(said["worker:1"].ends_with(R"("task":{"type":"worker","index":1}})"));
        QVERIFY(said["evaluator:0"].starts_with("own {\"cluster\":{"));
        QVERIFY(said["evaluator:0"].ends_with(R"("task":{"type":"evaluator","index":0}})"));
    }

    void handsOnWhatIsAllowedOfTheEnvironment() {
        // As a shell exports them, and as none can.
        qputenv("FOO.BAR", "1");
        qputenv("BASH_FUNC_m%%", "() { echo; }");
        qputenv("OWN_A", "x\ny");
        LaunchRequest wanted = request(1, "\"argv\": [\"sh\", \"-c\", \"printf '%s|%s|%s\\n' "
                                          "\\\"$OWN_A\\\" \\\"$B\\\" \\\"$C\\\"; env\"], "
                                          "\"env\": {\"B\": \"job\", \"C\": \"job\"}, "
                                          "\"pass_env\": [\"OWN_*\", \"FOO*\", \"BASH*\"]");
        cluster::ClusterSpec spec(wanted.cluster);
        cluster::Worker worker = spec.workers()[0];
        worker.env = {{"C", "this worker's"}};
        spec.set(0, worker);
        wanted.cluster = spec.document();
        RunController controller(options());
        controller.launch(wanted);
        waitForEnd(controller);
        for (const char* name : {"FOO.BAR", "BASH_FUNC_m%%", "OWN_A"})
            qunsetenv(name);
        QVERIFY2(controller.state() == State::Finished, whyOf(controller).c_str());
        const auto lines = linesOf(controller, metrics::Origin::Output);
        QVERIFY(lines.size() > 2);
        QCOMPARE(lines[0].text + "\n" + lines[1].text, std::string("x\ny|job|this worker's"));
        bool isUnbuffered = false;
        for (const auto& line : lines) {
            QVERIFY(!line.text.starts_with("FOO.BAR") && !line.text.starts_with("BASH_FUNC"));
            isUnbuffered = isUnbuffered || line.text == "PYTHONUNBUFFERED=1";
        }
        QVERIFY(isUnbuffered);
        QVERIFY(isSaid(controller, "Not handed on, since their names are none to a shell: "));
        QVERIFY(isSaid(controller, "FOO.BAR"));
        QVERIFY(isSaid(controller, "BASH_FUNC_m%%"));
        // The list for the task is told, with names alone.
        QVERIFY(isSaid(controller, "with B, C, OWN_A, PYTHONUNBUFFERED, TF_CONFIG."));
        QVERIFY(!isSaid(controller, "this worker's"));
    }

    void showsNoClusterInTheListOfProcesses() {
        RunController controller(options());
        controller.launch(
            request(2, R"("argv": ["sleep", "60"], "env": {"API_TOKEN": "t0ps3cret"})"));
        QTRY_VERIFY_WITH_TIMEOUT(controller.state() == State::Training, 20'000);
        int ours = 0;
        const auto names = QDir(QStringLiteral("/proc")).entryList(QDir::Dirs);
        for (const QString& name : names) {
            const auto line = files::read("/proc/" + name.toStdString() + "/cmdline");
            if (!line)
                continue;
            QVERIFY2(line->find("\"cluster\"") == std::string::npos, line->c_str());
            QVERIFY2(line->find("t0ps3cret") == std::string::npos, line->c_str());
            ours += line->starts_with(std::string("sleep\0"
                                                  "60",
                                                  8))
                        ? 1
                        : 0;
        }
        QVERIFY(ours >= 2);
        controller.stop();
        waitForEnd(controller);
        QVERIFY2(controller.state() == State::Stopped, whyOf(controller).c_str());
        QCOMPARE(controller.exitCode(), 1);
    }

    void failsAsAWholeWhereOneProgramFails() {
        RunController controller(options());
        controller.launch(request(2, R"("argv": ["sleep", "60"], "tasks": {"worker:1": {"argv":
            ["sh", "-c", "echo no luck >&2; exit 7"]}})"));
        waitForEnd(controller);
        QVERIFY(controller.state() == State::Failed);
        QCOMPARE(controller.exitCode(), 1);
        QCOMPARE(controller.record().failure->task, std::string("worker:1"));
        const std::string why = controller.record().failure->reason;
        QVERIFY2(why.find("exit code 7") != std::string::npos, why.c_str());
        QVERIFY2(why.find("no luck") != std::string::npos, why.c_str());
    }

    void saysWhyAProgramDoesNotStart_data() {
        QTest::addColumn<QString>("members");
        QTest::addColumn<bool>("isRefused");
        QTest::addColumn<QString>("words");
        QTest::newRow("not in PATH") << R"("argv": ["no-such-python", "x.py"])" << false
                                     << "There is no program \"no-such-python\" on this host";
        QTest::newRow("no such file")
            << R"("argv": ["/opt/no/python"])" << false << "There is no file";
        QTest::newRow("no interpreter") << R"("argv": ["./wrong.py"], "push": "bad")" << false
                                        << "names the interpreter \"/opt/none/python\"";
        QTest::newRow("not pushed") << R"("argv": ["./none.py"], "push": "bad")" << true
                                    << "The pushed folder has no file none.py";
        QTest::newRow("no x bit") << R"("argv": ["./plain.py"], "push": "bad")" << true
                                  << "lacks the x bit";
        QTest::newRow("no folder")
            << R"("argv": ["./plain.py"], "push": "nowhere")" << true << "There is no folder";
        QTest::newRow("no working directory")
            << R"("argv": ["true"], "working_directory": "/no/such/folder")" << false
            << "Could not enter";
    }
    void saysWhyAProgramDoesNotStart() {
        QFETCH(QString, members);
        QFETCH(bool, isRefused);
        QFETCH(QString, words);
        write("bad/wrong.py", "#!/opt/none/python\n", 0755);
        write("bad/plain.py", "print(1)\n");
        RunController controller(options());
        controller.launch(request(1, members.toStdString()));
        waitForEnd(controller);
        QVERIFY(controller.state() == (isRefused ? State::Refused : State::Failed));
        QVERIFY2(QString::fromStdString(whyOf(controller)).contains(words),
                 whyOf(controller).c_str());
    }
};

QTEST_GUILESS_MAIN(TstCommands)
#include "tst_commands.moc"
