// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/train/fit.h"

#include "core/base/failure.h"
#include "core/data/pipeline.h"
#include "core/job/batching.h"
#include "core/nn/optimizer.h"
#include "core/nn/plan.h"
#include "core/tensor/cpu/cpu_backend.h"
#include "core/train/console.h"
#include "core/train/gradient_reducer.h"
#include "core/train/step_meter.h"

#include <algorithm>
#include <map>
#include <memory>

namespace lockstep::train {

namespace {

double millisecondsSince(Monotonic::time_point begin) {
    return std::chrono::duration<double, std::milli>(Monotonic::now() - begin).count();
}

/// Loss and metrics of one epoch or one validation, exact over all replicas.
class Averages {
public:
    explicit Averages(std::size_t metrics)
        : m_metrics(metrics) {}

    /// `loss` is the mean of a global batch of `rows` rows; Keras weighs batches by their rows.
    void addLoss(double loss, std::int64_t rows) {
        m_loss += loss * static_cast<double>(rows);
        m_rows += static_cast<double>(rows);
    }
    void addMetric(std::size_t metric, double sum, double count) {
        m_metrics[metric].sum += sum;
        m_metrics[metric].count += count;
    }
    void reset() {
        m_loss = m_rows = 0;
        std::fill(m_metrics.begin(), m_metrics.end(), nn::MetricSum{});
    }
    void appendTo(wire::NamedValues& values, const std::string& prefix,
                  const std::vector<nn::MetricSpec>& specs) const {
        values.emplace_back(prefix + "loss", m_rows > 0 ? m_loss / m_rows : 0);
        for (std::size_t i = 0; i < specs.size(); ++i)
            values.emplace_back(prefix + specs[i].name,
                                m_metrics[i].count > 0 ? m_metrics[i].sum / m_metrics[i].count : 0);
    }

private:
    double m_loss = 0;
    double m_rows = 0;
    std::vector<nn::MetricSum> m_metrics;
};

/// The doubles that travel with a step: the loss sum, the metric sums, and the chief's scalars,
/// to which the others add zero. See architecture: no rank computes a scalar by itself.
class StepTotals {
public:
    StepTotals(const nn::CompileSpec& compile, bool isChief)
        : m_compile(compile)
        , m_isChief(isChief)
        , m_values(3 + 2 * compile.metrics.size()) {}

    std::span<double> values() { return m_values; }

    void set(const nn::Plan& plan, const nn::StepScalars& scalars) {
        m_values[0] = plan.lossSum();
        m_values[1] = m_isChief ? static_cast<double>(scalars.rate) : 0;
        m_values[2] = m_isChief ? static_cast<double>(scalars.alpha) : 0;
        for (std::size_t i = 0; i < m_compile.metrics.size(); ++i) {
            m_values[3 + 2 * i] = plan.metricSums()[i].sum;
            m_values[4 + 2 * i] = plan.metricSums()[i].count;
        }
    }

    double loss(std::int64_t globalRows) const {
        return m_values[0] / m_compile.divisor(globalRows);
    }
    nn::StepScalars scalars() const {
        return {static_cast<float>(m_values[1]), static_cast<float>(m_values[2])};
    }
    void addTo(Averages& averages, std::int64_t globalRows) const {
        averages.addLoss(loss(globalRows), globalRows);
        for (std::size_t i = 0; i < m_compile.metrics.size(); ++i)
            averages.addMetric(i, m_values[3 + 2 * i], m_values[4 + 2 * i]);
    }

private:
    const nn::CompileSpec& m_compile;
    bool m_isChief;
    std::vector<double> m_values;
};

/// One plan per number of own rows that occurs, made when it first does.
class Plans {
public:
    Plans(nn::Network& network, tensor::Backend& backend, nn::Mode mode)
        : m_network(network)
        , m_backend(backend)
        , m_mode(mode) {}

    nn::Plan& forRows(std::int64_t rows) {
        auto& plan = m_plans[rows];
        if (!plan)
            plan = std::make_unique<nn::Plan>(m_network, m_backend, rows, m_mode);
        return *plan;
    }

private:
    nn::Network& m_network;
    tensor::Backend& m_backend;
    nn::Mode m_mode;
    std::map<std::int64_t, std::unique_ptr<nn::Plan>> m_plans;
};

class Trainer {
public:
    Trainer(const Prepared& prepared, nn::Network& network, collective::Group& group,
            EventLog& events, const FitOptions& options)
        : m_prepared(prepared)
        , m_job(prepared.job)
        , m_compile(network.compile())
        , m_network(network)
        , m_group(group)
        , m_events(events)
        , m_options(options)
        , m_backend(tensor::makeCpuBackend(options.threads))
        , m_optimizer(m_compile.optimizer, network.trainables().size())
        , m_trainPlans(network, *m_backend, nn::Mode::Training)
        , m_validationPlans(network, *m_backend, nn::Mode::Evaluation)
        , m_reducer(group, network.gradients(),
                    bucketEnds(network.gradients().size(), m_job.communication.bytesPerPack))
        , m_totals(m_compile, group.rank() == 0)
        , m_averages(m_compile.metrics.size()) {}

