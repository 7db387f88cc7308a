// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// What this machine is, as far as training on it depends on it. Never a reverse look-up.

#include "core/agent/probe_protocol.h"

#include <string>
#include <vector>

namespace lockstep::agent {

/// Takes at most about 20 s (a driver that hangs); usually a few hundredths.
HostProbe probe(const ProbeRequest& request);

/// Where nvidia-smi is looked for: /usr/bin and so on, as sshd's PATH is short.
const std::vector<std::string>& gpuToolFolders();
/// Fills gpuState, gpuWords, gpus, driver and cuda.
void probeGpus(HostProbe& probe, const std::vector<std::string>& folders);

/// Interfaces with their addresses, in the kernel's order.
std::vector<NetworkInterface> interfacesOfHost();
/// Numeric addresses of a name or number; empty where it is unknown here.
std::vector<std::string> resolve(const std::string& host);

/// Who listens on a port of this machine; unknown (isKnown() false) where nobody does.
PortOwner portOwner(int port);

} // namespace lockstep::agent
