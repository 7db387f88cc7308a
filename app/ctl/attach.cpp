// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "app/ctl/commands.h"
#include "app/ctl/options.h"
#include "app/ctl/session.h"
#include "core/run/run_folder.h"

namespace lockstep::ctl {

namespace {

constexpr const char* kHelp =
    "usage: lockstepctl attach RUN [--json]\n\n"
    "Follows a run to its end, from its first line on, also after the program that started it was\n"
    "killed. Nothing is lost and nothing is doubled.\n\n"
    "  --json  end with one line of JSON, as run does\n\n"
    "Ctrl-C stops the run and all its workers; a second one leaves them running.\n"
    "exit codes: 0 done, 1 the run failed or was stopped, 2 there is no such run\n";

int run(const Words& words) {
    const auto options = Options::parse(words, {{"--json"}, {}, 1, "RUN"});
    if (!options)
        return usageError(options.error());
    const auto id = run::findRun(run::defaultRoot(), options->word());
    if (!id)
        return usageError(id.error());
    Session session({options->has("--json"), false});
    session.controller().attach(*id);
    return session.exec();
}

} // namespace

const Command kAttachCommand = {"attach", "follow a run that goes on, or show one that is over",
                                kHelp, &run};

} // namespace lockstep::ctl
