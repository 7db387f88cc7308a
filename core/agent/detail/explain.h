// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Why a program of the user's could not be executed, for people.

#include "core/base/result.h"

#include <string>

namespace lockstep::agent::detail {

/// After exec failed with `error`. `cwd`: where a relative program starts; `path`: the child's
/// PATH.
Error whyNotExecuted(const std::string& program, const std::string& cwd, const std::string& path,
                     int error);

} // namespace lockstep::agent::detail
