// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/job/command.h"

#include "core/base/environment.h"

#include <algorithm>

namespace lockstep::job {

namespace {

const TaskCommand* ownOf(const Command& command, const std::string& task) {
    for (const auto& [name, own] : command.tasks)
        if (name == task)
            return &own;
    return nullptr;
}

void set(Variables& variables, const std::string& name, const std::string& value) {
    const auto known = std::find_if(variables.begin(), variables.end(),
                                    [&](const auto& variable) { return variable.first == name; });
    if (known == variables.end())
        variables.emplace_back(name, value);
    else
        known->second = value;
}

/// With "*" and "?", neither of which stands for a slash.
bool matches(std::string_view text, std::string_view pattern) {
    std::size_t at = 0;
    std::size_t p = 0;
    std::size_t star = pattern.npos; // last "*", and how much of the text it stands for
    std::size_t begin = 0;
    while (at < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            begin = at;
        } else if (p < pattern.size() &&
                   (pattern[p] == text[at] || (pattern[p] == '?' && text[at] != '/'))) {
            ++p;
            ++at;
        } else if (star != pattern.npos && text[begin] != '/') {
            p = star + 1;
            at = ++begin;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*')
        ++p;
    return p == pattern.size();
}

bool isWanted(const std::string& name, const std::vector<std::string>& patterns) {
    return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
        return pattern.ends_with('*')
                   ? name.starts_with(std::string_view(pattern).substr(0, pattern.size() - 1))
                   : name == pattern;
    });
}

} // namespace

const std::vector<std::string>& argvOf(const Command& command, const std::string& task) {
    const TaskCommand* own = ownOf(command, task);
    return own && !own->argv.empty() ? own->argv : command.argv;
}

std::string workingDirectoryOf(const Command& command, const std::string& task,
                               const std::string& home) {
    const TaskCommand* own = ownOf(command, task);
    const std::string& folder =
        own && own->workingDirectory ? *own->workingDirectory : command.workingDirectory;
    return folder.empty() ? home : resolvePath(home, folder);
}

PassedVariables passedVariables(const Command& command, const Variables& own) {
    PassedVariables passed;
    for (const auto& [name, value] : own) {
        if (!isWanted(name, command.passEnv) || name == "TF_CONFIG")
            continue;
        if (isVariableName(name))
            passed.variables.emplace_back(name, value);
        else
            passed.dropped.push_back(name);
    }
    return passed;
}

Variables variablesOf(const Command& command, const std::string& task, const Variables& passed,
                      const Variables& worker) {
    Variables all{{kUnbuffered, "1"}};
    const TaskCommand* own = ownOf(command, task);
    for (const Variables& part : {passed, command.env, worker, own ? own->env : Variables()})
        for (const auto& [name, value] : part)
            set(all, name, value);
    return all;
}

const std::vector<std::string>& ignoredAlways() {
    static const std::vector<std::string> patterns{".git/",
                                                   ".hg/",
                                                   ".svn/",
                                                   "__pycache__/",
                                                   "*.pyc",
                                                   ".venv/",
                                                   ".mypy_cache/",
                                                   ".pytest_cache/",
                                                   ".ruff_cache/",
                                                   ".ipynb_checkpoints/",
                                                   ".DS_Store",
                                                   "*.swp",
                                                   "*~"};
    return patterns;
}

bool isIgnored(std::string_view path, bool isFolder, const std::vector<std::string>& patterns) {
    const std::string_view name = path.substr(path.rfind('/') + 1);
    return std::any_of(patterns.begin(), patterns.end(), [&](std::string_view pattern) {
        if (pattern.ends_with('/')) {
            if (!isFolder)
                return false;
            pattern.remove_suffix(1);
        }
        if (pattern.find('/') == pattern.npos)
            return matches(name, pattern);
        if (pattern.starts_with('/'))
            pattern.remove_prefix(1);
        return matches(path, pattern);
    });
}

} // namespace lockstep::job
