// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Which Host a worker of the cluster stands on: the one place that knows the transports.

#include "core/cluster/cluster_spec.h"
#include "core/remote/host.h"
#include "core/ssh/ssh_client.h"

#include <QString>

#include <functional>
#include <memory>

namespace lockstep::run {

/// The host of a worker, or why there is no way to it. Workers with the same hostKey() share the
/// one that the first of them gives.
using HostFactory =
    std::function<Result<std::shared_ptr<remote::Host>>(const cluster::Worker& worker)>;

/// Equal for workers that stand on one machine below one base folder.
std::string hostKey(const cluster::Worker& worker);

/// LocalHost for workers on this machine, with `workerProgram` as there; SshHost for others, over
/// connections of `client`, which must outlive them. Without a client only this machine is reached.
HostFactory defaultHosts(const QString& workerProgram = {}, ssh::SshClient* client = nullptr);

/// A worker's `ssh` (not null) as a destination.
Result<ssh::Destination> destinationOf(const json::Value& ssh);

} // namespace lockstep::run
