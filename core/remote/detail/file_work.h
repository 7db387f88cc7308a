// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// What LocalHost's file thread does. Everything here may block.

#include "core/base/files.h"
#include "core/remote/host.h"

#include <atomic>
#include <string>

namespace lockstep::remote::detail {

/// Copies a file of any size; the target appears under its name when it is complete. Looks at
/// `isCancelled` after every MiB; `progress` is called from this thread then. Cancelled leaves
/// nothing.
Status copyFile(const std::string& from, const std::string& to, unsigned mode,
                files::Durability durability, const std::atomic<bool>& isCancelled,
                const Host::Progress& progress);

Result<FileFacts> fileFacts(const std::string& path);

} // namespace lockstep::remote::detail
