// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Changes to a job document from outside: `lockstepctl run --set PATH=VALUE`, and editors.

#include "core/base/json.h"
#include "core/base/result.h"

#include <string>

namespace lockstep::job {

/// Sets the value at `path` (parts by dots, places in arrays by number) to `text`, which is JSON
/// or, where it is not, a text. Setting fit.global_batch_size removes fit.batch_size_per_replica
/// and the other way round; data.validation and data.validation_fraction likewise.
/// InvalidArgument names the part of the path that does not fit.
Status applySetting(json::Value& job, const std::string& path, const std::string& text);
/// The same with a ready value.
Status setValue(json::Value& job, const std::string& path, json::Value value);
/// "fit.epochs=3" as given on a command line; InvalidArgument where there is no '='.
Status applyAssignment(json::Value& job, const std::string& assignment);

} // namespace lockstep::job
