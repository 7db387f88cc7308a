// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "app/ctl/commands.h"
#include "app/ctl/options.h"
#include "app/ctl/session.h"
#include "core/run/run_folder.h"

#include <cstdio>
#include <filesystem>

namespace lockstep::ctl {

namespace {

constexpr const char* kHelp =
    "usage: lockstepctl metrics RUN --csv FILE\n\n"
    "Writes epochs and steps of every worker as CSV. RUN may also be a folder that holds\n"
    "<task>/<attempt>/events.jsonl, as a run's folder on a host does.\n\n"
    "  --csv FILE  where to; - is standard output\n\n"
    "exit codes: 0 done, 2 there is no such run, or FILE cannot be written\n";

int run(const Words& words) {
    const auto options = Options::parse(words, {{}, {"--csv"}, 1, "RUN"});
    if (!options)
        return usageError(options.error());
    const std::string target = options->value("--csv");
    if (target.empty())
        return usageError({Code::InvalidArgument, "--csv FILE is missing.", {}});
    std::error_code error;
    std::string folder = options->word();
    if (!std::filesystem::is_directory(folder, error)) {
        const auto id = run::findRun(run::defaultRoot(), folder);
        if (!id)
            return usageError(id.error());
        if (const auto record = lookAt(*id); !record)
            return usageError(record.error());
        folder = run::RunFolder(run::defaultRoot(), *id).path();
    }
    if (target != "-") {
        const Status written = run::exportMetrics(folder, target);
        return written ? kDone : usageError(written.error());
    }
    const auto events = run::readEventsFiles(folder);
    if (!events)
        return usageError(events.error());
    const std::string csv = metrics::toCsv(*events).text;
    std::fwrite(csv.data(), 1, csv.size(), stdout);
    return kDone;
}

} // namespace

const Command kMetricsCommand = {"metrics", "write the metrics of a run as CSV", kHelp, &run};

} // namespace lockstep::ctl
