// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// A place in the cluster: type and index, as in TF_CONFIG. People, JSON and events write
// "worker:0"; paths write "worker-0".

#include "core/base/result.h"

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::cluster {

enum class TaskType { Chief, Worker, Ps, Evaluator };

/// "chief", "worker", "ps", "evaluator".
const char* typeName(TaskType type);
std::optional<TaskType> typeFromName(std::string_view name);
/// The four names, in the order of the enum.
const std::vector<std::string>& typeNames();

struct TaskId {
    TaskType type = TaskType::Worker;
    int index = 0;

    std::string text() const;     ///< "worker:0"
    std::string pathName() const; ///< "worker-0"

    /// Reads "worker:0"; InvalidArgument says what was expected.
    static Result<TaskId> parse(std::string_view text);
    /// Reads "worker-0", a folder's name.
    static Result<TaskId> parsePathName(std::string_view name);

    /// Chief, workers, ps, evaluators, each by index: the order of ranks.
    auto operator<=>(const TaskId&) const = default;
};

/// A training task's place in the collective. The chief is 0, workers follow in index order.
struct Rank {
    int rank = 0;
    TaskId task;
    std::string address;  ///< as written in the cluster
    bool isChief = false; ///< exactly one is
};

} // namespace lockstep::cluster
