// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// What no real host does on demand: the controller's states over hosts that follow a script.
#include "core/agent/protocol.h"
#include "core/base/files.h"
#include "core/base/hash.h"
#include "core/job/job_spec.h"
#include "core/run/port_check.h"
#include "core/run/run_controller.h"
#include "core/run/run_folder.h"

#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>

using namespace lockstep;
using namespace lockstep::run;

namespace {

struct Script {
    std::string failAt; ///< deploy, prepare, put, supervise
    int breakStreams = 0;
    bool holdStreams = false; ///< they stay open and say nothing
    Code code = Code::Unreachable;
    bool leaveProcess = false;
    QStringList calls;
    std::vector<std::vector<std::pair<std::string, std::int64_t>>> follows;
};

std::string eventsOf(const std::string& task) {
    wire::Started started;
    started.task = task;
    started.rank = task == "worker:0" ? 0 : 1;
    std::string text = wire::encode({1, started});
    for (int step = 1; step <= 3; ++step) {
        wire::Steps steps;
        steps.first = steps.last = step;
        text += wire::encode({2, steps});
    }
    if (task == "worker:0")
        text += wire::encode(
            {3, wire::FileWritten{"model", "model.safetensors", 5, toHex(sha256("model"))}});
    wire::Finished end;
    end.digest = "d";
    return text + wire::encode({4, end});
}

class ScriptedStream : public remote::Stream {
    Q_OBJECT
public:
    ScriptedStream(Script* script, const agent::FollowRequest& request)
        : m_script(script)
        , m_request(request) {
        QTimer::singleShot(0, this, [this] { play(); });
    }
    void close() override { finish(Error{Code::Cancelled, "closed", {}}); }
    bool isClosed() const override { return m_isClosed; }

private:
    void send(const agent::FollowItem& item) {
        if (!m_isClosed)
            Q_EMIT lineReceived(QByteArray::fromStdString(agent::encode(item)).trimmed());
    }
    void finish(const Result<remote::Exit>& end) {
        if (std::exchange(m_isClosed, true))
            return;
        Q_EMIT closed(end, {});
    }
    void play() {
        if (m_script->holdStreams)
            return;
        const std::string task =
            m_request.runDir.find("/worker-0/") != std::string::npos ? "worker:0" : "worker:1";
        const std::string events = eventsOf(task);
        const auto offset = static_cast<std::size_t>(m_request.offsets[0].second);
        if (m_script->breakStreams > 0) {
            // Half a line, then the connection is gone.
            --m_script->breakStreams;
            const std::size_t count = std::min<std::size_t>(events.size() - offset, 100);
            send(agent::FileBytes{"events.jsonl", static_cast<std::int64_t>(offset),
                                  events.substr(offset, count)});
            return finish(Error{Code::Unreachable, "The connection broke.", {}});
        }
        send(agent::FileBytes{"events.jsonl", static_cast<std::int64_t>(offset),
                              events.substr(offset)});
        agent::ProcessState state;
        state.phase = agent::Phase::Exited;
        state.task = task;
        state.exitCode = 0;
        state.endedAt = 5;
        send(state);
        send(agent::End{});
        finish(remote::Exit{});
    }

    Script* m_script;
    agent::FollowRequest m_request;
    bool m_isClosed = false;
};

class ScriptedHost : public remote::Host {
    Q_OBJECT
public:
    explicit ScriptedHost(Script* script)
        : m_script(script) {}

