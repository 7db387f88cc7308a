// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// TF_CONFIG: reading, judging and writing, here and nowhere else. A value, immutable.
// Source: TensorFlow's TFConfigClusterResolver, multi_worker_util and server_lib; where they fail
// late or not at all, validate() refuses early.

#include "core/base/json.h"
#include "core/base/problem.h"
#include "core/cluster/address.h"
#include "core/cluster/task.h"
#include "core/cluster/validation.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep::cluster {

class TfConfig {
public:
    /// One task of the `cluster` object.
    struct Entry {
        TaskId task;
        std::string text; ///< the address as written; empty where it is no text
        Address address;  ///< port 0 where the text is no address
    };

    TfConfig(); ///< `{}`: local mode

    /// Any JSON object is read; what is wrong inside is for validate(). InvalidArgument with line
    /// and column for what is no JSON object.
    static Result<TfConfig> parse(std::string_view text, std::string_view where = "TF_CONFIG");
    /// From getenv("TF_CONFIG"): nullptr (not set) is local mode, an empty text is an error, as in
    /// TensorFlow.
    static Result<TfConfig> fromEnvironment(const char* value);
    /// `{"cluster": {type: [address, ...], ...}, "task": {...}}`, jobs in the order of TaskType,
    /// addresses by index.
    static TfConfig make(const std::vector<std::pair<TaskType, std::string>>& tasks,
                         std::optional<TaskId> own);
    /// The same cluster and unknown keys, seen from another task.
    TfConfig forTask(TaskId task) const;

    const json::Value& document() const { return m_document; }
    /// Compact JSON, the same bytes each time; what was read from compact JSON comes back equal.
    std::string dump() const;
    /// SHA-256 in hex over the compact `cluster` object: equal on all workers of one cluster.
    std::string clusterHash() const;

    /// No cluster: one process trains alone, no port is opened.
    bool isLocal() const;
    const std::vector<Entry>& entries() const { return m_entries; }
    const Entry* find(TaskId task) const;
    /// This process' task; nothing in local mode or where it cannot be read.
    std::optional<TaskId> own() const { return m_own; }

    /// Training tasks (chief, workers) in rank order, with one chief; empty in local mode.
    std::vector<Rank> ranks() const;
    /// The chief task, or worker 0 where there is none; nothing in local mode.
    std::optional<TaskId> chief() const;

    // Seen from own(), as TensorFlow counts: an evaluator is a cluster of its own.
    int rank() const;      ///< 0 in local mode, -1 for ps
    int worldSize() const; ///< 1 in local mode, 0 for ps
    bool isChief() const;

private:
    explicit TfConfig(json::Value document);

    json::Value m_document;
    std::vector<Entry> m_entries; ///< in the order of TaskId
    std::optional<TaskId> m_own;
};

/// Everything that is wrong, in the order of the document; paths like "cluster.worker.1" and
/// "task.index".
Problems validate(const TfConfig& config, const ValidateOptions& options = {});

} // namespace lockstep::cluster
