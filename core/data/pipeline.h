// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Gives one replica its rows of each global batch of an epoch, one batch ahead on a thread of its
// own. Who takes which rows is job/batching.h; the order is epoch_order.h.

#include "core/data/dataset.h"
#include "core/job/batching.h"

#include <cstdint>
#include <memory>
#include <span>

namespace lockstep::data {

/// One replica's part of a step. `rows` may be 0; the step is taken all the same.
struct Batch {
    std::int64_t step = 0;             ///< from 0 within the epoch
    std::int64_t globalRows = 0;       ///< of the global batch, over all replicas
    std::int64_t firstRow = 0;         ///< index in the global batch of the first own row
    std::int64_t rows = 0;             ///< own rows
    std::span<const float> features;   ///< [rows, features]
    std::span<const float> labels;     ///< [rows, labels]
    std::span<const std::int64_t> ids; ///< [rows], places in the data set
};

struct PipelineOptions {
    job::EpochShape shape; ///< its `rows` is set from the row set
    int rank = 0;
    std::int64_t shuffle = 0; ///< rows in the shuffle buffer
    std::uint64_t seed = 0;
};
PipelineOptions trainOptions(const job::JobSpec& job, std::int64_t rows, int replicas, int rank);
/// Every row once, in order.
PipelineOptions validationOptions(const job::JobSpec& job, std::int64_t rows, int replicas,
                                  int rank);

/// Threads: used from one thread; the thread that prepares is internal. After the first epoch's
/// first two batches nothing is allocated.
class Pipeline {
public:
    Pipeline(RowSet rows, const PipelineOptions& options);
    ~Pipeline();
    Pipeline(const Pipeline&) = delete;
    Pipeline& operator=(const Pipeline&) = delete;

    std::int64_t stepsPerEpoch() const;
    std::int64_t largestShare() const; ///< most rows of a batch
    const job::EpochShape& shape() const;

    /// Begins an epoch (from 1) at `firstStep`, whatever was left of the one before, and prepares
    /// its first batch.
    void startEpoch(int epoch, std::int64_t firstStep = 0);
    /// The next batch, valid until the next call; nullptr after the epoch's last. Throws what the
    /// preparing thread threw.
    const Batch* next();

private:
    struct State;
    std::unique_ptr<State> m_state;
};

} // namespace lockstep::data
