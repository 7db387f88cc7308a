// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// lockstep-helper: the small static program that a host gets first. It needs no library there.
#include "core/helper/server.h"

#include <cstdio>
#include <cstring>
#include <exception>

int main(int argc, char** argv) {
    try {
        if (argc >= 2 && std::strcmp(argv[1], "serve") == 0)
            return lockstep::helper::serve(0, 1, argc >= 3 ? argv[2] : "");
        if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
            std::printf("lockstep-helper %s\n", LOCKSTEP_VERSION);
            return 0;
        }
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "lockstep-helper: %s\n", failure.what());
        return 1;
    }
    std::fprintf(stderr, "usage: lockstep-helper serve [HASH] | --version\n"
                         "Lockstep starts it on a host over SSH; it is of no use by hand.\n");
    return 2;
}
