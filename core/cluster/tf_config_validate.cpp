// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// What is wrong with a TF_CONFIG. Sources of the rules: TensorFlow's multi_worker_util (types, one
// chief, one evaluator, index), server_lib (arrays of texts), grpc_channel (addresses); duplicates,
// loopback and negative indexes, which TensorFlow lets pass and hangs on, are ours.

#include "core/base/json_reader.h"
#include "core/cluster/detail/checks.h"
#include "core/cluster/tf_config.h"

#include <algorithm>
#include <charconv>

namespace lockstep::cluster {

namespace {

class Check {
public:
    Check(const TfConfig& config, const ValidateOptions& options)
        : m_config(config)
        , m_options(options)
        , m_root(&config.document(), "", options.file, &m_problems) {}

    Problems run() {
        checkTopLevel();
        const json::Reader cluster = m_root.at("cluster");
        if (cluster.exists() && !cluster.value()->isObject())
            cluster.wrongKind("an object of job names, each with an array of addresses");
        else if (!m_config.isLocal())
            checkCluster(cluster);
        checkTask();
        detail::sortByDocument(m_problems, m_config.document());
        return std::move(m_problems);
    }

private:
    /// Unknown keys belong to other programs; a slip of the pen must not make everyone train alone.
    void checkTopLevel() {
        for (const auto& [key, member] : m_root.members()) {
            const std::string near = json::nearest(key, {"cluster", "task"});
            if (key != "cluster" && key != "task" && !near.empty())
                member.warning("The key \"" + key + "\" is ignored.", {},
                               "Did you mean \"" + near + "\"?");
        }
    }

    void checkCluster(const json::Reader& cluster) {
        std::vector<detail::PlacedAddress> addresses;
        bool hasTraining = false;
        for (const auto& [name, job] : cluster.members()) {
            const auto type = typeFromName(name);
            if (!type) {
                checkUnknownJob(name, job);
                continue;
            }
            hasTraining = hasTraining || type == TaskType::Chief || type == TaskType::Worker;
            const auto complaint = detail::useComplaint(*type, m_options.use);
            if (!complaint.message.empty())
                job.error(complaint.message, {}, complaint.hint);
            checkJob(name, *type, job, addresses);
        }
        if (!hasTraining && ownTypeName() != "evaluator")
            cluster.error("The cluster has no chief and no worker, so nobody trains.",
                          "\"worker\" with an array of addresses, for example {\"worker\": "
                          "[\"10.0.0.1:2222\", \"10.0.0.2:2222\"]}");
        for (Problem& problem : detail::addressProblems(addresses, m_options.hosts,
                                                        detail::AllLoopback::Warn, m_options))
            m_problems.push_back(std::move(problem));
    }

    static void checkUnknownJob(const std::string& name, const json::Reader& job) {
        const std::string expected = json::listOr(typeNames());
        if (name == "master") {
            job.warning("The job \"master\" is ignored: its tasks are not part of the training.",
                        expected, "The name for it is \"chief\".");
            return;
        }
        const std::string near = json::nearest(name, typeNames());
        if (near.empty())
            job.warning("The job \"" + name + "\" is not known and is ignored.", expected);
        else
            job.error("The job \"" + name + "\" is not known.", expected,
                      "Did you mean \"" + near + "\"?");
    }

    static void checkJob(const std::string& name, TaskType type, const json::Reader& job,
                         std::vector<detail::PlacedAddress>& addresses) {
        const json::Value& value = *job.value();
        const std::string expected = "an array of \"host:port\" texts";
        if (!value.isArray()) {
            std::string hint;
            if (value.isString())
                hint = "Put it into brackets: [" + json::dump(value) + "].";
            else if (value.isObject())
                hint = "An object of index and address is for parameter servers with dynamic "
                       "workers; list the addresses of all tasks in the order of their index.";
            job.error("The job \"" + name + "\" is " + json::nameOf(value) + ".", expected, hint);
            return;
        }
        if (value.size() == 0)
            job.error("The job \"" + name + "\" has no task.", "at least one address",
                      "Leave out \"" + name + "\" where there is none.");
        const bool single = type == TaskType::Chief || type == TaskType::Evaluator;
        if (single && value.size() > 1)
            job.error("There are " + std::to_string(value.size()) + " tasks in \"" + name + "\".",
                      "at most one " + name,
                      type == TaskType::Chief ? "Make the others workers." : "");
        for (const json::Reader& item : job.items()) {
            if (item.value()->isString())
                addresses.push_back({item.path(), item.line(), item.value()->toString()});
            else
                item.wrongKind("a \"host:port\" text");
        }
    }

