// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The folder that a command job pushes, as it was when it was launched: every file with size and
// hash, kept as push.json in the run's folder, so that an interrupted launch goes on with the same.

#include "core/agent/assemble.h"
#include "core/base/json.h"
#include "core/base/problem.h"
#include "core/job/job_spec.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::run {

struct PushManifest {
    std::string folder; ///< absolute, on the control machine
    std::vector<agent::FolderEntry> entries;

    std::int64_t bytes() const;
    int files() const;
    const agent::FolderEntry* find(const std::string& path) const;
};

/// More would be a data set, not a program.
inline constexpr std::size_t kMostPushedEntries = 20'000;

/// Reads and hashes the folder of `job`. Blocks: call it on a thread of its own. Links that leave
/// the folder, special files and unreadable ones are Problems at "push".
PushManifest scanFolder(const job::JobSpec& job, const std::string& jobFolder, Problems& problems);

/// What can be said before a start about programs that lie in the pushed folder.
Problems checkPushedPrograms(const job::JobSpec& job, const PushManifest& manifest);

json::Value toJson(const PushManifest& manifest);
/// Corrupt; `path` goes into errors.
Result<PushManifest> manifestFromJson(const json::Value& value, const std::string& path);

/// "1.4 MB": for people.
std::string sizeText(std::int64_t bytes);

} // namespace lockstep::run
