// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Which Host a worker of the cluster stands on: the one place that knows the transports.

#include "core/cluster/cluster_spec.h"
#include "core/remote/host.h"

#include <QString>

#include <functional>
#include <memory>

namespace lockstep::run {

/// The host of a worker, or nothing where there is no way to it. Workers with the same `ssh` share
/// the one that the first of them gives.
using HostFactory = std::function<std::unique_ptr<remote::Host>(const cluster::Worker& worker)>;

/// LocalHost for workers on this machine, nothing for others. `workerProgram` as for LocalHost.
HostFactory defaultHosts(const QString& workerProgram = {});

} // namespace lockstep::run
