// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/cluster/tf_config.h"

#include "core/base/hash.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace lockstep::cluster {

namespace {

/// The index as TensorFlow takes it, a whole number or a text of one.
std::optional<int> indexOf(const json::Value& value) {
    if (value.isInteger()) {
        const std::int64_t index = value.toInteger();
        return index >= 0 && index <= std::numeric_limits<int>::max()
                   ? std::optional(static_cast<int>(index))
                   : std::nullopt;
    }
    if (!value.isString())
        return std::nullopt;
    const std::string& text = value.toString();
    int index = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), index);
    if (status != std::errc() || end != text.data() + text.size() || index < 0)
        return std::nullopt;
    return index;
}

bool isTraining(TaskType type) {
    return type == TaskType::Chief || type == TaskType::Worker;
}

} // namespace

TfConfig::TfConfig()
    : m_document(json::Value::object()) {}

TfConfig::TfConfig(json::Value document)
    : m_document(std::move(document)) {
    const json::Value* cluster = m_document.find("cluster");
    for (std::size_t t = 0; cluster && t < typeNames().size(); ++t) {
        const json::Value* job = cluster->find(typeNames()[t]);
        if (!job || !job->isArray())
            continue;
        for (const json::Value& item : job->items()) {
            Entry entry;
            entry.task = {static_cast<TaskType>(t), static_cast<int>(&item - job->items().data())};
            if (item.isString())
                entry.text = item.toString();
            auto read = readAddress(entry.text);
            if (auto* address = std::get_if<Address>(&read))
                entry.address = std::move(*address);
            m_entries.push_back(std::move(entry));
        }
    }
    const json::Value* task = m_document.find("task");
    const json::Value* type = task ? task->find("type") : nullptr;
    const json::Value* index = task ? task->find("index") : nullptr;
    if (!type || !type->isString() || !index)
        return;
    const auto taskType = typeFromName(type->toString());
    const auto taskIndex = indexOf(*index);
    if (taskType && taskIndex && find({*taskType, *taskIndex}))
        m_own = TaskId{*taskType, *taskIndex};
}

Result<TfConfig> TfConfig::parse(std::string_view text, std::string_view where) {
    auto document = json::parse(text, where);
    if (!document)
        return document.error();
    if (!document->isObject())
        return Error{Code::InvalidArgument,
                     "Expected a JSON object with \"cluster\" and \"task\", got " +
                         json::nameOf(*document) + ".",
                     std::string(where)};
    return TfConfig(std::move(*document));
}

Result<TfConfig> TfConfig::fromEnvironment(const char* value) {
    if (!value)
        return TfConfig();
    if (std::string_view(value).find_first_not_of(" \t\r\n") == std::string_view::npos)
        return Error{Code::InvalidArgument,
                     "The variable is set, but empty. Expected a JSON object; for training on this "
                     "machine alone, unset it.",
                     "TF_CONFIG"};
    return parse(value);
}

TfConfig TfConfig::make(const std::vector<std::pair<TaskType, std::string>>& tasks,
                        std::optional<TaskId> own) {
    json::Value cluster = json::Value::object();
    for (std::size_t t = 0; t < typeNames().size(); ++t) {
        json::Value job = json::Value::array();
        for (const auto& [type, address] : tasks)
            if (type == static_cast<TaskType>(t))
                job.append(address);
        if (job.size() > 0)
            cluster.set(typeNames()[t], std::move(job));
    }
    TfConfig config(json::Value::object({{"cluster", std::move(cluster)}}));
    return own ? config.forTask(*own) : config;
}

TfConfig TfConfig::forTask(TaskId task) const {
    json::Value document = m_document;
    if (!document.find("task") || !document.find("task")->isObject())
        document.set("task", json::Value::object());
    document.find("task")->set("type", typeName(task.type));
    document.find("task")->set("index", task.index);
    return TfConfig(std::move(document));
}

std::string TfConfig::dump() const {
    return json::dump(m_document);
}

std::string TfConfig::clusterHash() const {
    const json::Value* cluster = m_document.find("cluster");
    return toHex(sha256(cluster ? json::dump(*cluster) : "{}"));
}

bool TfConfig::isLocal() const {
    const json::Value* cluster = m_document.find("cluster");
    return !cluster || (cluster->isObject() && cluster->size() == 0);
}

const TfConfig::Entry* TfConfig::find(TaskId task) const {
    const auto it = std::find_if(m_entries.begin(), m_entries.end(),
                                 [&](const Entry& e) { return e.task == task; });
    return it == m_entries.end() ? nullptr : &*it;
}

std::vector<Rank> TfConfig::ranks() const {
    std::vector<Rank> ranks;
    for (const Entry& entry : m_entries) {
        if (!isTraining(entry.task.type))
            continue;
        const int rank = static_cast<int>(ranks.size());
        ranks.push_back({rank, entry.task, entry.text, rank == 0});
    }
    return ranks;
}

std::optional<TaskId> TfConfig::chief() const {
    const std::vector<Rank> all = ranks();
    return all.empty() ? std::nullopt : std::optional(all.front().task);
}

int TfConfig::rank() const {
    if (isLocal())
        return 0;
    if (!m_own || m_own->type == TaskType::Ps)
        return -1;
    if (m_own->type == TaskType::Evaluator)
        return m_own->index;
    const std::vector<Rank> all = ranks();
    const auto it =
        std::find_if(all.begin(), all.end(), [&](const Rank& r) { return r.task == *m_own; });
    return it == all.end() ? -1 : it->rank;
}

int TfConfig::worldSize() const {
    if (isLocal())
        return 1;
    if (!m_own || m_own->type == TaskType::Ps)
        return 0;
    const bool isEvaluator = m_own->type == TaskType::Evaluator;
    const auto count = std::count_if(m_entries.begin(), m_entries.end(), [&](const Entry& e) {
        return isEvaluator ? e.task.type == TaskType::Evaluator : isTraining(e.task.type);
    });
    return static_cast<int>(count);
}

bool TfConfig::isChief() const {
    if (isLocal())
        return true;
    return m_own && (m_own->type == TaskType::Evaluator || m_own == chief());
}

} // namespace lockstep::cluster
