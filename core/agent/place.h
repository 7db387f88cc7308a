// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Where on this machine Lockstep keeps its files. Programs are executed from there, and a home may
// be shared by machines, so each has a folder of its own below the base.

#include "core/agent/protocol.h"

#include <functional>
#include <optional>
#include <string>

namespace lockstep::agent {

/// A variable of the environment, or nothing.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
/// This process'; HOME, where it is not set, is the account's.
Environment processEnvironment();

/// The first that can be written to and executed from, of: $XDG_DATA_HOME/lockstep,
/// ~/.local/share/lockstep, $TMPDIR/lockstep-<uid>, /tmp/lockstep-<uid>, /dev/shm/lockstep-<uid>;
/// the last three must be ours with mode 0700. It is made where missing, and so is the machine's
/// folder below it. PermissionDenied with every reason where none will do.
Result<PlaceReply> place(const PlaceRequest& request, const Environment& environment);

/// "<hostname>-<first 8 of machine-id>".
std::string machineFolder();

} // namespace lockstep::agent
