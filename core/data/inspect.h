// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Loads and judges a job's data without training: `lockstep-worker describe` shows what comes out,
// and `train` does it before it joins the others.

#include "core/data/dataset.h"
#include "core/data/pipeline.h"

namespace lockstep::data {

struct Inspection {
    RowSet train;      ///< `dataset` is null where the source cannot be used
    RowSet validation; ///< empty where the job has none
    std::int64_t features = 0;
    std::int64_t labels = 0;
    Problems problems;
    bool ok() const { return !hasErrors(problems); }
};

/// Relative paths of the job start at `folder` (the job file's). Threads: any; takes as long as
/// reading the files does. Never throws.
Inspection inspect(const job::JobSpec& job, const std::string& folder);

/// What one replica will read and train in an epoch.
struct ShardPreview {
    int rank = 0;
    std::int64_t rows = 0;         ///< that it trains
    std::int64_t rowsRead = 0;     ///< that its worker holds: all of them under DATA and OFF
    std::int64_t steps = 0;        ///< in which it has at least one row
    std::vector<std::int64_t> ids; ///< the first `idLimit` row ids, in the order of training
};
std::vector<ShardPreview> previewShards(const job::JobSpec& job, const RowSet& train, int replicas,
                                        int epoch, std::size_t idLimit);

} // namespace lockstep::data
