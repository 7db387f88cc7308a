// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// A job file made ready to train: parsed, its model read, its data in memory, everything judged.
// `describe` shows what comes out, `train` goes on with it.

#include "core/base/problem.h"
#include "core/data/dataset.h"
#include "core/job/job_spec.h"
#include "core/nn/compile.h"
#include "core/nn/graph.h"

#include <optional>
#include <string>

namespace lockstep::train {

struct Prepared {
    job::JobSpec job;
    json::Value model; ///< Keras' JSON, also where the job names a file
    std::optional<nn::Graph> graph;
    std::optional<nn::CompileSpec> compile;
    data::RowSet train;      ///< `dataset` is null where it cannot be used
    data::RowSet validation; ///< empty where the job has none
    Problems problems;

    /// Everything is there and nothing stands against training.
    bool isReady() const { return graph && compile && train.dataset && !hasErrors(problems); }
};

/// Reads the job file and all that it names. An Error only where the file itself cannot be read;
/// all else is in `problems`. A job of kind "command" has no graph and no data.
Result<Prepared> prepare(const std::string& jobFile);

/// SHA-256 (hex) over rows, columns and every number of both sets: equal where hosts hold the same
/// data.
std::string hashOf(const data::RowSet& train, const data::RowSet& validation);

} // namespace lockstep::train
