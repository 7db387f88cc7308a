// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// A network prepared for one number of own rows: kernels and memory are made once, a step allocates
// nothing of ours. Make one plan per number of rows that occurs (full batch, last partial batch,
// evaluation); 0 rows are allowed and give zero sums and zero gradients.
// Threads: all members are called from one thread at a time. Plans of one network must not run at
// the same time as its optimizer.
// Failure: what forward() finds in the data is Failure{InvalidArgument}; see backend.h for the
// rest.

#include "core/nn/network.h"
#include "core/tensor/backend.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace lockstep::nn {

enum class Mode {
    Training,   ///< dropout is active, backward() may follow forward()
    Evaluation, ///< dropout passes through, no memory for gradients
};

/// Additive over replicas and steps: the metric is sum / count.
struct MetricSum {
    double sum = 0.0;
    double count = 0.0;
};

class Plan {
public:
    Plan(Network& network, tensor::Backend& backend, std::int64_t rows, Mode mode);
    ~Plan();
    Plan(const Plan&) = delete;
    Plan& operator=(const Plan&) = delete;

    std::int64_t rows() const;
    Mode mode() const;

    /// [rows, graph.features()] and [rows, compile.labels.columns]: fill these before forward(), or
    /// call setInputs(), which copies from spans of the same sizes.
    std::span<float> features();
    std::span<float> labels();
    void setInputs(std::span<const float> features, std::span<const float> labels);

    /// Computes outputs, loss sum and metric sums of the own rows. `step` counts optimizer updates
    /// of the run from 0 and `firstRow` is the own first row's index in the global batch: dropout
    /// is a function of both and never of the rank. Both are ignored in evaluation.
    void forward(std::uint64_t step = 0, std::uint64_t firstRow = 0);

    /// [rows, output elements], after the last activation.
    std::span<const float> output() const;
    /// Sum of the loss's elements over the own rows, not divided; and their number.
    double lossSum() const;
    double lossCount() const;
    /// One per CompileSpec::metrics, in its order, over the own rows.
    std::span<const MetricSum> metricSums() const;

    /// Called with `end` when network.gradients()[0, end) is complete and will not be touched again
    /// by this backward: an all-reduce may run on it in place. The variables are still read until
    /// backward() returns. `end` grows, the last is the whole size.
    using OnComplete = std::function<void(std::size_t end)>;
    /// Overwrites the network's gradients with sum over own rows / divisor, where `divisor` is
    /// CompileSpec::divisor(rows of the whole global batch): the sum over replicas is the gradient
    /// of the global loss. After forward(), in training mode.
    void backward(double divisor, const OnComplete& onComplete);

    /// Bytes of this plan's arena.
    std::size_t arenaBytes() const;

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

struct MemoryEstimate {
    std::int64_t parametersBytes = 0;
    std::int64_t gradientsBytes = 0;
    std::int64_t optimizerBytes = 0;
    std::int64_t activationsBytes = 0; ///< one training plan of `rows` own rows, without scratch
    std::int64_t totalBytes() const {
        return parametersBytes + gradientsBytes + optimizerBytes + activationsBytes;
    }
};
/// Without making anything.
MemoryEstimate estimateMemory(const Graph& graph, const CompileSpec& compile, std::int64_t rows);

} // namespace lockstep::nn
