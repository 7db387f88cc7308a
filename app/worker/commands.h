// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The commands of lockstep-worker. Each takes the words after its name and returns the exit code:
// 0 done, 1 failed or stopped, 2 the input was wrong.

#include <optional>
#include <string>
#include <vector>

namespace lockstep::worker {

using Arguments = std::vector<std::string>;

struct Command {
    const char* name;
    const char* usage;   ///< what follows the name
    const char* summary; ///< one line for --help
    int (*run)(const Arguments& arguments);
};

/// One line on standard error; returns 2.
int usageError(const std::string& message);
/// A whole number from 1 to 100,000, or nothing.
std::optional<int> countFromText(const std::string& text);

// train.cpp, describe.cpp
int train(const Arguments& arguments);
int describe(const Arguments& arguments);
// agent.cpp
int supervise(const Arguments& arguments);
int follow(const Arguments& arguments);
int stop(const Arguments& arguments);
int place(const Arguments& arguments);
int assemble(const Arguments& arguments);
int probe(const Arguments& arguments);
int listen(const Arguments& arguments);
int dial(const Arguments& arguments);

} // namespace lockstep::worker
