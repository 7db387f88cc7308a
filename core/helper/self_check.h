// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// What the bootstrap asks of a helper before it serves: that it is whole, and that the folder is
// one to keep files in. A shell can see neither a hash nor a mode.

#include "core/base/result.h"

#include <string>

namespace lockstep::helper {

enum class FolderKind {
    Own,    ///< below the user's own folders, or chosen by the user
    Public, ///< in a folder where everyone may write: must be this user's with mode 0700
};

/// `program` has the hash; `folder` is of this user as its kind asks for.
Status checkSelf(const std::string& program, const std::string& hash, const std::string& folder,
                 FolderKind kind);

/// Removes what interrupted bootstraps left beside `program`, after a day.
void sweepParts(const std::string& program);

} // namespace lockstep::helper
