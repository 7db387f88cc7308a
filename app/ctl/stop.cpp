// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "app/ctl/commands.h"
#include "app/ctl/hosts.h"
#include "app/ctl/options.h"
#include "core/run/run_controller.h"
#include "core/run/run_folder.h"

#include <QCoreApplication>

#include <cstdio>

namespace lockstep::ctl {

namespace {

constexpr const char* kHelp =
    "usage: lockstepctl stop RUN [--grace SECONDS]\n\n"
    "Ends every process of the run on every host: SIGTERM, then SIGKILL after the grace time "
    "(10),\n"
    "and verifies that none is left.\n\n"
    "exit codes: 0 the run is over, 1 something is left, 2 there is no such run\n";

int run(const Words& words) {
    const auto options = Options::parse(words, {{}, {"--grace"}, 1, "RUN"});
    if (!options)
        return usageError(options.error());
    const auto id = run::findRun(run::defaultRoot(), options->word());
    if (!id)
        return usageError(id.error());
    run::ControllerOptions settings;
    if (options->has("--grace")) {
        const auto grace = toNumber("--grace", options->value("--grace"), 0, 3600);
        if (!grace)
            return usageError(grace.error());
        settings.stopGrace = std::chrono::seconds(*grace);
    }
    Hosts hosts;
    settings.hosts = hosts.factory();
    run::RunController controller(settings);
    QObject::connect(&controller, &run::RunController::done, qApp, &QCoreApplication::quit,
                     Qt::QueuedConnection);
    controller.attach(*id);
    controller.stop();
    QCoreApplication::exec();
    if (controller.state() == run::State::Refused) {
        printProblems(controller.problems());
        return kWrongInput;
    }
    const run::RunRecord& record = controller.record();
    if (record.status == run::RunStatus::Failed && record.failure)
        std::fprintf(stderr, "The run %s had failed: %s\n", id->c_str(),
                     record.failure->reason.c_str());
    std::printf("The run %s is over: %s.\n", id->c_str(), run::statusName(record.status));
    // A failure that no task is to blame for is about processes that could not be ended.
    const bool isLeft = record.failure && record.failure->task.empty();
    return isLeft ? kFailed : kDone;
}

} // namespace

const Command kStopCommand = {"stop", "end every process of a run", kHelp, &run};

} // namespace lockstep::ctl
