// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The saved cluster: hosts and tasks as the user keeps them in a *.cluster.json. A value around its
// JSON document, so that unknown keys, the order of keys and lines survive every edit.

#include "core/base/json.h"
#include "core/base/problem.h"
#include "core/cluster/task.h"
#include "core/cluster/tf_config.h"
#include "core/cluster/validation.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::cluster {

/// One entry of "workers". Its index is never written: it follows from the order in the file.
struct Worker {
    std::string name;    ///< what people call it; empty: named after its task
    json::Value ssh;     ///< null: this machine; a destination as OpenSSH takes it; or its parts
    std::string address; ///< where the worker listens, as written: "10.0.0.1:2222"
    TaskType type = TaskType::Worker;
    std::vector<std::pair<std::string, std::string>> env;
    json::Value devices; ///< null: all; "cpu"; or the numbers of the GPUs
    std::string base;    ///< folder on the host; empty: the first that fits

    TaskId task; ///< derived from type and order; ignored by edits

    bool isOnThisMachine() const { return ssh.isNull(); }
    std::string displayName() const; ///< name, else the task's text
    /// For people: "this machine", or the destination ("alice@n0").
    std::string sshText() const;
};

class ClusterSpec {
public:
    ClusterSpec();
    /// Any document; what is malformed reads as empty, and validate() says so.
    explicit ClusterSpec(json::Value document);

    const json::Value& document() const { return m_document; }
    std::string name() const;
    void setName(const std::string& name);

    /// In the order of the file; a place per element, also for a malformed one.
    std::vector<Worker> workers() const;
    std::size_t size() const;
    std::optional<Worker> find(TaskId task) const;

    // Edits by place (asserted). Unknown keys of a worker stay with it.
    void add(const Worker& worker);
    void set(std::size_t place, const Worker& worker);
    void remove(std::size_t place);
    void move(std::size_t from, std::size_t to); ///< afterwards it stands at `to`

    bool operator==(const ClusterSpec& other) const { return m_document == other.m_document; }

private:
    json::Array& workerArray();

    json::Value m_document;
};

/// Everything that is wrong, in the order of the document; paths like "workers.1.address".
Problems validate(const ClusterSpec& spec, const ValidateOptions& options = {});

/// The TF_CONFIG of one task; the `cluster` object is the same bytes for all. NotFound names the
/// tasks that there are.
Result<TfConfig> tfConfigFor(const ClusterSpec& spec, TaskId task);
/// The same without a task: cluster hash, ranks.
TfConfig tfConfigOf(const ClusterSpec& spec);

/// Training tasks in rank order; addresses as typed.
std::vector<Rank> rankTable(const ClusterSpec& spec);

/// `count` workers on this machine at 127.0.0.1, ports from `firstPort` up.
ClusterSpec localCluster(int count, int firstPort);

/// A cluster to edit from a TF_CONFIG of the user's: SSH goes to the hosts of the addresses.
ClusterSpec fromTfConfig(const TfConfig& config);

} // namespace lockstep::cluster
