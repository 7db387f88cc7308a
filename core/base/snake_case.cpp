// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/snake_case.h"

#include <cctype>

namespace lockstep {

std::string snakeCase(const std::string& className) {
    std::string split;
    for (std::size_t i = 0; i < className.size(); ++i) {
        const auto upper = [&](std::size_t at) {
            return at < className.size() && std::isupper(static_cast<unsigned char>(className[at]));
        };
        const auto lower = [&](std::size_t at) {
            return at < className.size() && std::islower(static_cast<unsigned char>(className[at]));
        };
        if (i > 0 && upper(i) && (lower(i + 1) || lower(i - 1)))
            split += '_';
        split += static_cast<char>(std::tolower(static_cast<unsigned char>(className[i])));
    }
    return split;
}

} // namespace lockstep
