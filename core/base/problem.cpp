// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/problem.h"

#include <algorithm>

namespace lockstep {

bool hasErrors(const Problems& problems) {
    return std::any_of(problems.begin(), problems.end(),
                       [](const Problem& p) { return p.severity == Severity::Error; });
}

std::string describe(const Problem& problem) {
    std::string text;
    if (!problem.file.empty()) {
        text += problem.file;
        if (problem.line > 0)
            text += ":" + std::to_string(problem.line);
        if (problem.column > 0)
            text += ":" + std::to_string(problem.column);
        text += ": ";
    }
    if (problem.severity == Severity::Warning)
        text += "warning: ";
    if (!problem.path.empty())
        text += problem.path + ": ";
    text += problem.message;
    if (!problem.expected.empty())
        text += " Expected " + problem.expected + ".";
    if (!problem.hint.empty())
        text += " " + problem.hint;
    return text;
}

} // namespace lockstep
