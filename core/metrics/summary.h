// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// What a run came to, for `--json`, run.json and the catalogue.

#include "core/base/json.h"
#include "core/metrics/store.h"

namespace lockstep::metrics {

/// {"workers": n, "epochs": [{"epoch", "loss", …}], "final": {…} | null, "digest": {task: hex},
///  "samples_per_second": number | null, "step_ms": {"input", "compute", "all_reduce_wait",
///  "update", "total"} | null}. Values that are not finite are the texts NaN, Infinity, -Infinity.
/// The digests are the final ones, or those of the newest epoch while there are none. Means are
/// those of the slowest rank, from what it finished with, else from its steps so far.
json::Value summarize(const Store& store);

} // namespace lockstep::metrics
