// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/cluster/cluster_spec.h"

#include <algorithm>
#include <cassert>
#include <map>

namespace lockstep::cluster {

namespace {

std::string textOf(const json::Value& object, std::string_view key) {
    const json::Value* value = object.find(key);
    return value && value->isString() ? value->toString() : std::string();
}

Worker readWorker(const json::Value& value) {
    Worker worker;
    worker.name = textOf(value, "name");
    worker.address = textOf(value, "address");
    worker.base = textOf(value, "base");
    worker.type = typeFromName(textOf(value, "task")).value_or(TaskType::Worker);
    if (const json::Value* ssh = value.find("ssh"))
        worker.ssh = *ssh;
    if (const json::Value* devices = value.find("devices"))
        worker.devices = *devices;
    if (const json::Value* env = value.find("env"); env && env->isObject())
        for (const json::Member& variable : env->members())
            if (variable.value.isString())
                worker.env.emplace_back(variable.key, variable.value.toString());
    return worker;
}

/// Writes a member that may be left out: removed where it says nothing, else set in its place.
void setOrRemove(json::Value& object, std::string_view key, json::Value value, bool saysNothing) {
    if (saysNothing)
        object.remove(key);
    else
        object.set(key, std::move(value));
}

void writeWorker(json::Value& object, const Worker& worker) {
    // What reads the same stays as it was written, also where it is malformed.
    const Worker before = readWorker(object);
    if (!object.isObject())
        object = json::Value::object();
    if (worker.name != before.name)
        setOrRemove(object, "name", worker.name, worker.name.empty());
    if (worker.ssh != before.ssh || !object.contains("ssh"))
        object.set("ssh", worker.ssh);
    if (worker.address != before.address || !object.contains("address"))
        object.set("address", worker.address);
    if (worker.type != before.type)
        setOrRemove(object, "task", typeName(worker.type), worker.type == TaskType::Worker);
    if (worker.env != before.env) {
        json::Value env = json::Value::object();
        for (const auto& [key, value] : worker.env)
            env.set(key, value);
        setOrRemove(object, "env", env, worker.env.empty());
    }
    if (worker.devices != before.devices)
        setOrRemove(object, "devices", worker.devices, worker.devices.isNull());
    if (worker.base != before.base)
        setOrRemove(object, "base", worker.base, worker.base.empty());
}

/// What SSH is given for a host of TF_CONFIG; nothing for this machine.
json::Value sshFor(const TfConfig::Entry& entry) {
    if (entry.address.port == 0 || entry.address.isLoopback())
        return {};
    return entry.address.host + (entry.address.zone.empty() ? "" : "%" + entry.address.zone);
}

} // namespace

std::string Worker::displayName() const {
    return name.empty() ? task.text() : name;
}

std::string Worker::sshText() const {
    if (ssh.isNull())
        return "this machine";
    if (ssh.isString())
        return ssh.toString();
    const std::string user = textOf(ssh, "user");
    std::string text = (user.empty() ? "" : user + "@") + textOf(ssh, "host");
    if (const json::Value* port = ssh.find("port"); port && port->isInteger())
        text += ":" + std::to_string(port->toInteger());
    return text;
}

ClusterSpec::ClusterSpec()
    : m_document(json::Value::object({{"format", "lockstep-cluster"},
                                      {"version", 1},
                                      {"name", ""},
                                      {"workers", json::Value::array()}})) {}

ClusterSpec::ClusterSpec(json::Value document)
    : m_document(std::move(document)) {}

std::string ClusterSpec::name() const {
    return textOf(m_document, "name");
}

void ClusterSpec::setName(const std::string& name) {
    if (!m_document.isObject())
        m_document = ClusterSpec().document();
    m_document.set("name", name);
}

std::vector<Worker> ClusterSpec::workers() const {
    std::vector<Worker> workers;
    const json::Value* array = m_document.find("workers");
    if (!array || !array->isArray())
        return workers;
    std::map<TaskType, int> next;
    for (const json::Value& value : array->items()) {
        Worker worker = readWorker(value);
        worker.task = {worker.type, next[worker.type]++};
        workers.push_back(std::move(worker));
    }
    return workers;
}

std::size_t ClusterSpec::size() const {
    const json::Value* array = m_document.find("workers");
    return array && array->isArray() ? array->size() : 0;
}

std::optional<Worker> ClusterSpec::find(TaskId task) const {
    for (Worker& worker : workers())
        if (worker.task == task)
            return std::move(worker);
    return std::nullopt;
}

json::Array& ClusterSpec::workerArray() {
    if (!m_document.isObject())
        m_document = ClusterSpec().document();
    json::Value* array = m_document.find("workers");
    if (!array || !array->isArray())
        m_document.set("workers", json::Value::array());
    return m_document.find("workers")->items();
}

void ClusterSpec::add(const Worker& worker) {
    json::Value object = json::Value::object();
    writeWorker(object, worker);
    workerArray().push_back(std::move(object));
}

void ClusterSpec::set(std::size_t place, const Worker& worker) {
    assert(place < size());
    writeWorker(workerArray()[place], worker);
}

void ClusterSpec::remove(std::size_t place) {
    assert(place < size());
    json::Array& array = workerArray();
    array.erase(array.begin() + static_cast<std::ptrdiff_t>(place));
}

void ClusterSpec::move(std::size_t from, std::size_t to) {
    assert(from < size() && to < size());
    const auto begin = workerArray().begin();
    const auto source = begin + static_cast<std::ptrdiff_t>(from);
    const auto target = begin + static_cast<std::ptrdiff_t>(to);
    if (from < to)
        std::rotate(source, source + 1, target + 1);
    else
        std::rotate(target, source, source + 1);
}

TfConfig tfConfigOf(const ClusterSpec& spec) {
    std::vector<std::pair<TaskType, std::string>> tasks;
    for (const Worker& worker : spec.workers())
        tasks.emplace_back(worker.type, worker.address);
    return TfConfig::make(tasks, std::nullopt);
}

Result<TfConfig> tfConfigFor(const ClusterSpec& spec, TaskId task) {
    const TfConfig config = tfConfigOf(spec);
    if (config.find(task))
        return config.forTask(task);
    std::string tasks;
    for (const TfConfig::Entry& entry : config.entries())
        tasks += (tasks.empty() ? "" : ", ") + entry.task.text();
    return Error{Code::NotFound,
                 "The cluster has no task " + task.text() +
                     ". It has: " + (tasks.empty() ? "no tasks" : tasks) + ".",
                 {}};
}

std::vector<Rank> rankTable(const ClusterSpec& spec) {
    return tfConfigOf(spec).ranks();
}

ClusterSpec localCluster(int count, int firstPort) {
    ClusterSpec spec;
    spec.setName("local-" + std::to_string(count));
    for (int i = 0; i < count; ++i) {
        Worker worker;
        worker.address = "127.0.0.1:" + std::to_string(firstPort + i);
        spec.add(worker);
    }
    return spec;
}

ClusterSpec fromTfConfig(const TfConfig& config) {
    ClusterSpec spec;
    for (const TfConfig::Entry& entry : config.entries()) {
        Worker worker;
        worker.ssh = sshFor(entry);
        worker.address = entry.text;
        worker.type = entry.task.type;
        spec.add(worker);
    }
    return spec;
}

} // namespace lockstep::cluster