    QString name() const override { return QStringLiteral("scripted"); }
    RequestId deploy(Done<QString> done, remote::Milliseconds) override {
        return answer(done, "deploy", QStringLiteral("0.1.0"));
    }
    RequestId prepare(const QString&, Done<remote::HostFacts> done, remote::Milliseconds) override {
        remote::HostFacts facts;
        facts.base = QStringLiteral("/base");
        facts.machineFolder = QStringLiteral("m");
        facts.workerProgram = QStringLiteral("/w");
        return answer(done, "prepare", facts);
    }
    RequestId run(const remote::Command& command, const QByteArray&, Done<remote::Output> done,
                  remote::Milliseconds) override {
        const std::string what = command.args.value(0).toStdString();
        remote::Output output;
        if (what == "describe")
            output.out = "{\"problems\":[]}";
        if (what == "supervise")
            output.out = QByteArray::fromStdString(agent::encode(agent::SuperviseReply{}));
        if (what == "stop") {
            agent::StopReply reply;
            if (m_script->leaveProcess)
                reply.remaining = {{42, "zombie"}};
            output.out = QByteArray::fromStdString(agent::encode(reply));
        }
        return answer(done, what, output);
    }
    std::unique_ptr<remote::Stream> start(const remote::Command&, const QByteArray& input,
                                          remote::Milliseconds) override {
        const auto request = agent::decodeFollowRequest(input.trimmed().toStdString());
        m_script->follows.push_back(request->offsets);
        return std::make_unique<ScriptedStream>(m_script, *request);
    }
    RequestId makeFolder(const QString&, unsigned, Done<void> done, remote::Milliseconds) override {
        return answer(done, "folder", {});
    }
    RequestId info(const QString&, Done<remote::FileFacts> done, remote::Milliseconds) override {
        return answer(done, "info", remote::FileFacts{});
    }
    RequestId put(const QString&, const QByteArray&, unsigned, Done<void> done,
                  remote::Milliseconds) override {
        return answer(done, "put", {});
    }
    RequestId putFile(const QString&, const QString&, unsigned, Progress, Done<void> done,
                      remote::Milliseconds) override {
        return answer(done, "put", {});
    }
    RequestId fetch(const QString&, Done<QByteArray> done, remote::Milliseconds) override {
        return answer(done, "fetch", QByteArray());
    }
    RequestId fetchFile(const QString&, const QString& local, Progress, Done<void> done,
                        remote::Milliseconds) override {
        (void)files::writeAtomic(local.toStdString(), "model");
        return answer(done, "fetch", {});
    }
    void cancel(RequestId) override {}

private:
    template <class T>
    RequestId answer(Done<T> done, const std::string& what, Result<T> value) {
        m_script->calls << QString::fromStdString(what);
        if (what == m_script->failAt)
            value = Error{m_script->code, "Scripted failure.", {}};
        QTimer::singleShot(0, this, [done, value] { done(value); });
        return ++m_last;
    }
    template <class T>
    RequestId answer(Done<T> done, const std::string& what, const T& value) {
        return answer<T>(done, what, Result<T>(value));
    }
    RequestId answer(Done<void> done, const std::string& what, Status value) {
        return answer<void>(done, what, std::move(value));
    }

    Script* m_script;
    RequestId m_last = 0;
};

} // namespace

class TstScriptedHosts : public QObject {
    Q_OBJECT

    QTemporaryDir m_data;

    ControllerOptions optionsFor(Script& script) {
        ControllerOptions options;
        options.root = m_data.path().toStdString();
        options.hosts = [&script](const cluster::Worker&) -> Result<std::shared_ptr<remote::Host>> {
            std::shared_ptr<remote::Host> host = std::make_shared<ScriptedHost>(&script);
            return host;
        };
        return options;
    }