    FitResult run() {
        m_group.broadcast(std::as_writable_bytes(m_network.values()), 0);
        data::Pipeline pipeline(
            m_prepared.train,
            data::trainOptions(m_job, m_prepared.train.size(), m_group.size(), m_group.rank()));
        std::unique_ptr<data::Pipeline> validation;
        if (m_prepared.validation.size() > 0)
            validation = std::make_unique<data::Pipeline>(
                m_prepared.validation, data::validationOptions(m_job, m_prepared.validation.size(),
                                                               m_group.size(), m_group.rank()));
        m_events.write(wire::PhaseChanged{wire::Phase::Training, {}, 0});
        const int epochs = static_cast<int>(m_job.fit.epochs);
        Sha256 digest = digestOf(m_network);
        for (int epoch = 1; epoch <= epochs; ++epoch)
            digest = runEpoch(epoch, epochs, pipeline, validation.get());
        const double rate = m_rate;
        FitResult result{m_meter.summary(), digest, {std::move(m_optimizer), m_step, rate}};
        result.summary.digest = toHex(digest);
        return result;
    }

    /// Returns when the communication thread no longer touches the buffers of this and the network.
    void settle() {
        settle(m_totalsWork);
        for (std::size_t bucket = 0; bucket < m_reducer.submitted(); ++bucket)
            settle(m_reducer.work(bucket));
    }

private:
    static void settle(const collective::Work& work) {
        try {
            work.wait();
        } catch (const Failure&) { // of the group, which has ended
        }
    }

    Sha256 runEpoch(int epoch, int epochs, data::Pipeline& pipeline, data::Pipeline* validation) {
        const auto begin = Monotonic::now();
        if (m_options.console && epochs > 1)
            m_options.console(epochHeader(epoch, epochs));
        m_averages.reset();
        pipeline.startEpoch(epoch);
        for (auto stepBegin = Monotonic::now();; stepBegin = Monotonic::now()) {
            const data::Batch* batch = pipeline.next();
            if (!batch)
                break;
            runStep(epoch, *batch, stepBegin);
        }
        if (auto event = m_meter.flush())
            m_events.write(*event);

        wire::EpochEnded ended;
        ended.epoch = epoch;
        ended.step = m_step;
        m_averages.appendTo(ended.values, "", m_compile.metrics);
        if (validation)
            validate(epoch, *validation, ended.values);
        const Sha256 digest = digestOf(m_network);
        checkDigests(m_group, digest, m_options.tasks);
        ended.digest = toHex(digest);
        ended.seconds = millisecondsSince(begin) / 1000.0;
        if (m_options.console)
            m_options.console(epochLine(pipeline.stepsPerEpoch(), ended.seconds, ended.values));
        m_events.write(std::move(ended));
        return digest;
    }

    void runStep(int epoch, const data::Batch& batch, Monotonic::time_point begin) {
        StepRecord record;
        record.epoch = epoch;
        record.step = m_step + 1;
        record.rows = batch.globalRows;
        record.ownRows = batch.rows;
        record.times.input = millisecondsSince(begin);

        const auto computeBegin = Monotonic::now();
        nn::Plan& plan = m_trainPlans.forRows(batch.rows);
        plan.setInputs(batch.features, batch.labels);
        plan.forward(static_cast<std::uint64_t>(m_step),
                     static_cast<std::uint64_t>(batch.firstRow));
        m_totals.set(
            plan, nn::stepScalars(m_compile.optimizer, rate(), static_cast<std::uint64_t>(m_step)));
        m_totalsWork = m_group.allReduceSum(m_totals.values());
        m_reducer.reset();
        plan.backward(m_compile.divisor(batch.globalRows),
                      [&](std::size_t end) { m_reducer.complete(end); });
        record.times.compute = millisecondsSince(computeBegin);

        record.times.allReduceWait = waitFor([&] { m_totalsWork.wait(); });
        const nn::StepScalars scalars = m_totals.scalars();
        for (std::size_t bucket = 0; bucket < m_reducer.buckets(); ++bucket) {
            record.times.allReduceWait += waitFor([&] { m_reducer.wait(bucket); });
            const auto updateBegin = Monotonic::now();
            m_optimizer.apply(scalars, m_network.trainables(), m_network.gradients(),
                              m_reducer.beginOf(bucket), m_reducer.endOf(bucket));
            record.times.update += millisecondsSince(updateBegin);
        }
        ++m_step;
        m_totals.addTo(m_averages, batch.globalRows);
        record.loss = m_totals.loss(batch.globalRows);
        record.learningRate = static_cast<double>(scalars.rate);
        m_rate = record.learningRate;
        record.times.allReduce = m_reducer.milliseconds();
        record.times.total = millisecondsSince(begin);
        if (auto event = m_meter.add(record))
            m_events.write(*event);
    }

