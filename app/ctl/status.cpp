// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "app/ctl/commands.h"
#include "app/ctl/options.h"
#include "app/ctl/session.h"
#include "core/metrics/summary.h"
#include "core/run/run_folder.h"

#include <cmath>
#include <cstdio>

namespace lockstep::ctl {

namespace {

constexpr const char* kHelp =
    "usage: lockstepctl status RUN [--json]\n\n"
    "Says how a run and each of its workers stand.\n\n"
    "  --json  one line of JSON: as run's, status also \"running\", and the state of each task\n\n"
    "exit codes: 0 done, 2 there is no such run\n";

constexpr const char* kPhases[] = {"preparing", "joining", "training", "validating", "finishing"};

std::string stateOf(const metrics::Worker* worker, const std::string& task,
                    const run::RunRecord& record) {
    if (!worker || !worker->started)
        return "not started";
    if (worker->failed || (record.failure && record.failure->task == task))
        return "failed";
    if (worker->finished || record.status == run::RunStatus::Finished)
        return "finished";
    // One that says nothing itself: killed, stopped, or a program of the user's own.
    if (record.status != run::RunStatus::Running)
        return "ended";
    return worker->phase ? kPhases[static_cast<std::size_t>(*worker->phase)] : "started";
}

json::Value resultOf(const run::RunController& controller) {
    json::Value line = controller.result();
    json::Value tasks = json::Value::object();
    for (const run::TaskPlace& place : controller.record().tasks) {
        const metrics::Worker* worker = controller.store().worker(place.task);
        tasks.set(place.task,
                  json::Value::object({{"state", stateOf(worker, place.task, controller.record())},
                                       {"host", place.hostName},
                                       {"address", place.address},
                                       {"step", worker ? worker->step : std::int64_t{0}},
                                       {"epoch", worker ? worker->epoch : 0}}));
    }
    line.set("tasks", std::move(tasks));
    return line;
}

void print(const run::RunController& controller) {
    const run::RunRecord& record = controller.record();
    std::printf("Run %s: %s, %s\n", record.id.c_str(), record.name.c_str(),
                run::statusName(record.status));
    for (const run::TaskPlace& place : record.tasks) {
        const metrics::Worker* worker = controller.store().worker(place.task);
        std::printf("  %-10s %-21s %-12s", place.task.c_str(), place.address.c_str(),
                    stateOf(worker, place.task, record).c_str());
        if (worker && worker->step > 0)
            std::printf(" epoch %d, step %lld", worker->epoch,
                        static_cast<long long>(worker->step));
        const double rate =
            worker ? worker->of(metrics::Quantity::SamplesPerSecond).lastValue() : std::nan("");
        if (!std::isnan(rate)) // Keras does not print it
            std::printf(", %.0f samples/s", rate);
        std::printf("\n");
    }
    if (record.failure)
        std::printf("Failed: %s\n", record.failure->reason.c_str());
}

int run(const Words& words) {
    const auto options = Options::parse(words, {{"--json"}, {}, 1, "RUN"});
    if (!options)
        return usageError(options.error());
    const auto id = run::findRun(run::defaultRoot(), options->word());
    if (!id)
        return usageError(id.error());
    const bool json = options->has("--json");
    const auto record = lookAt(*id, [&](run::RunController& controller) {
        if (json)
            std::printf("%s\n", json::dump(resultOf(controller)).c_str());
        else
            print(controller);
    });
    return record ? kDone : usageError(record.error());
}

} // namespace

const Command kStatusCommand = {"status", "say how a run and its workers stand", kHelp, &run};

} // namespace lockstep::ctl
