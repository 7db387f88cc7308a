// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "app/ctl/options.h"

#include "core/base/json_reader.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace lockstep::ctl {

namespace {

bool contains(const std::vector<std::string>& list, const std::string& word) {
    return std::find(list.begin(), list.end(), word) != list.end();
}

Error unknownOption(const std::string& name, const Syntax& syntax) {
    std::vector<std::string> known = syntax.flags;
    known.insert(known.end(), syntax.valued.begin(), syntax.valued.end());
    std::string message = "The option " + name + " is unknown.";
    if (const std::string near = json::nearest(name, known); !near.empty())
        message += " Did you mean " + near + "?";
    else if (!known.empty())
        message += " Expected " + json::listOr(known) + ".";
    return {Code::InvalidArgument, message, {}};
}

} // namespace

Result<Options> Options::parse(const std::vector<std::string>& words, const Syntax& syntax) {
    Options options;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string& word = words[i];
        if (word.size() < 2 || word[0] != '-') {
            options.m_words.push_back(word);
            continue;
        }
        const std::size_t equals = word.find('=');
        const std::string name = word.substr(0, equals);
        if (contains(syntax.flags, word)) {
            options.m_values[word];
        } else if (contains(syntax.valued, name) && equals != std::string::npos) {
            options.m_values[name].push_back(word.substr(equals + 1));
        } else if (contains(syntax.valued, name)) {
            if (i + 1 == words.size())
                return Error{Code::InvalidArgument, "The option " + name + " needs a value.", {}};
            options.m_values[name].push_back(words[++i]);
        } else {
            return unknownOption(name, syntax);
        }
    }
    if (options.m_words.size() < syntax.positionals)
        return Error{Code::InvalidArgument, syntax.positionalName + " is missing.", {}};
    if (options.m_words.size() > syntax.positionals)
        return Error{Code::InvalidArgument,
                     "The word \"" + options.m_words[syntax.positionals] + "\" is too much.",
                     {}};
    return options;
}

std::string Options::value(const std::string& option) const {
    const auto at = m_values.find(option);
    return at == m_values.end() || at->second.empty() ? std::string() : at->second.back();
}

std::vector<std::string> Options::values(const std::string& option) const {
    const auto at = m_values.find(option);
    return at == m_values.end() ? std::vector<std::string>() : at->second;
}

Result<int> toNumber(const std::string& option, const std::string& text, int min, int max) {
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size() && number >= min && number <= max)
        return number;
    return Error{Code::InvalidArgument,
                 option + " got \"" + text + "\"; expected a whole number from " +
                     std::to_string(min) + " to " + std::to_string(max) + ".",
                 {}};
}

int usageError(const Error& error) {
    std::fprintf(stderr, "lockstepctl: %s\n", describe(error).c_str());
    return 2;
}

void printProblems(const Problems& problems) {
    for (Problem problem : problems) {
        const bool isError = problem.severity == Severity::Error;
        problem.severity = Severity::Error; // describe() would say "warning" after the file
        std::fprintf(stderr, "%s: %s\n", isError ? "error" : "warning", describe(problem).c_str());
    }
}

} // namespace lockstep::ctl
