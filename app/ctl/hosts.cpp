// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "app/ctl/hosts.h"

namespace lockstep::ctl {

namespace {

ssh::SshOptions sshOptions() {
    ssh::SshOptions options;
    options.resolve.configFile = qEnvironmentVariable("LOCKSTEP_SSH_CONFIG");
    return options;
}

} // namespace

Hosts::Hosts()
    : m_client(sshOptions(), &m_prompts) {}

} // namespace lockstep::ctl
