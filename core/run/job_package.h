// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// What goes to each host with a job: the document with its relative files renamed after their
// content, and those files.

#include "core/job/job_spec.h"
#include "core/run/run_record.h"

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::run {

/// The files to push, absolute, `sha256` still empty.
std::vector<PushedFile> filesToPush(const job::JobSpec& job, const std::string& jobFolder);

/// "files/<first 16 of the hash>/<base name>", below the job folder on a host.
std::string pushedName(const PushedFile& file);

/// The document with each pushed file under its pushed name.
json::Value packagedJob(const json::Value& job, const std::vector<PushedFile>& files);

/// The document with each of these files under its absolute name.
json::Value jobWithAbsoluteFiles(const json::Value& job, const std::vector<PushedFile>& files);

/// This program's environment.
job::Variables ownVariables();

/// SHA-256 in hex of a file of any size. Blocks: call it on a thread of its own.
Result<std::string> sha256OfFile(const std::string& path);

} // namespace lockstep::run