    std::string ownTypeName() const {
        const json::Value* type = json::findPath(m_config.document(), "task.type");
        return type && type->isString() ? type->toString() : std::string();
    }

    void checkTask() {
        const json::Reader task = m_root.at("task");
        if (task.exists() && !task.value()->isObject()) {
            task.wrongKind("an object with \"type\" and \"index\"");
            return;
        }
        if (m_config.isLocal()) {
            if (task.exists() && task.value()->size() > 0)
                task.warning("There is a task, but no cluster: the task is ignored, and this "
                             "process would train alone.",
                             {}, "Add \"cluster\", or remove \"task\" to train alone on purpose.");
            return;
        }
        const bool isMissing = !task.exists() || task.value()->size() == 0;
        if (isMissing && m_options.ownTask == OwnTask::Optional)
            return;
        if (isMissing) {
            task.error("With a cluster, the task of this process must be given too.",
                       "{\"type\": \"worker\", \"index\": 0} or another task of the cluster");
            return;
        }
        if (!m_root.at("cluster").value()->isObject())
            return;
        const auto type = checkType(task.at("type"));
        checkIndex(task.at("index"), type);
    }

    /// The type where it is one of the cluster's.
    std::optional<TaskType> checkType(const json::Reader& reader) {
        const std::string expected = json::listOr(typeNames());
        if (reader.isAbsent()) {
            reader.error("The type of this process' task is missing.", expected);
            return std::nullopt;
        }
        if (!reader.value()->isString()) {
            reader.wrongKind(expected);
            return std::nullopt;
        }
        const std::string& name = reader.value()->toString();
        const auto type = typeFromName(name);
        if (!type) {
            const std::string near = name == "master" ? "chief" : json::nearest(name, typeNames());
            reader.error("\"" + name + "\" is not a task type.", expected,
                         near.empty() ? "" : "Did you mean \"" + near + "\"?");
            return std::nullopt;
        }
        const auto complaint = detail::useComplaint(*type, m_options.use);
        if (!complaint.message.empty())
            reader.error(complaint.message, {}, complaint.hint);
        if (!m_root.at("cluster").at(name).exists()) {
            reader.error("This process is \"" + name + "\", but the cluster has no job \"" + name +
                             "\".",
                         "a type that the cluster lists", missingJobHint(*type));
            return std::nullopt;
        }
        return type;
    }

    std::string missingJobHint(TaskType type) const {
        if (type == TaskType::Chief)
            return "Either add \"chief\" with the one address of this process to the cluster, or "
                   "make the task \"worker\" with index 0: without a chief, worker 0 is it.";
        std::string jobs;
        for (const auto& [name, job] : m_root.at("cluster").members())
            jobs += (jobs.empty() ? "" : ", ") + name;
        return "The cluster has: " + jobs + ".";
    }

    void checkIndex(const json::Reader& reader, std::optional<TaskType> type) {
        int count = 0;
        for (const TfConfig::Entry& entry : m_config.entries())
            count += type == entry.task.type ? 1 : 0;
        const std::string range =
            count > 0 ? "0…" + std::to_string(count - 1) : "the places of its job";
        const std::string expected = count > 0 ? "a whole number in " + range : "a whole number";
        if (reader.isAbsent()) {
            reader.error("The index of this process' task is missing.", expected);
            return;
        }
        const json::Value& value = *reader.value();
        std::optional<std::int64_t> index;
        if (value.isInteger())
            index = value.toInteger();
        else if (value.isString())
            index = wholeNumber(value.toString());
        if (!index || (type && count > 0 && (*index < 0 || *index >= count)) || *index < 0) {
            const std::string got =
                value.isObject() || value.isArray() ? json::nameOf(value) : json::dump(value);
            reader.error("Index " + got + " is outside " + range + ".", expected,
                         "The index is the place of this process' address in its job, from 0.");
            return;
        }
        if (value.isString())
            reader.warning("The index " + json::dump(value) + " is a text; it is read as " +
                               std::to_string(*index) + ".",
                           expected, "Write it without quotes.");
    }

    static std::optional<std::int64_t> wholeNumber(const std::string& text) {
        std::int64_t number = 0;
        const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (text.empty() || status != std::errc() || end != text.data() + text.size())
            return std::nullopt;
        return number;
    }

    const TfConfig& m_config;
    const ValidateOptions& m_options;
    Problems m_problems;
    json::Reader m_root;
};

} // namespace

Problems validate(const TfConfig& config, const ValidateOptions& options) {
    return Check(config, options).run();
}

} // namespace lockstep::cluster
