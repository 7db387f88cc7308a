// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// What the worker and the helper answer, as values: shared by LocalHost and SshHost.

#include "core/remote/host.h"

namespace lockstep::remote::detail {

/// The reply to `place`; workerProgram and workerArgs are the caller's to fill in.
Result<HostFacts> readPlace(const QByteArray& text, const std::string& where);

/// The version in the answer to --version.
Result<QString> readVersion(const Output& output, const std::string& where);

} // namespace lockstep::remote::detail
