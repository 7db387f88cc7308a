// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The arithmetic of batches, steps and rates that screen, launcher and engine share: nobody else
// computes any of it. Pure functions; rows, steps and ranks count from 0, epochs from 1.

#include "core/job/job_spec.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::job {

/// `count` rows from `begin` on. count may be 0.
struct RowRange {
    std::int64_t begin = 0;
    std::int64_t count = 0;
    std::int64_t end() const { return begin + count; }
    bool operator==(const RowRange&) const = default;
};

/// The contiguous share of `rows` rows that `rank` of `replicas` takes: the first
/// rows mod replicas of them take one more. 0 <= rank < replicas.
RowRange replicaShare(std::int64_t rows, int replicas, int rank);

/// Rows of a whole global batch on `replicas` replicas, after `fit`.
std::int64_t globalBatchSize(const Fit& fit, int replicas);

/// How the rows of an epoch reach the replicas.
enum class Sharding {
    Data, ///< each global batch is cut into the replicas' shares: every row once
    Off,  ///< every replica reads all rows, taking its share of the batch size in each step
};

struct EffectiveSharding {
    Sharding sharding = Sharding::Data;
    std::string reason; ///< a full sentence: what it means, and why where AUTO chose
};
EffectiveSharding effectiveSharding(ShardPolicy policy);

/// What decides the steps of an epoch and who takes which rows in them.
struct EpochShape {
    std::int64_t rows = 0; ///< of the data set
    std::int64_t globalBatch = 1;
    int replicas = 1;
    Sharding sharding = Sharding::Data;
    Remainder remainder = Remainder::Keep;
};
EpochShape trainShape(const JobSpec& job, std::int64_t rows, int replicas);
/// Validation takes every row once, whatever the sharding of training.
EpochShape validationShape(const JobSpec& job, std::int64_t rows, int replicas);

/// The one "steps in an epoch": for reader, schedule, progress and screen.
std::int64_t stepsPerEpoch(const EpochShape& shape);
/// Rows of the global batch of a step, over all replicas. 0 <= step < stepsPerEpoch().
std::int64_t rowsOfStep(const EpochShape& shape, std::int64_t step);

/// The part of one replica in one step.
struct StepShare {
    std::int64_t globalRows = 0; ///< of the step, over all replicas
    RowRange inBatch;            ///< own rows, by index in the global batch
    RowRange inOrder; ///< own rows, by place in the order of rows that this replica reads
    bool operator==(const StepShare&) const = default;
};
StepShare stepShare(const EpochShape& shape, std::int64_t step, int rank);
/// Most rows that one replica takes in a step of a whole batch: what buffers are made for.
std::int64_t largestShare(const EpochShape& shape);

/// How many of `rows` rows a validation fraction takes, as Keras rounds: rows - floor(rows * (1 -
/// f)), so that a fraction above 0 takes at least one.
std::int64_t validationRows(std::int64_t rows, double fraction);

/// What scaling multiplies the rate with: the number of replicas (or its root) where the batch is
/// per replica, 1 where the batch is global. Source: Goyal et al. 2017, Krizhevsky 2014 (root).
double learningRateFactor(const Fit& fit, int replicas);
/// The rate's factor in step `step` (from 0, over all epochs) of a warm-up of `warmupSteps`: rises
/// in equal parts and is 1 from step warmupSteps - 1 on.
double warmupFactor(std::int64_t warmupSteps, std::int64_t step);
/// base * learningRateFactor * warmupFactor.
double learningRate(const Fit& fit, double base, int replicas, std::int64_t step);
/// The optimizer's own rate before scaling: its config's, or Keras' default for its name; nothing
/// for a name without a known default.
std::optional<double> baseLearningRate(const KerasObject& optimizer);

/// Everything at once, for a panel or `describe`.
struct BatchSummary {
    int replicas = 1;
    std::int64_t globalBatch = 0;
    std::int64_t largestReplicaBatch = 0;
    std::int64_t smallestReplicaBatch = 0;
    std::int64_t stepsPerEpoch = 0;
    std::int64_t lastBatch = 0; ///< rows of the last step of an epoch; 0 where there is no step
    std::optional<double> baseRate;
    std::optional<double> scaledRate; ///< after scaling, before warm-up
    std::int64_t warmupSteps = 0;
};
BatchSummary summarize(const JobSpec& job, std::int64_t trainRows, int replicas);

/// What is wrong with the job on this many replicas: OFF with fewer batch rows than replicas, no
/// whole batch where remainders are dropped (errors), replicas without a row (a warning).
Problems checkReplicas(const JobSpec& job, int replicas,
                       std::optional<std::int64_t> trainRows = std::nullopt);

} // namespace lockstep::job
