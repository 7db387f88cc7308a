// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "app/worker/commands.h"

#include <charconv>
#include <csignal>
#include <cstdio>
#include <exception>

namespace lockstep::worker {

namespace {

constexpr Command kCommands[] = {
    {"train", "--job FILE [--run-dir DIR] [--expect-workers N] [--cluster-hash H]",
     "train with the others of TF_CONFIG", train},
    {"describe", "JOB [--workers N]", "say as JSON what a job is and what is wrong with it",
     describe},
    {"supervise", "", "start a process that outlives the caller (request on stdin)", supervise},
    {"follow", "", "stream a supervised process's files and state (request on stdin)", follow},
    {"stop", "", "end all processes of a run and verify it (request on stdin)", stop},
    {"place", "", "find and make the folder for Lockstep's files (request on stdin)", place},
    {"assemble", "", "make a pushed folder from its files (request on stdin)", assemble},
    {"probe", "", "say what this machine is (request on stdin)", probe},
    {"listen", "", "open workers' ports for a check (request on stdin)", listen},
    {"dial", "", "try to reach listeners of a check (request on stdin)", dial},
};

int printHelp() {
    std::printf("lockstep-worker: the program that Lockstep starts on every host\n\n"
                "usage: lockstep-worker COMMAND …\n\n");
    for (const Command& command : kCommands)
        std::printf("  %-10s %s%s%s\n", command.name, command.usage,
                    command.usage[0] != '\0' ? "\n             " : "", command.summary);
    std::printf("\n  --version  print the version\n"
                "  --help     print this\n\n"
                "A request is one line of JSON; answers are lines of JSON.\n"
                "exit codes: 0 done, 1 failed or stopped, 2 the input was wrong\n");
    return 0;
}

int dispatch(const Arguments& words) {
    if (words.empty())
        return usageError("a command is missing; see lockstep-worker --help");
    if (words[0] == "--help" || words[0] == "-h" || words[0] == "help")
        return printHelp();
    if (words[0] == "--version") {
        std::printf("lockstep-worker %s\n", LOCKSTEP_VERSION);
        return 0;
    }
    for (const Command& command : kCommands)
        if (words[0] == command.name)
            return command.run(Arguments(words.begin() + 1, words.end()));
    return usageError("unknown command \"" + words[0] + "\"; see lockstep-worker --help");
}

} // namespace

int usageError(const std::string& message) {
    std::fprintf(stderr, "lockstep-worker: %s\n", message.c_str());
    return 2;
}

std::optional<int> countFromText(const std::string& text) {
    int count = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (status != std::errc() || end != text.data() + text.size() || count < 1 || count > 100'000)
        return std::nullopt;
    return count;
}

} // namespace lockstep::worker

int main(int argc, char** argv) {
    // A listener that went away is a failed write, not a death.
    std::signal(SIGPIPE, SIG_IGN);
    try {
        return lockstep::worker::dispatch(lockstep::worker::Arguments(argv + 1, argv + argc));
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "lockstep-worker: %s\n", failure.what());
        return 1;
    }
}
