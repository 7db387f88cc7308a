// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The hosts of a command: this machine, and others over SSH with questions at the terminal.
// $LOCKSTEP_SSH_CONFIG names a configuration to read instead of ~/.ssh/config.

#include "app/ctl/prompts.h"
#include "core/run/host_factory.h"
#include "core/ssh/ssh_client.h"

namespace lockstep::ctl {

class Hosts {
public:
    Hosts();

    Prompts& prompts() { return m_prompts; }
    run::HostFactory factory() { return run::defaultHosts({}, &m_client); }

private:
    Prompts m_prompts;
    ssh::SshClient m_client;
};

} // namespace lockstep::ctl
