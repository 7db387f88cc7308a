// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The words of a command line, sorted into options and the rest, and what every command prints.

#include "core/base/problem.h"
#include "core/base/result.h"

#include <map>
#include <string>
#include <vector>

namespace lockstep::ctl {

/// What a command takes.
struct Syntax {
    std::vector<std::string> flags;  ///< "--json"
    std::vector<std::string> valued; ///< "--cluster": takes the next word, or follows '='
    std::size_t positionals = 0;     ///< exactly so many other words
    std::string positionalName;      ///< "JOB", for messages
};

class Options {
public:
    /// InvalidArgument says which word does not fit and what would.
    static Result<Options> parse(const std::vector<std::string>& words, const Syntax& syntax);

    bool has(const std::string& option) const { return m_values.count(option) > 0; }
    /// The last value given, or "".
    std::string value(const std::string& option) const;
    std::vector<std::string> values(const std::string& option) const;
    const std::string& word(std::size_t place = 0) const { return m_words[place]; }

private:
    std::map<std::string, std::vector<std::string>> m_values;
    std::vector<std::string> m_words;
};

/// A whole number of [min, max]; InvalidArgument names the option.
Result<int> toNumber(const std::string& option, const std::string& text, int min, int max);

/// "lockstepctl: <error>" on standard error; returns exit code 2.
int usageError(const Error& error);

/// Each problem as a paragraph on standard error.
void printProblems(const Problems& problems);

} // namespace lockstep::ctl
