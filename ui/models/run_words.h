// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// A run in words and headline numbers, for the top bar, the Monitor page and the Runs page. Pure
// functions over a store and a state. GUI thread.

#include "core/metrics/store.h"
#include "core/run/host_progress.h"
#include "core/run/run_record.h"

#include <QString>

#include <optional>

namespace lockstep::ui {

/// How a state looks: a shape and a colour are chosen by it (widgets/state_dot.h).
enum class Mood { Idle, Busy, Good, Slow, Bad };

struct Words {
    QString text;
    Mood mood = Mood::Idle;
    bool operator==(const Words&) const = default;
};

Words wordsOf(run::State state);
Words wordsOf(run::RunStatus status);
/// Of a host on the way to being ready; nothing where there is nothing to say.
std::optional<Words> wordsOf(const run::HostProgress& progress);
/// Of one worker; `store` tells what the others say about it.
Words wordsOf(const std::string& task, const metrics::Store& store, run::State state);

/// The part of its step in which a worker is clearly slower than the others; empty where it is not.
QString slowPart(const metrics::Worker& worker, const metrics::Store& store);

struct Progress {
    int epoch = 0;
    int epochs = 0;
    std::int64_t step = 0;
    std::int64_t steps = 0;          ///< of the whole run, 0 where unknown
    double seconds = 0;              ///< since the chief's first event
    std::optional<double> remaining; ///< seconds, once enough steps are measured
};
Progress progressOf(const metrics::Store& store);

/// Mean over the workers of the newest value of a quantity; NaN where there is none.
double newestMean(const metrics::Store& store, metrics::Quantity quantity);

} // namespace lockstep::ui
