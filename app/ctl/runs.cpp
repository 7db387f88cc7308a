// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "app/ctl/commands.h"
#include "app/ctl/options.h"
#include "app/ctl/session.h"
#include "core/base/clock.h"
#include "core/run/catalogue.h"
#include "core/run/run_folder.h"

#include <cmath>
#include <cstdio>

namespace lockstep::ctl {

namespace {

constexpr const char* kHelp =
    "usage: lockstepctl runs [--json]\n\n"
    "Lists the runs of this user on this machine, newest first.\n\n"
    "  --json  a line of JSON for each: run, name, started, ended, status, workers, final_loss\n\n"
    "A run that nobody follows is \"running\" until somebody looks: status, attach, metrics.\n"
    "exit codes: 0 done, 2 wrong options\n";

json::Value toJson(const run::CatalogueEntry& entry) {
    json::Value line = json::Value::object(
        {{"run", entry.id}, {"name", entry.name}, {"started", isoTime(entry.startedAt)}});
    line.set("ended", entry.endedAt ? json::Value(isoTime(*entry.endedAt)) : json::Value());
    line.set("status", run::statusName(entry.status));
    line.set("workers", entry.workers);
    if (entry.finalLoss && !std::isfinite(*entry.finalLoss))
        line.set("final_loss", "NaN");
    else
        line.set("final_loss", entry.finalLoss ? json::Value(*entry.finalLoss) : json::Value());
    return line;
}

int run(const Words& words) {
    const auto options = Options::parse(words, {{"--json"}, {}, 0, ""});
    if (!options)
        return usageError(options.error());
    run::Catalogue catalogue(run::defaultRoot());
    if (const Status opened = catalogue.open(); !opened)
        return usageError(opened.error());
    const auto entries = catalogue.entries();
    if (!entries)
        return usageError(entries.error());
    for (const std::string& id : catalogue.unreadable())
        std::fprintf(stderr, "lockstepctl: the record of run %s cannot be read.\n", id.c_str());
    if (!options->has("--json"))
        std::printf("%-22s  %-9s  %7s  %-24s  %10s  %s\n", "RUN", "STATUS", "WORKERS", "STARTED",
                    "LOSS", "JOB");
    for (const run::CatalogueEntry& entry : *entries) {
        if (options->has("--json")) {
            std::printf("%s\n", json::dump(toJson(entry)).c_str());
            continue;
        }
        const std::string loss = entry.finalLoss ? shortNumber(*entry.finalLoss) : "";
        std::printf("%-22s  %-9s  %7d  %-24s  %10s  %s\n", entry.id.c_str(),
                    run::statusName(entry.status), entry.workers, isoTime(entry.startedAt).c_str(),
                    loss.c_str(), entry.name.c_str());
    }
    return kDone;
}

} // namespace

const Command kRunsCommand = {"runs", "list the runs", kHelp, &run};

} // namespace lockstep::ctl
