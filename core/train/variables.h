// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// What ranks compare and what the chief writes: the model's variables in model order.

#include "core/archive/safetensors.h"
#include "core/base/hash.h"
#include "core/collective/group.h"
#include "core/nn/network.h"
#include "core/nn/optimizer.h"

#include <string>
#include <vector>

namespace lockstep::train {

/// SHA-256 over all variables' little-endian bytes in model order, NaNs made one.
Sha256 digestOf(const nn::Network& network);

/// Compares digests over all ranks. Throws Failure{Corrupt} naming the tasks that differ from the
/// majority, or showing all where there is none. `tasks` by rank.
void checkDigests(collective::Group& group, const Sha256& own,
                  const std::vector<std::string>& tasks);

/// What Keras keeps of an optimizer beside the model.
struct OptimizerState {
    nn::Optimizer optimizer;
    std::int64_t iterations = 0; ///< updates made
    double learningRate = 0;     ///< of the last one
};

/// Writes every variable under its name, and its slots as "optimizer/<slot>/<name>"; adds the entry
/// "optimizer" to `metadata`.
Result<archive::Written> writeModel(const nn::Network& network, const OptimizerState& state,
                                    const std::string& path, archive::Metadata metadata);

} // namespace lockstep::train
