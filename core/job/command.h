// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// What is started for a task of a command job: program, environment, folder. Pure functions.

#include "core/job/job_spec.h"

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::job {

/// Set for every command unless the job says otherwise: without it Python keeps its lines back
/// until there are a few thousand bytes of them.
inline constexpr const char* kUnbuffered = "PYTHONUNBUFFERED";

/// The program with its arguments.
const std::vector<std::string>& argvOf(const Command& command, const std::string& task);

/// Where `task` starts: relative ones begin at `home`, the pushed folder or the run's on its host.
std::string workingDirectoryOf(const Command& command, const std::string& task,
                               const std::string& home);

/// What the launching program's environment has for the command.
struct PassedVariables {
    Variables variables;
    std::vector<std::string> dropped; ///< wanted, but their names are none to a shell
};
PassedVariables passedVariables(const Command& command, const Variables& own);

/// The variables of `task`, each once, the strongest value: the task's own, then the worker's of
/// the cluster, the job's, the passed ones, ours. TF_CONFIG is not among them.
Variables variablesOf(const Command& command, const std::string& task, const Variables& passed,
                      const Variables& worker);

/// What is never pushed: version control, caches of Python, environments, editors' leftovers.
const std::vector<std::string>& ignoredAlways();
/// Whether an entry of the pushed folder is left out: `path` below the folder. A pattern without a
/// slash is compared with the name, one with a slash with the whole path; "*" stands for any
/// characters but a slash, "?" for one; a slash at its end is for folders alone.
bool isIgnored(std::string_view path, bool isFolder, const std::vector<std::string>& patterns);

} // namespace lockstep::job
