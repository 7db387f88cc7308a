// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Environment variables of programs that we start.

#include <string_view>

namespace lockstep {

/// Letters, digits and underscores, no digit first: what every shell takes for a variable's name.
/// The system allows more, and programs that start a shell stumble over it.
constexpr bool isVariableName(std::string_view name) {
    const auto isLetter = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    };
    if (name.empty() || !isLetter(name.front()))
        return false;
    for (const char c : name)
        if (!isLetter(c) && !(c >= '0' && c <= '9'))
            return false;
    return true;
}

} // namespace lockstep
