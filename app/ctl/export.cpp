// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "app/ctl/commands.h"
#include "app/ctl/options.h"
#include "app/ctl/session.h"
#include "core/run/run_folder.h"

#include <cstdio>

namespace lockstep::ctl {

namespace {

constexpr const char* kHelp =
    "usage: lockstepctl export RUN -o FILE.safetensors\n\n"
    "Writes the model that the chief of a finished run exported; its tensors are named\n"
    "<layer>/<variable>.\n\n"
    "exit codes: 0 done, 2 there is no such run or model, or FILE cannot be written\n";

int run(const Words& words) {
    const auto options = Options::parse(words, {{}, {"-o"}, 1, "RUN"});
    if (!options)
        return usageError(options.error());
    const std::string target = options->value("-o");
    if (target.empty())
        return usageError({Code::InvalidArgument, "-o FILE is missing.", {}});
    const auto id = run::findRun(run::defaultRoot(), options->word());
    if (!id)
        return usageError(id.error());
    if (const auto record = lookAt(*id); !record)
        return usageError(record.error());
    const Status written = run::exportModel(run::RunFolder(run::defaultRoot(), *id), target);
    if (!written)
        return usageError(written.error());
    std::printf("Wrote %s\n", target.c_str());
    return kDone;
}

} // namespace

const Command kExportCommand = {"export", "write the model of a finished run", kHelp, &run};

} // namespace lockstep::ctl
