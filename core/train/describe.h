// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// `lockstep-worker describe`: what a job is, as one JSON object for the control side.

#include "core/base/json.h"
#include "core/train/prepare.h"

namespace lockstep::train {

/// problems, and as far as they could be found: model (layers, parameters), memory, data, batching,
/// bytes_per_all_reduce, buckets, shards; for `workers` replicas.
json::Value describeJob(const Prepared& prepared, int workers);

/// As in `problems` of describeJob: severity, file, path, line, column, message, expected, hint.
json::Value toJson(const Problem& problem);

} // namespace lockstep::train
