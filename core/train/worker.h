// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// A worker from its command line to its exit: reads the job, joins the others, trains, exports.

#include "core/base/problem.h"
#include "core/train/identity.h"

#include <functional>
#include <stop_token>
#include <string>

namespace lockstep::train {

enum class Outcome {
    Done,       ///< trained and left through the exit barrier
    Failed,     ///< or stopped
    WrongInput, ///< found before anything was started
};

struct Surroundings {
    std::function<void(const std::string&)> out; ///< a line for standard output
    std::function<void(const std::string&)> err; ///< a line for people on standard error
    std::stop_token stop;                        ///< from SIGTERM and SIGINT
};

/// Never throws: the one bridge from Failure to an outcome. What went wrong is written to err and,
/// where there is a run folder, as a Failed event.
Outcome runWorker(const Launch& launch, const Surroundings& surroundings);

} // namespace lockstep::train
