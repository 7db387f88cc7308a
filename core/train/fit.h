// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The training loop of one worker in a joined group: Keras' fit(), mirrored.
// Threads: one; the group and the input pipeline have their own.
// Failure: throws what group, data and numerics throw.

#include "core/collective/group.h"
#include "core/train/event_log.h"
#include "core/train/prepare.h"
#include "core/train/variables.h"

#include <functional>
#include <string>
#include <vector>

namespace lockstep::train {

struct FitOptions {
    int threads = 1;
    std::vector<std::string> tasks; ///< by rank, for messages
    /// Keras' verbose=2 lines, without LF; only the chief is given one.
    std::function<void(const std::string&)> console;
};

struct FitResult {
    wire::Finished summary;
    Sha256 digest{};
    OptimizerState optimizer;
};

/// `network` is made from `prepared` and the job's seed; afterwards it holds what was trained.
FitResult fit(const Prepared& prepared, nn::Network& network, collective::Group& group,
              EventLog& events, const FitOptions& options);

/// What fit() will do, known before: equal on all ranks.
wire::Planned planOf(const Prepared& prepared, int world);

} // namespace lockstep::train
