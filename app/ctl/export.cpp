// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "app/ctl/commands.h"
#include "app/ctl/options.h"
#include "app/ctl/session.h"
#include "core/run/run_folder.h"

#include <cstdio>
#include <utility>

namespace lockstep::ctl {

namespace {

constexpr const char* kHelp =
    "usage: lockstepctl export RUN -o FILE [--format FORMAT]\n\n"
    "Writes the model that the chief of a finished run trained.\n\n"
    "  --format FORMAT  keras        opens with keras.models.load_model, Keras 3.3 and later\n"
    "                   weights.h5   its weights alone, for model.load_weights\n"
    "                   h5           the older form in one file, for Keras 2 too\n"
    "                   safetensors  tensors named <layer>/<variable>\n"
    "                   without it, what the ending of FILE says; else safetensors\n\n"
    "exit codes: 0 done, 2 there is no such run or model, or FILE cannot be written\n";

Result<run::ModelFormat> formatOf(const Options& options, const std::string& target) {
    using run::ModelFormat;
    if (!options.has("--format"))
        return run::modelFormatOf(target);
    const std::string word = options.value("--format");
    for (const auto& [name, format] :
         {std::pair("keras", ModelFormat::Keras), std::pair("weights.h5", ModelFormat::WeightsH5),
          std::pair("h5", ModelFormat::LegacyH5),
          std::pair("safetensors", ModelFormat::Safetensors)})
        if (word == name)
            return format;
    return Error{Code::InvalidArgument,
                 "--format is keras, weights.h5, h5 or safetensors, not \"" + word + "\".",
                 {}};
}

int run(const Words& words) {
    const auto options = Options::parse(words, {{}, {"-o", "--format"}, 1, "RUN"});
    if (!options)
        return usageError(options.error());
    const std::string target = options->value("-o");
    if (target.empty())
        return usageError({Code::InvalidArgument, "-o FILE is missing.", {}});
    const auto format = formatOf(*options, target);
    if (!format)
        return usageError(format.error());
    const auto id = run::findRun(run::defaultRoot(), options->word());
    if (!id)
        return usageError(id.error());
    if (const auto record = lookAt(*id); !record)
        return usageError(record.error());
    const Status written =
        run::exportModel(run::RunFolder(run::defaultRoot(), *id), target, *format);
    if (!written)
        return usageError(written.error());
    std::printf("Wrote %s\n", target.c_str());
    return kDone;
}

} // namespace

const Command kExportCommand = {"export", "write the model of a finished run", kHelp, &run};

} // namespace lockstep::ctl
