// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The commands of lockstepctl. Each takes the words after its name and returns the exit code:
// 0 done, 1 the run failed or was stopped, 2 the input was wrong or something was found before a
// worker started.

#include <string>
#include <vector>

namespace lockstep::ctl {

using Words = std::vector<std::string>;

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kWrongInput = 2;

struct Command {
    const char* name;
    const char* summary; ///< one line for the list
    const char* help;    ///< usage and options
    int (*run)(const Words& words);
};

/// In the order in which they are listed.
const std::vector<Command>& commands();

// One file each.
extern const Command kAttachCommand;
extern const Command kCheckCommand;
extern const Command kExportCommand;
extern const Command kLogsCommand;
extern const Command kMetricsCommand;
extern const Command kPushCommand;
extern const Command kRunCommand;
extern const Command kRunsCommand;
extern const Command kStatusCommand;
extern const Command kStopCommand;
extern const Command kTfConfigCommand;
extern const Command kValidateCommand;

} // namespace lockstep::ctl
