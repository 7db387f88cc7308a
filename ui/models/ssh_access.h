// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The few things that pages want of SSH, as functions, so that they can be shown with made-up
// hosts. GUI thread; answers come later, from the event loop.

#include "core/cluster/cluster_spec.h"
#include "core/ssh/connection.h"
#include "core/ssh/resolve.h"

#include <functional>
#include <memory>

namespace lockstep::ssh {
class SshClient;
}

namespace lockstep::ui {

struct SshAccess {
    std::function<std::unique_ptr<ssh::Connection>(const ssh::Destination&)> connectionTo;
    std::function<void(const ssh::Destination&, QObject* context,
                       std::function<void(Result<ssh::Resolved>)> done)>
        resolve;
    /// Names of ~/.ssh/config without wildcards, none where it cannot be read; may be empty.
    std::function<QStringList()> aliases;

    bool isThere() const { return connectionTo && resolve; }
};

/// Over the connections of `client`, which must outlive the result.
SshAccess accessThrough(ssh::SshClient* client, const ssh::ResolveOptions& options = {});

} // namespace lockstep::ui
