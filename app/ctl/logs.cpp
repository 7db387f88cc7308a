// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "app/ctl/commands.h"
#include "app/ctl/options.h"
#include "app/ctl/session.h"
#include "core/base/clock.h"
#include "core/run/run_folder.h"

#include <cstdio>

namespace lockstep::ctl {

namespace {

constexpr const char* kHelp = "usage: lockstepctl logs RUN [--task worker:1]\n\n"
                              "Prints what the workers said and printed, merged by time.\n\n"
                              "  --task TASK  that worker alone\n\n"
                              "exit codes: 0 done, 2 there is no such run or task\n";

constexpr const char* kLevels[] = {"debug", "info", "warning", "error"};

void print(const metrics::Store& store, const std::string& task) {
    for (const metrics::LogLine& line : store.log()) {
        if (!task.empty() && line.task != task)
            continue;
        const std::string who = line.task.empty() ? "lockstep" : line.task;
        std::printf("%s %-10s ", isoTime(line.time).c_str(), who.c_str());
        // Programs write more than warnings there: TensorFlow all of its log.
        if (line.origin == metrics::Origin::ErrorOutput)
            std::printf("stderr: ");
        else if (line.level != wire::Level::Info)
            std::printf("%s: ", kLevels[static_cast<std::size_t>(line.level)]);
        std::printf("%s\n", line.text.c_str());
    }
}

int run(const Words& words) {
    const auto options = Options::parse(words, {{}, {"--task"}, 1, "RUN"});
    if (!options)
        return usageError(options.error());
    const auto id = run::findRun(run::defaultRoot(), options->word());
    if (!id)
        return usageError(id.error());
    const std::string task = options->value("--task");
    const auto known = run::RunFolder(run::defaultRoot(), *id).load();
    if (!known)
        return usageError(known.error());
    if (!task.empty() && !known->find(task))
        return usageError({Code::NotFound,
                           "The run has no task \"" + task + "\"; its first is " +
                               (known->tasks.empty() ? "none" : known->tasks.front().task) + ".",
                           {}});
    const auto record =
        lookAt(*id, [&](run::RunController& controller) { print(controller.store(), task); });
    return record ? kDone : usageError(record.error());
}

} // namespace

const Command kLogsCommand = {"logs", "print what the workers of a run said", kHelp, &run};

} // namespace lockstep::ctl
