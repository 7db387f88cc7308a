// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/models/ssh_access.h"

#include "core/ssh/config_parser.h"
#include "core/ssh/ssh_client.h"

namespace lockstep::ui {

SshAccess accessThrough(ssh::SshClient* client, const ssh::ResolveOptions& options) {
    SshAccess access;
    access.connectionTo = [client](const ssh::Destination& destination) {
        return client->connectionTo(destination);
    };
    access.resolve = [options](const ssh::Destination& destination, QObject* context,
                               std::function<void(Result<ssh::Resolved>)> done) {
        ssh::resolve(destination, options, context, std::move(done));
    };
    // The file is small and a person's own; where it cannot be read, the dialog shows no hosts.
    access.aliases = [file = options.configFile] {
        const auto names = ssh::hostAliases(file);
        return names ? *names : QStringList();
    };
    return access;
}

} // namespace lockstep::ui
