// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "app/ctl/commands.h"
#include "app/ctl/options.h"
#include "core/base/json_reader.h"

#include <QCoreApplication>

#include <algorithm>
#include <clocale>
#include <cstdio>

namespace lockstep::ctl {

const std::vector<Command>& commands() {
    static const std::vector<Command> all = {kRunCommand,      kCheckCommand,   kValidateCommand,
                                             kTfConfigCommand, kPushCommand,    kRunsCommand,
                                             kStatusCommand,   kAttachCommand,  kStopCommand,
                                             kLogsCommand,     kMetricsCommand, kExportCommand};
    return all;
}

namespace {

int printHelp() {
    std::printf("lockstepctl: trains one model on many machines\n\n"
                "usage: lockstepctl COMMAND …\n\n");
    for (const Command& command : commands())
        std::printf("  %-10s %s\n", command.name, command.summary);
    std::printf("\n  --version  print the version\n"
                "  --help     print this; after a command, its options\n\n"
                "A RUN is a run's id, the beginning of one that is unique, or \"last\".\n"
                "exit codes: 0 done; 1 the run failed or was stopped; 2 the input was wrong, or\n"
                "something was found before a worker started\n");
    return kDone;
}

int dispatch(const Words& words) {
    if (words.empty())
        return printHelp(), kWrongInput;
    if (words[0] == "--help" || words[0] == "-h" || words[0] == "help")
        return printHelp();
    if (words[0] == "--version") {
        std::printf("lockstepctl %s\n", LOCKSTEP_VERSION);
        return kDone;
    }
    std::vector<std::string> names;
    for (const Command& command : commands()) {
        names.emplace_back(command.name);
        if (words[0] != command.name)
            continue;
        const Words rest(words.begin() + 1, words.end());
        if (std::find(rest.begin(), rest.end(), "--help") == rest.end())
            return command.run(rest);
        std::printf("%s\n\n%s", command.summary, command.help);
        return kDone;
    }
    const std::string near = json::nearest(words[0], names);
    return usageError(
        {Code::InvalidArgument,
         "There is no command \"" + words[0] + "\"." +
             (near.empty() ? " See lockstepctl --help." : " Did you mean " + near + "?"),
         {}});
}

} // namespace

} // namespace lockstep::ctl

int main(int argc, char** argv) {
    const QCoreApplication app(argc, argv);
    std::setlocale(LC_NUMERIC, "C");
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    return lockstep::ctl::dispatch(lockstep::ctl::Words(argv + 1, argv + argc));
}
