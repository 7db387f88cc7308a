// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/run/host_factory.h"

#include "core/remote/local_host.h"

namespace lockstep::run {

HostFactory defaultHosts(const QString& workerProgram) {
    return [workerProgram](const cluster::Worker& worker) -> std::unique_ptr<remote::Host> {
        if (!worker.isOnThisMachine())
            return nullptr;
        return std::make_unique<remote::LocalHost>(workerProgram);
    };
}

} // namespace lockstep::run
