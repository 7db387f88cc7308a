// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Reads what a job of kind "command" has.

#include "core/base/json_reader.h"
#include "core/job/job_spec.h"

#include <optional>
#include <string>

namespace lockstep::job::detail {

Command readCommand(const json::Reader& root);

/// A text that is not empty; a Problem where it is.
std::optional<std::string> filledText(const json::Reader& at, const std::string& expected);

} // namespace lockstep::job::detail
