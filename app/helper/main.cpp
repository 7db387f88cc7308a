// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// lockstep-helper: the small static program that a host gets first. It needs no library there.
#include "core/helper/self_check.h"
#include "core/helper/server.h"

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace {

using namespace lockstep;

/// check PROGRAM HASH FOLDER own|public: nothing, or why not as one line.
int check(const std::vector<std::string>& words) {
    const Status status =
        helper::checkSelf(words[1], words[2], words[3],
                          words[4] == "own" ? helper::FolderKind::Own : helper::FolderKind::Public);
    if (status) {
        helper::sweepParts(words[1]);
        return 0;
    }
    std::printf("%s\n", status.error().message.c_str());
    return 1;
}

int run(const std::vector<std::string>& words) {
    const std::string command = words.empty() ? "" : words[0];
    if (command == "serve" && words.size() <= 2)
        return helper::serve(0, 1, words.size() == 2 ? words[1] : "");
    if (command == "check" && words.size() == 5)
        return check(words);
    if (command == "--version" && words.size() == 1) {
        std::printf("lockstep-helper %s\n", LOCKSTEP_VERSION);
        return 0;
    }
    std::fprintf(stderr,
                 "usage: lockstep-helper serve [HASH] | check PROGRAM HASH FOLDER own|public | "
                 "--version\n"
                 "Lockstep starts it on a host over SSH; it is of no use by hand.\n");
    return 2;
}

} // namespace

int main(int argc, char** argv) {
    try {
        return run({argv + 1, argv + argc});
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "lockstep-helper: %s\n", failure.what());
        return 1;
    }
}
