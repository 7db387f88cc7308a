// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// A zip archive in memory.

#include <string>
#include <utility>
#include <vector>

namespace lockstep::keras_file::detail {

/// Members as (name, bytes), stored as they are. Throws Failure{Internal} with what libzip said.
std::string zipOf(const std::vector<std::pair<std::string, std::string>>& members);

} // namespace lockstep::keras_file::detail