    void validate(int epoch, data::Pipeline& pipeline, wire::NamedValues& values) {
        m_events.write(wire::PhaseChanged{wire::Phase::Validating, {}, 0});
        // Loss sum and rows, then the metrics' sums and counts; reduced once at the end.
        std::vector<double> totals(2 + 2 * m_compile.metrics.size());
        pipeline.startEpoch(epoch);
        while (const data::Batch* batch = pipeline.next()) {
            nn::Plan& plan = m_validationPlans.forRows(batch->rows);
            plan.setInputs(batch->features, batch->labels);
            plan.forward();
            const double rows = static_cast<double>(batch->globalRows);
            totals[0] += plan.lossSum() / m_compile.divisor(batch->globalRows) * rows;
            totals[1] += static_cast<double>(batch->rows);
            for (std::size_t i = 0; i < m_compile.metrics.size(); ++i) {
                totals[2 + 2 * i] += plan.metricSums()[i].sum;
                totals[3 + 2 * i] += plan.metricSums()[i].count;
            }
        }
        m_group.allReduceSum(std::span(totals)).wait();
        Averages averages(m_compile.metrics.size());
        averages.addLoss(totals[1] > 0 ? totals[0] / totals[1] : 0,
                         static_cast<std::int64_t>(totals[1]));
        for (std::size_t i = 0; i < m_compile.metrics.size(); ++i)
            averages.addMetric(i, totals[2 + 2 * i], totals[3 + 2 * i]);
        averages.appendTo(values, "val_", m_compile.metrics);
        m_events.write(wire::PhaseChanged{wire::Phase::Training, {}, 0});
    }

    double rate() const {
        return job::learningRate(m_job.fit, m_compile.optimizer.learningRate, m_group.size(),
                                 m_step);
    }

    template <class Wait>
    static double waitFor(Wait wait) {
        const auto begin = Monotonic::now();
        wait();
        return millisecondsSince(begin);
    }

    const Prepared& m_prepared;
    const job::JobSpec& m_job;
    const nn::CompileSpec& m_compile;
    nn::Network& m_network;
    collective::Group& m_group;
    EventLog& m_events;
    const FitOptions& m_options;
    std::unique_ptr<tensor::Backend> m_backend;
    nn::Optimizer m_optimizer;
    Plans m_trainPlans;
    Plans m_validationPlans;
    GradientReducer m_reducer;
    StepTotals m_totals;
    collective::Work m_totalsWork;
    Averages m_averages;
    StepMeter m_meter;
    std::int64_t m_step = 0;                          ///< optimizer updates made
    double m_rate = m_compile.optimizer.learningRate; ///< of the last step
};

} // namespace

FitResult fit(const Prepared& prepared, nn::Network& network, collective::Group& group,
              EventLog& events, const FitOptions& options) {
    Trainer trainer(prepared, network, group, events, options);
    try {
        return trainer.run();
    } catch (const std::exception& exception) {
        // No-op where the group's end is the reason; else it ends what is still under way.
        group.abort(collective::Farewell::Failed, exception.what());
        trainer.settle();
        throw;
    }
}

wire::Planned planOf(const Prepared& prepared, int world) {
    const job::JobSpec& job = prepared.job;
    const job::EpochShape shape = job::trainShape(job, prepared.train.size(), world);
    wire::Planned planned;
    planned.parameters = prepared.graph->parameters();
    planned.trainable = prepared.graph->trainableParameters();
    planned.trainRows = prepared.train.size();
    planned.validationRows = prepared.validation.size();
    planned.globalBatch = shape.globalBatch;
    planned.stepsPerEpoch = job::stepsPerEpoch(shape);
    planned.epochs = static_cast<int>(job.fit.epochs);
    planned.bytesPerAllReduce = planned.trainable * static_cast<std::int64_t>(sizeof(float));
    std::size_t begin = 0;
    for (const std::size_t end :
         bucketEnds(static_cast<std::size_t>(planned.trainable), job.communication.bytesPerPack)) {
        planned.bucketBytes.push_back(static_cast<std::int64_t>((end - begin) * sizeof(float)));
        begin = end;
    }
    planned.algorithm = "ring";
    planned.shardPolicy = shape.sharding == job::Sharding::Off ? "OFF" : "DATA";
    return planned;
}

} // namespace lockstep::train
