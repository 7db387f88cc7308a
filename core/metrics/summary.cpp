// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/metrics/summary.h"

#include <cmath>

namespace lockstep::metrics {

namespace {

using json::Value;

Value number(double value) {
    if (std::isnan(value))
        return "NaN";
    if (std::isinf(value))
        return value > 0 ? "Infinity" : "-Infinity";
    return value;
}

Value digests(const Store& store) {
    Value all = Value::object();
    for (const Worker* worker : store.workers())
        if (worker->finished)
            all.set(worker->task, worker->finished->digest);
    if (all.size() == 0 && !store.epochs().empty())
        for (const auto& [task, digest] : store.epochs().back().digests)
            all.set(task, digest);
    return all;
}

struct Means {
    double rows = 0, seconds = 0;
    double input = 0, compute = 0, wait = 0, update = 0, total = 0;
};

std::optional<Means> meansOf(const Worker& worker) {
    if (const auto& end = worker.finished; end && end->steps > 1)
        return Means{static_cast<double>(end->rows), end->seconds,  end->inputMs, end->computeMs,
                     end->allReduceWaitMs,           end->updateMs, end->totalMs};
    const StepSums& sums = worker.soFar;
    if (sums.steps == 0)
        return std::nullopt;
    return Means{static_cast<double>(sums.rows),    sums.seconds,
                 sums.inputMs / sums.steps,         sums.computeMs / sums.steps,
                 sums.allReduceWaitMs / sums.steps, sums.updateMs / sums.steps,
                 sums.totalMs / sums.steps};
}

std::optional<Means> slowestMeans(const Store& store) {
    std::optional<Means> slowest;
    for (const Worker* worker : store.workers()) {
        const auto means = meansOf(*worker);
        if (means && (!slowest || means->total > slowest->total))
            slowest = means;
    }
    return slowest;
}

} // namespace

Value summarize(const Store& store) {
    Value epochs = Value::array();
    for (const Epoch& epoch : store.epochs()) {
        if (epoch.values.empty())
            continue; // rank 0 has not reported it
        Value one = Value::object({{"epoch", epoch.epoch}});
        for (const auto& [name, value] : epoch.values)
            one.set(name, number(value));
        epochs.append(std::move(one));
    }
    Value result = Value::object({{"workers", static_cast<int>(store.workers().size())}});
    Value final;
    if (epochs.size() > 0)
        final = epochs.items().back();
    result.set("epochs", std::move(epochs));
    result.set("final", std::move(final));
    result.set("digest", digests(store));
    Value rate;
    Value times;
    if (const auto means = slowestMeans(store)) {
        if (means->seconds > 0)
            rate = number(means->rows / means->seconds);
        times = Value::object({{"input", number(means->input)},
                               {"compute", number(means->compute)},
                               {"all_reduce_wait", number(means->wait)},
                               {"update", number(means->update)},
                               {"total", number(means->total)}});
    }
    result.set("samples_per_second", std::move(rate));
    result.set("step_ms", std::move(times));
    return result;
}

} // namespace lockstep::metrics
