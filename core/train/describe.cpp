// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/train/describe.h"

#include "core/data/inspect.h"
#include "core/job/batching.h"
#include "core/nn/plan.h"
#include "core/train/gradient_reducer.h"

#include <algorithm>

namespace lockstep::train {

namespace {

using json::Value;

Value shapeOf(const nn::Shape& shape) {
    Value dimensions = Value::array({nullptr});
    for (const std::int64_t dimension : shape.dims())
        dimensions.append(dimension);
    return dimensions;
}

Value modelOf(const nn::Graph& graph) {
    Value layers = Value::array();
    for (const nn::Layer& layer : graph.layers())
        layers.append(Value::object({{"name", layer.name},
                                     {"class", layer.className},
                                     {"output_shape", shapeOf(layer.output)},
                                     {"parameters", layer.parameters()}}));
    return Value::object({{"name", graph.name()},
                          {"layers", layers},
                          {"parameters", graph.parameters()},
                          {"trainable", graph.trainableParameters()}});
}

Value memoryOf(const nn::Graph& graph, const nn::CompileSpec& compile, std::int64_t rows) {
    const nn::MemoryEstimate memory = nn::estimateMemory(graph, compile, rows);
    return Value::object({{"parameters_bytes", memory.parametersBytes},
                          {"gradients_bytes", memory.gradientsBytes},
                          {"optimizer_bytes", memory.optimizerBytes},
                          {"activations_bytes", memory.activationsBytes},
                          {"total_bytes", memory.totalBytes()}});
}

Value batchingOf(const job::JobSpec& job, std::int64_t rows, int workers) {
    const job::BatchSummary summary = job::summarize(job, rows, workers);
    const auto rate = [](std::optional<double> value) { return value ? Value(*value) : Value(); };
    return Value::object({{"replicas", summary.replicas},
                          {"global_batch", summary.globalBatch},
                          {"batch_per_replica", summary.largestReplicaBatch},
                          {"smallest_batch_per_replica", summary.smallestReplicaBatch},
                          {"steps_per_epoch", summary.stepsPerEpoch},
                          {"last_batch", summary.lastBatch},
                          {"base_learning_rate", rate(summary.baseRate)},
                          {"learning_rate", rate(summary.scaledRate)},
                          {"warmup_steps", summary.warmupSteps}});
}

Value shardsOf(const job::JobSpec& job, const data::RowSet& train, int workers) {
    Value shards = Value::array();
    for (const data::ShardPreview& shard : data::previewShards(job, train, workers, 1, 0))
        shards.append(Value::object({{"task", "worker:" + std::to_string(shard.rank)},
                                     {"rows", shard.rows},
                                     {"rows_read", shard.rowsRead},
                                     {"steps", shard.steps}}));
    return shards;
}

} // namespace

Value toJson(const Problem& problem) {
    return Value::object({{"severity", problem.severity == Severity::Error ? "error" : "warning"},
                          {"file", problem.file},
                          {"path", problem.path},
                          {"line", problem.line},
                          {"column", problem.column},
                          {"message", problem.message},
                          {"expected", problem.expected},
                          {"hint", problem.hint}});
}

Value describeJob(const Prepared& prepared, int workers) {
    Problems problems = prepared.problems;
    const job::JobSpec& job = prepared.job;
    const std::int64_t rows = prepared.train.size();
    Value result = Value::object({{"problems", Value::array()}, {"name", job.name}});
    if (prepared.graph)
        result.set("model", modelOf(*prepared.graph));
    if (prepared.train.dataset) {
        const data::Dataset& dataset = *prepared.train.dataset;
        result.set("data", Value::object({{"train_rows", rows},
                                          {"validation_rows", prepared.validation.size()},
                                          {"features", dataset.features},
                                          {"labels", dataset.labels}}));
        for (Problem& problem : job::checkReplicas(job, workers, rows))
            problems.push_back(std::move(problem));
        if (!hasErrors(problems)) {
            result.set("batching", batchingOf(job, rows, workers));
            result.set("shard_policy", job::effectiveSharding(job.data.shardPolicy).reason);
            result.set("shards", shardsOf(job, prepared.train, workers));
        }
    }
    if (prepared.graph && prepared.compile && !hasErrors(problems)) {
        const std::int64_t share = job::largestShare(job::trainShape(job, rows, workers));
        result.set("memory", memoryOf(*prepared.graph, *prepared.compile, share));
        const auto elements = static_cast<std::size_t>(prepared.graph->trainableParameters());
        Value buckets = Value::array();
        std::size_t begin = 0;
        for (const std::size_t end : bucketEnds(elements, job.communication.bytesPerPack)) {
            buckets.append(static_cast<std::int64_t>((end - begin) * sizeof(float)));
            begin = end;
        }
        result.set("bytes_per_all_reduce", static_cast<std::int64_t>(elements * sizeof(float)));
        result.set("bucket_bytes", buckets);
    }
    for (const Problem& problem : problems)
        result.find("problems")->append(toJson(problem));
    return result;
}

} // namespace lockstep::train