    std::unique_ptr<RunController> launch(Script& script, std::vector<State>* states = nullptr) {
        auto controller = std::make_unique<RunController>(optionsFor(script));
        if (states)
            connect(controller.get(), &RunController::stateChanged, this,
                    [states](State state) { states->push_back(state); });
        LaunchRequest request;
        request.cluster = cluster::localCluster(2, findFreePorts(2, 31'000).value_or(0)).document();
        request.job = job::newJobDocument("scripted");
        controller->launch(std::move(request));
        return controller;
    }

private Q_SLOTS:
    void goesThroughItsStatesInOrder() {
        Script script;
        std::vector<State> states;
        const auto controller = launch(script, &states);
        QTRY_VERIFY(isFinal(controller->state()));
        using enum State;
        QCOMPARE(states, (std::vector<State>{Validating, PreparingHosts, Deploying, Launching,
                                             Joining, Training, Finishing, Finished}));
        QVERIFY(!script.calls.contains(QStringLiteral("stop")));
    }

    void refusesWhatFailsBeforeAWorkerStarts_data() {
        QTest::addColumn<QString>("step");
        for (const char* step : {"deploy", "prepare", "describe", "put"})
            QTest::newRow(step) << step;
    }
    void refusesWhatFailsBeforeAWorkerStarts() {
        QFETCH(QString, step);
        Script script;
        script.failAt = step.toStdString();
        const auto controller = launch(script);
        QTRY_VERIFY(isFinal(controller->state()));
        QVERIFY(controller->state() == State::Refused);
        QCOMPARE(controller->exitCode(), 2);
        QVERIFY(describe(controller->problems().back()).find("Scripted failure.") !=
                std::string::npos);
        QVERIFY(!script.calls.contains(QStringLiteral("supervise")));
        QVERIFY(controller->record().id.empty());
    }

    void stopsTheOthersWhereOneCannotBeStarted() {
        Script script;
        script.failAt = "supervise";
        const auto controller = launch(script);
        QTRY_VERIFY(isFinal(controller->state()));
        QVERIFY(controller->state() == State::Failed);
        QCOMPARE(controller->record().failure->task, std::string("worker:0"));
        QVERIFY(script.calls.contains(QStringLiteral("stop")));
    }

    void saysWhichProcessesAStopLeft() {
        Script script;
        script.failAt = "supervise";
        script.leaveProcess = true;
        const auto controller = launch(script);
        QTRY_VERIFY(isFinal(controller->state()));
        QVERIFY(controller->record().failure->reason.find("zombie (42)") != std::string::npos);
    }

    void followsOnWhereAConnectionBroke() {
        Script script;
        script.breakStreams = 5;
        const auto controller = launch(script);
        QTRY_VERIFY_WITH_TIMEOUT(isFinal(controller->state()), 20'000);
        QVERIFY(controller->state() == State::Finished);
        QCOMPARE(script.follows.size(), std::size_t{7});
        const RunFolder folder(m_data.path().toStdString(), controller->record().id);
        QCOMPARE(*files::read(folder.eventsPath("worker:0", 1)), eventsOf("worker:0"));
        QCOMPARE(*files::read(folder.eventsPath("worker:1", 1)), eventsOf("worker:1"));
        QCOMPARE(controller->store().loss().size(), std::size_t{3});
    }

    /// A run that goes on and that nobody watches; its id.
    std::string leave(Script& script) {
        script.holdStreams = true;
        const auto controller = launch(script);
        if (!QTest::qWaitFor([&] { return controller->state() == State::Joining; }))
            return {};
        controller->detach();
        if (!QTest::qWaitFor([&] { return controller->state() == State::Detached; }))
            return {};
        return controller->record().id;
    }

    void waitsForAHostThatIsAwayWhenItAttaches() {
        Script script;
        const std::string id = leave(script);
        QVERIFY(!id.empty());
        script.failAt = "deploy";
        script.calls.clear();
        RunController controller(optionsFor(script));
        controller.attach(id);
        // Two hosts, two tries.
        QTRY_VERIFY(script.calls.count(QStringLiteral("deploy")) >= 4);
        QVERIFY(!isFinal(controller.state()));
        script.failAt.clear();
        script.holdStreams = false;
        QTRY_VERIFY_WITH_TIMEOUT(isFinal(controller.state()), 10'000);
        QVERIFY(controller.state() == State::Finished);
        const RunFolder folder(m_data.path().toStdString(), id);
        QCOMPARE(*files::read(folder.eventsPath("worker:1", 1)), eventsOf("worker:1"));
    }

    void leavesARunAloneThatItMayNotReach() {
        Script script;
        const std::string id = leave(script);
        script.failAt = "deploy";
        script.code = Code::HostKeyChanged;
        RunController controller(optionsFor(script));
        controller.attach(id);
        QTRY_VERIFY(isFinal(controller.state()));
        QVERIFY(controller.state() == State::Detached);
        QVERIFY(!controller.problems().empty());
        // Still running in the record: nothing was learned about it.
        const RunFolder folder(m_data.path().toStdString(), id);
        QVERIFY(folder.load()->status == RunStatus::Running);
    }

    void stopsWhatItReachesAndNamesTheRest() {
        Script script;
        const std::string id = leave(script);
        script.failAt = "deploy";
        RunController controller(optionsFor(script));
        controller.attach(id);
        controller.stop();
        QTRY_VERIFY_WITH_TIMEOUT(isFinal(controller.state()), 20'000);
        QVERIFY(script.calls.contains(QStringLiteral("stop")));
    }

    void failsWhereTheModelCannotBeFetched() {
        Script script;
        script.failAt = "fetch";
        const auto controller = launch(script);
        QTRY_VERIFY(isFinal(controller->state()));
        QVERIFY(controller->state() == State::Failed);
        QVERIFY(controller->record().failure->reason.find("could not be fetched") !=
                std::string::npos);
    }
};

QTEST_GUILESS_MAIN(TstScriptedHosts)
#include "tst_scripted_hosts.moc"
