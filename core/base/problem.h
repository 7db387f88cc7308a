// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// A finding about the user's input. Validation returns all of them at once, in the order of the
// document; the launch is refused while one is an error.

#include <string>
#include <vector>

namespace lockstep {

enum class Severity { Error, Warning };

struct Problem {
    Severity severity = Severity::Error;
    std::string file;     ///< the document, or empty for a value that has none yet
    std::string path;     ///< parts by dots, places in arrays by number: "workers.1.address"
    int line = 0;         ///< 1-based line of the value in `file`; 0 where unknown
    std::string message;  ///< what is wrong, a full sentence with the value that was got
    std::string expected; ///< what would be right, a phrase
    std::string hint;     ///< what to do, a full sentence
    int column = 0;       ///< 1-based column in a table such as a CSV file; 0 elsewhere

    bool operator==(const Problem&) const = default;
};

using Problems = std::vector<Problem>;

bool hasErrors(const Problems& problems);

/// One paragraph for a terminal: "file:line:column: path: message Expected …. Hint".
std::string describe(const Problem& problem);

} // namespace lockstep
