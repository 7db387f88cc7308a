// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// From keywords and their values, of `ssh -G` or of our own parser, to a Resolved. Any thread.

#include "core/ssh/config_parser.h"
#include "core/ssh/detail/account.h"
#include "core/ssh/resolve.h"

namespace lockstep::ssh::detail {

/// The lines of `ssh -G`.
ConfigValues parseClientOutput(const QByteArray& output);

/// `jumps` are those of the configuration, without the jump hosts of jump hosts.
Result<Resolved> resolvedFrom(const ConfigValues& values, const Destination& destination,
                              const Account& account);

} // namespace lockstep::ssh::detail
