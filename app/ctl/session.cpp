// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "app/ctl/session.h"

#include "app/ctl/options.h"
#include "app/ctl/signals.h"
#include "core/run/run_folder.h"

#include <QCoreApplication>
#include <QTimer>

#include <cmath>

namespace lockstep::ctl {

namespace {

using namespace std::chrono_literals;
using run::State;

/// What a look at a run that goes on may take.
constexpr auto kLookDeadline = 20s;
/// After the last bytes, for a run that just ended to be judged.
constexpr auto kEndGrace = 1500ms;

run::ControllerOptions optionsFor(Hosts& hosts) {
    run::ControllerOptions options;
    options.hosts = hosts.factory();
    return options;
}

std::string withAddress(const run::RunRecord& record, const std::string& task) {
    const run::TaskPlace* place = record.find(task);
    return place ? task + " (" + place->address + ")" : task;
}

} // namespace

std::string shortNumber(double value) {
    char text[64];
    std::snprintf(text, sizeof text, "%.4g", value);
    return text;
}

Session::Session(SessionOptions options)
    : m_options(options)
    , m_out(options.json ? stderr : stdout)
    , m_controller(optionsFor(m_hosts)) {
    using run::RunController;
    connect(&m_controller, &RunController::placed, this, &Session::placed);
    connect(&m_controller, &RunController::stateChanged, this, &Session::changed);
    connect(&m_controller, &RunController::updated, this, &Session::updated);
    connect(&m_controller, &RunController::confirmationWanted, this, &Session::confirm);
    connect(&m_controller, &RunController::outputReceived, this,
            [this](const QString& task, const QString& line) { printOutput(task, line, m_out); });
    connect(&m_controller, &RunController::errorOutputReceived, this,
            [this](const QString& task, const QString& line) {
                if (m_controller.record().isCommand())
                    printOutput(task, line, stderr);
            });
}

/// The engine's workers say the same, so its chief speaks for all; a program of the user's own is
/// shown on every worker.
void Session::printOutput(const QString& task, const QString& line, std::FILE* to) {
    const auto& tasks = m_controller.record().tasks;
    if (m_controller.record().isCommand() && tasks.size() > 1)
        std::fprintf(to, "[%s] %s\n", task.toUtf8().constData(), line.toUtf8().constData());
    else if (!tasks.empty() && task.toStdString() == tasks.front().task)
        std::fprintf(to, "%s\n", line.toUtf8().constData());
    std::fflush(to);
}

int Session::exec() {
    Signals signals;
    connect(&signals, &Signals::interrupted, this, &Session::interrupted);
    connect(&m_controller, &run::RunController::done, qApp, &QCoreApplication::quit,
            Qt::QueuedConnection);
    QCoreApplication::exec();
    return conclude();
}

void Session::placed() {
    const run::RunRecord& record = m_controller.record();
    std::fprintf(m_out, "Run %s: %s on %zu worker%s\n", record.id.c_str(), record.name.c_str(),
                 record.tasks.size(), record.tasks.size() == 1 ? "" : "s");
    for (const run::TaskPlace& place : record.tasks)
        std::fprintf(m_out, "  %-10s %-21s on %s\n", place.task.c_str(), place.address.c_str(),
                     place.hostName.c_str());
}

void Session::changed(State state) {
    printNewProblems();
    if (state == State::Checking)
        std::fprintf(m_out, "Checking the hosts.\n");
    if (state == State::Training)
        std::fprintf(m_out,
                     m_controller.record().isCommand() ? "All %zu programs are started.\n"
                                                       : "All %zu workers have joined.\n",
                     m_controller.record().tasks.size());
    if (state == State::Stopping)
        std::fprintf(m_out, "Ending what still runs.\n");
    if (m_options.detach && (state == State::Joining || state == State::Training))
        m_controller.detach();
}

/// Warnings as they are found; errors come last, with the refusal.
void Session::printNewProblems() {
    const Problems& all = m_controller.problems();
    printProblems(
        Problems(all.begin() + static_cast<std::ptrdiff_t>(m_problemsPrinted), all.end()));
    m_problemsPrinted = all.size();
}

void Session::confirm() {
    printNewProblems();
    m_hosts.prompts().confirm(
        QStringLiteral("Launch in spite of this?"), [this](std::optional<bool> answer) {
            if (!answer)
                std::fprintf(stderr, "There is no terminal to ask you. --yes launches in spite of "
                                     "warnings.\n");
            m_controller.confirm(answer.value_or(false));
        });
}

void Session::updated() {
    printHosts();
    if (m_controller.state() == State::Joining)
        printJoin();
    printWarnings();
}

/// A line for each step of a host that is not this machine.
void Session::printHosts() {
    using Stage = run::HostProgress::Stage;
    for (const run::HostProgress& progress : m_controller.hostProgress()) {
        Stage& known = m_stages[progress.host];
        const bool isLooking = progress.stage == Stage::Deploying && progress.total == 0;
        if (!progress.isRemote || known == progress.stage || isLooking)
            continue;
        known = progress.stage;
        const char* host = progress.host.c_str();
        if (known == Stage::Connecting)
            std::fprintf(m_out, "%s: connecting\n", host);
        else if (known == Stage::Deploying)
            std::fprintf(m_out, "%s: sending the worker program, %.1f MiB\n", host,
                         static_cast<double>(progress.total) / (1 << 20));
        else if (known == Stage::Ready)
            std::fprintf(m_out, "%s: ready\n", host);
    }
    std::fflush(m_out);
}

void Session::printJoin() {
    for (const metrics::Worker* worker : m_controller.store().workers()) {
        if (worker->phase != wire::Phase::Joining || worker->waitingFor.empty())
            continue;
        if (worker->waitingFor == m_missing)
            return;
        m_missing = worker->waitingFor;
        std::string names;
        for (const std::string& task : m_missing)
            names += (names.empty() ? "" : ", ") + withAddress(m_controller.record(), task);
        std::fprintf(m_out, "Waiting for %s to join, %.0f s left.\n", names.c_str(),
                     worker->joinDeadlineSeconds);
        return;
    }
}

void Session::printWarnings() {
    const auto& log = m_controller.store().log();
    for (std::size_t i = m_controller.store().firstLogLineAfter(m_logSeen); i < log.size(); ++i)
        if (log[i].generation > m_logSeen && log[i].level >= wire::Level::Warning &&
            log[i].origin == metrics::Origin::Event)
            std::fprintf(stderr, "[%s] %s\n", log[i].task.c_str(), log[i].text.c_str());
        else if (log[i].generation > m_logSeen && log[i].level <= wire::Level::Warning &&
                 log[i].origin == metrics::Origin::Control)
            std::fprintf(m_out, "%s\n", log[i].text.c_str());
    m_logSeen = m_controller.store().generation();
}

void Session::interrupted() {
    if (++m_interrupts == 1) {
        std::fprintf(stderr, "Stopping the run; once more leaves the workers running.\n");
        m_controller.stop();
    } else {
        m_controller.detach();
    }
}

std::string Session::headline() const {
    const json::Value result = m_controller.result();
    std::string text;
    const json::Value* final = result.find("final");
    if (final && final->isObject())
        for (const json::Member& member : final->members())
            if (member.value.isNumber() && member.key != "epoch")
                text += (text.empty() ? "" : ", ") + member.key + " " +
                        shortNumber(member.value.toNumber());
    const json::Value* rate = result.find("samples_per_second");
    if (rate && rate->isNumber())
        text += (text.empty() ? "" : "; ") + std::to_string(std::llround(rate->toNumber())) +
                " samples/s";
    return text;
}

/// The last 20 lines of the one to blame.
void Session::printLastWords(const std::string& task) const {
    std::vector<std::string> lines;
    const auto& log = m_controller.store().log();
    for (auto line = log.rbegin(); line != log.rend() && lines.size() < 20; ++line)
        if (line->task == task && !task.empty())
            lines.push_back(line->text);
    for (auto line = lines.rbegin(); line != lines.rend(); ++line)
        std::fprintf(stderr, "[%s] %s\n", task.c_str(), line->c_str());
}

int Session::conclude() {
    const run::RunRecord& record = m_controller.record();
    const State state = m_controller.state();
    if (state == State::Refused) {
        printNewProblems();
    } else if (state == State::Detached) {
        if (m_interrupts > 1)
            std::fprintf(m_out, "The workers were left as they are.\n");
        std::fprintf(m_out, "Continue with: lockstepctl attach %s\n", record.id.c_str());
    } else if (state == State::Finished) {
        const run::RunFolder folder(run::defaultRoot(), record.id);
        std::fprintf(m_out, "Finished: %s.\n", headline().c_str());
        if (record.model)
            std::fprintf(m_out, "The model is %s\n", folder.modelPath().c_str());
    } else if (state == State::Stopped) {
        std::fprintf(m_out, "Stopped; none of the run's processes is left.\n");
    } else if (record.failure) {
        const std::string blamed =
            record.failure->task.empty()
                ? std::string()
                : withAddress(record, record.failure->task) + " on " + record.failure->host + ": ";
        printLastWords(record.failure->task);
        std::fprintf(stderr, "Failed: %s%s\nSee: lockstepctl logs %s\n", blamed.c_str(),
                     record.failure->reason.c_str(), record.id.c_str());
    }
    if (m_options.json) {
        const json::Value line =
            state == State::Detached
                ? json::Value::object({{"run", record.id}, {"status", "started"}})
                : m_controller.result();
        std::printf("%s\n", json::dump(line).c_str());
    }
    return m_interrupts > 1 ? 1 : m_controller.exitCode();
}

Result<run::RunRecord> lookAt(const std::string& runId,
                              const std::function<void(run::RunController&)>& see) {
    auto record = run::RunFolder(run::defaultRoot(), runId).load();
    if (!record || (record->status != run::RunStatus::Running && !see))
        return record;
    Hosts hosts;
    run::RunController controller(optionsFor(hosts));
    QObject::connect(&controller, &run::RunController::caughtUp, &controller, [&controller] {
        QTimer::singleShot(kEndGrace, &controller, [&controller] {
            if (controller.state() != State::Stopping && controller.state() != State::Finishing)
                controller.detach();
        });
    });
    QTimer::singleShot(kLookDeadline, &controller, [&controller] { controller.detach(); });
    QObject::connect(&controller, &run::RunController::done, qApp, &QCoreApplication::quit,
                     Qt::QueuedConnection);
    controller.attach(runId);
    QCoreApplication::exec();
    if (see)
        see(controller);
    return controller.record();
}

} // namespace lockstep::ctl
