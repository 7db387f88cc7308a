// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/job/batching.h"

#include <algorithm>
#include <cassert>
#include <cctype>
#include <cmath>

namespace lockstep::job {

namespace {

/// Rows that a replica takes in a step of OFF, reading all rows by itself.
RowRange offRange(const EpochShape& shape, std::int64_t step, int rank) {
    const std::int64_t size = replicaShare(shape.globalBatch, shape.replicas, rank).count;
    const std::int64_t begin = std::min(shape.rows, step * size);
    std::int64_t count = std::min(size, shape.rows - begin);
    if (shape.remainder == Remainder::Drop && count < size)
        count = 0;
    return {begin, count};
}

RowRange dataRange(const EpochShape& shape, std::int64_t step) {
    const std::int64_t begin = step * shape.globalBatch;
    return {begin, std::clamp(shape.rows - begin, std::int64_t{0}, shape.globalBatch)};
}

double defaultRate(std::string name) {
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (name == "sgd")
        return 0.01;
    static const std::vector<std::string> thousandth = {"adam",    "adamw",    "adamax",   "nadam",
                                                        "rmsprop", "adagrad",  "adadelta", "ftrl",
                                                        "lion",    "adafactor"};
    return std::find(thousandth.begin(), thousandth.end(), name) != thousandth.end() ? 0.001 : 0;
}

} // namespace

RowRange replicaShare(std::int64_t rows, int replicas, int rank) {
    assert(rows >= 0 && replicas > 0 && rank >= 0 && rank < replicas);
    const std::int64_t each = rows / replicas;
    const std::int64_t more = rows % replicas;
    return {rank * each + std::min<std::int64_t>(rank, more), each + (rank < more ? 1 : 0)};
}

std::int64_t globalBatchSize(const Fit& fit, int replicas) {
    if (fit.batchSizePerReplica)
        return *fit.batchSizePerReplica * replicas;
    return fit.globalBatchSize.value_or(32);
}

EffectiveSharding effectiveSharding(ShardPolicy policy) {
    const std::string data = "every worker reads the same rows and trains its share of each "
                             "global batch, so each row is trained once an epoch.";
    switch (policy) {
    case ShardPolicy::Off:
        return {Sharding::Off, "OFF: every replica reads and trains all rows, so each row is "
                               "trained once per replica in an epoch."};
    case ShardPolicy::Auto:
        return {Sharding::Data, "AUTO took DATA, because all hosts hold the same data: " + data};
    case ShardPolicy::Data:
    case ShardPolicy::File: // refused by parseJob
        break;
    }
    return {Sharding::Data, "DATA: " + data};
}

EpochShape trainShape(const JobSpec& job, std::int64_t rows, int replicas) {
    return {rows, globalBatchSize(job.fit, replicas), replicas,
            effectiveSharding(job.data.shardPolicy).sharding, job.data.remainder};
}

EpochShape validationShape(const JobSpec& job, std::int64_t rows, int replicas) {
    return {rows, globalBatchSize(job.fit, replicas), replicas, Sharding::Data, Remainder::Keep};
}

std::int64_t stepsPerEpoch(const EpochShape& shape) {
    std::int64_t batch = shape.globalBatch;
    if (shape.sharding == Sharding::Off) {
        // The epoch lasts until the slowest reader, the one with the smallest share, has read all;
        // where remainders are dropped, while every replica has whole batches.
        const int slowest = shape.remainder == Remainder::Keep ? shape.replicas - 1 : 0;
        batch = std::max<std::int64_t>(
            1, replicaShare(shape.globalBatch, shape.replicas, slowest).count);
    }
    if (shape.remainder == Remainder::Drop)
        return shape.rows / batch;
    return shape.rows / batch + (shape.rows % batch > 0 ? 1 : 0);
}

std::int64_t rowsOfStep(const EpochShape& shape, std::int64_t step) {
    if (shape.sharding == Sharding::Data)
        return dataRange(shape, step).count;
    std::int64_t rows = 0;
    for (int rank = 0; rank < shape.replicas; ++rank)
        rows += offRange(shape, step, rank).count;
    return rows;
}

StepShare stepShare(const EpochShape& shape, std::int64_t step, int rank) {
    StepShare share;
    share.globalRows = rowsOfStep(shape, step);
    if (shape.sharding == Sharding::Data) {
        share.inBatch = replicaShare(share.globalRows, shape.replicas, rank);
        share.inOrder = {dataRange(shape, step).begin + share.inBatch.begin, share.inBatch.count};
        return share;
    }
    share.inOrder = offRange(shape, step, rank);
    share.inBatch.count = share.inOrder.count;
    for (int before = 0; before < rank; ++before)
        share.inBatch.begin += offRange(shape, step, before).count;
    return share;
}

std::int64_t largestShare(const EpochShape& shape) {
    return replicaShare(shape.globalBatch, shape.replicas, 0).count;
}

std::int64_t validationRows(std::int64_t rows, double fraction) {
    if (fraction <= 0)
        return 0;
    // The small term undoes the rounding of 1 - 0.9, which would otherwise cost a training row.
    const double train = std::floor(static_cast<double>(rows) * (1 - fraction) + 1e-9);
    return std::clamp(rows - static_cast<std::int64_t>(train), std::int64_t{0}, rows);
}

double learningRateFactor(const Fit& fit, int replicas) {
    if (!fit.batchSizePerReplica)
        return 1;
    switch (fit.rateScaling) {
    case RateScaling::None:
        return 1;
    case RateScaling::Linear:
        return replicas;
    case RateScaling::Sqrt:
        return std::sqrt(static_cast<double>(replicas));
    }
    return 1;
}

double warmupFactor(std::int64_t warmupSteps, std::int64_t step) {
    if (step + 1 >= warmupSteps)
        return 1;
    return static_cast<double>(step + 1) / static_cast<double>(warmupSteps);
}

double learningRate(const Fit& fit, double base, int replicas, std::int64_t step) {
    return base * learningRateFactor(fit, replicas) * warmupFactor(fit.warmupSteps, step);
}

std::optional<double> baseLearningRate(const KerasObject& optimizer) {
    for (const char* key : {"learning_rate", "lr"}) {
        const json::Value* rate = optimizer.config.find(key);
        if (!rate)
            continue;
        if (rate->isNumber())
            return rate->toNumber();
        return std::nullopt; // a schedule
    }
    const double rate = defaultRate(optimizer.className);
    return rate > 0 ? std::optional(rate) : std::nullopt;
}

BatchSummary summarize(const JobSpec& job, std::int64_t trainRows, int replicas) {
    const EpochShape shape = trainShape(job, trainRows, replicas);
    BatchSummary summary;
    summary.replicas = replicas;
    summary.globalBatch = shape.globalBatch;
    summary.largestReplicaBatch = largestShare(shape);
    summary.smallestReplicaBatch = replicaShare(shape.globalBatch, replicas, replicas - 1).count;
    summary.stepsPerEpoch = stepsPerEpoch(shape);
    if (summary.stepsPerEpoch > 0)
        summary.lastBatch = rowsOfStep(shape, summary.stepsPerEpoch - 1);
    summary.baseRate = baseLearningRate(job.compile.optimizer);
    if (summary.baseRate)
        summary.scaledRate = *summary.baseRate * learningRateFactor(job.fit, replicas);
    summary.warmupSteps = job.fit.warmupSteps;
    return summary;
}

Problems checkReplicas(const JobSpec& job, int replicas, std::optional<std::int64_t> trainRows) {
    Problems problems;
    if (job.kind != JobKind::Model)
        return problems;
    const std::int64_t batch = globalBatchSize(job.fit, replicas);
    if (batch < replicas) {
        const bool off = effectiveSharding(job.data.shardPolicy).sharding == Sharding::Off;
        problems.push_back(problemAt(
            job, "fit.global_batch_size",
            "A global batch of " + std::to_string(batch) + " for " + std::to_string(replicas) +
                " replicas leaves " + std::to_string(replicas - batch) + " of them without a row.",
            "at least " + std::to_string(replicas), "Take a larger batch or fewer workers.",
            off ? Severity::Error : Severity::Warning));
    }
    if (trainRows && job.data.remainder == Remainder::Drop &&
        stepsPerEpoch(trainShape(job, *trainRows, replicas)) == 0)
        problems.push_back(problemAt(job, "data.drop_remainder",
                                     "The " + std::to_string(*trainRows) +
                                         " training rows fill no whole batch of " +
                                         std::to_string(batch) + ", so nothing would be trained.",
                                     "a batch of at most the training rows",
                                     "Take a smaller batch, or keep the remainder."));
    return problems;
}

} // namespace lockstep::job
