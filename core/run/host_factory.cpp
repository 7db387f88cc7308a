// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/run/host_factory.h"

#include "core/remote/local_host.h"
#include "core/remote/ssh_host.h"

namespace lockstep::run {

namespace {

QString textAt(const json::Value& value, const char* key) {
    const json::Value* member = value.find(key);
    return member && member->isString() ? QString::fromStdString(member->toString()) : QString();
}

} // namespace

Result<ssh::Destination> destinationOf(const json::Value& ssh) {
    if (ssh.isString())
        return ssh::parseDestination(QString::fromStdString(ssh.toString()));
    ssh::Destination destination;
    destination.host = textAt(ssh, "host");
    destination.user = textAt(ssh, "user");
    if (const json::Value* port = ssh.find("port"); port && port->isInteger())
        destination.port = static_cast<int>(port->toInteger());
    if (const QString key = textAt(ssh, "identity_file"); !key.isEmpty())
        destination.identities += key;
    destination.proxyJump = textAt(ssh, "proxy_jump");
    for (const QString& part : {destination.host, destination.user, destination.proxyJump})
        if (part.startsWith(u'-'))
            return Error{Code::InvalidArgument, "A part of \"ssh\" begins with \"-\".",
                         part.toStdString()};
    return destination;
}

std::string hostKey(const cluster::Worker& worker) {
    return json::dump(worker.ssh) + worker.base;
}

HostFactory defaultHosts(const QString& workerProgram, ssh::SshClient* client) {
    return [workerProgram,
            client](const cluster::Worker& worker) -> Result<std::shared_ptr<remote::Host>> {
        std::shared_ptr<remote::Host> host;
        if (worker.isOnThisMachine()) {
            host = std::make_shared<remote::LocalHost>(workerProgram);
            return host;
        }
        if (!client)
            return Error{Code::Unsupported, "Hosts are not reached from here.", worker.sshText()};
        const auto destination = destinationOf(worker.ssh);
        if (!destination)
            return destination.error();
        auto bundle = remote::readBundle(remote::defaultBundleFolder());
        if (!bundle)
            return bundle.error();
        host = std::make_shared<remote::SshHost>(client->connectionTo(*destination),
                                                 std::move(*bundle),
                                                 QString::fromStdString(worker.base));
        return host;
    };
}

} // namespace lockstep::run
