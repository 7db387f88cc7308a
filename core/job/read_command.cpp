// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/job/detail/read_command.h"

#include "core/base/environment.h"

#include <algorithm>
#include <array>

namespace lockstep::job::detail {

namespace {

using json::Reader;

constexpr const char* kProgram = "the program and its arguments, an array of texts";

std::vector<std::string> readArgv(const Reader& argv) {
    std::vector<std::string> words;
    for (const Reader& word : argv.items()) {
        if (word.isAbsent())
            word.error("Null does not belong here.", "a text");
        else if (const auto text =
                     words.empty() ? filledText(word, "a program's path") : word.string())
            words.push_back(*text);
    }
    const bool isEmpty = argv.isAbsent() || (argv.value()->isArray() && argv.value()->size() == 0);
    if (argv.exists() && isEmpty)
        argv.error("There is nothing to start.", kProgram);
    for (std::size_t i = 0; i < words.size(); ++i)
        if (words[i].find('\0') != std::string::npos)
            argv.error("Word " + std::to_string(i + 1) + " holds a zero byte.",
                       "texts without one");
    return words;
}

/// TF_CONFIG and the run's id are ours.
bool isOurs(const std::string& name) {
    return name == "TF_CONFIG" || name == "LOCKSTEP_RUN_ID";
}

Variables readEnvironment(const Reader& env) {
    Variables variables;
    for (const auto& [name, value] : env.members()) {
        if (isOurs(name))
            value.error(name + " is set by Lockstep for each task.", "another variable");
        else if (!isVariableName(name))
            value.error("\"" + name + "\" is no name that every shell takes for a variable.",
                        "letters, digits and underscores, no digit first");
        else if (value.isAbsent())
            value.error("Null does not belong here.", "a text");
        else if (const auto text = value.string(); text && text->find('\0') != std::string::npos)
            value.error("The value holds a zero byte.", "a text without one");
        else if (text)
            variables.emplace_back(name, *text);
    }
    return variables;
}

std::vector<std::string> readTexts(const Reader& at, const std::string& expected) {
    std::vector<std::string> texts;
    for (const Reader& item : at.items()) {
        if (item.isAbsent())
            item.error("Null does not belong here.", expected);
        else if (auto text = filledText(item, expected))
            texts.push_back(std::move(*text));
    }
    return texts;
}

std::vector<std::string> readPassed(const Reader& at) {
    const std::string expected = "a variable's name, or the beginning of names with a \"*\" behind";
    std::vector<std::string> patterns = readTexts(at, expected);
    for (std::size_t i = 0; i < patterns.size(); ++i) {
        const std::string_view pattern = patterns[i];
        const std::size_t star = pattern.find('*');
        if (star != pattern.npos && star + 1 != pattern.size())
            at.error("\"" + patterns[i] + "\" has a \"*\" that is not at its end.", expected);
    }
    return patterns;
}

std::optional<PushFolder> readPush(const Reader& at) {
    if (at.isAbsent())
        return std::nullopt;
    const std::string expected =
        "a folder, or {\"folder\": …, \"ignore\": […]}; relative ones start at the job file";
    PushFolder push;
    if (at.value()->isString()) {
        push.folder = filledText(at, expected).value_or("");
    } else if (at.value()->isObject()) {
        at.warnUnknown({"folder", "ignore"});
        push.folder = filledText(at.require("folder", "a folder"), "a folder").value_or("");
        push.ignore = readTexts(at.at("ignore"), "a pattern like \"*.log\" or \"data/\"");
    } else {
        at.wrongKind(expected);
    }
    if (push.folder.empty())
        return std::nullopt;
    return push;
}

/// "chief:0", "worker:3", "evaluator:0", "ps:1".
bool isTaskName(std::string_view name) {
    const std::size_t colon = name.find(':');
    if (colon == name.npos)
        return false;
    const std::string_view type = name.substr(0, colon);
    const std::string_view index = name.substr(colon + 1);
    const bool isCanonical = !index.empty() && (index == "0" || index.front() != '0');
    constexpr std::array<std::string_view, 4> kTypes{"chief", "worker", "ps", "evaluator"};
    return std::find(kTypes.begin(), kTypes.end(), type) != kTypes.end() && isCanonical &&
           index.size() <= 6 &&
           std::all_of(index.begin(), index.end(), [](char c) { return c >= '0' && c <= '9'; });
}

void readTasks(const Reader& at, Command& command) {
    for (const auto& [name, task] : at.members()) {
        if (!isTaskName(name)) {
            task.error("\"" + name + "\" is no task.", "a task's name like \"worker:1\"");
            continue;
        }
        if (task.isAbsent()) {
            task.error("Null does not belong here.", "an object");
            continue;
        }
        if (!task.isObject())
            continue;
        task.warnUnknown({"argv", "env", "working_directory"});
        TaskCommand own;
        if (task.at("argv").exists())
            own.argv = readArgv(task.at("argv"));
        own.env = readEnvironment(task.at("env"));
        own.workingDirectory = filledText(task.at("working_directory"), "a folder on the host");
        command.tasks.emplace_back(name, std::move(own));
    }
}

} // namespace

std::optional<std::string> filledText(const Reader& at, const std::string& expected) {
    const auto text = at.string();
    if (text && text->empty()) {
        at.error("The text is empty.", expected);
        return std::nullopt;
    }
    if (text && text->find('\0') != std::string::npos) {
        at.error("The text holds a zero byte.", expected);
        return std::nullopt;
    }
    return text;
}

Command readCommand(const Reader& root) {
    root.warnUnknown({"format", "version", "name", "kind", "argv", "env", "pass_env",
                      "working_directory", "push", "tasks"});
    Command command;
    command.argv = readArgv(root.require("argv", kProgram));
    command.env = readEnvironment(root.at("env"));
    command.passEnv = readPassed(root.at("pass_env"));
    command.workingDirectory =
        filledText(root.at("working_directory"), "a folder on the hosts").value_or("");
    command.push = readPush(root.at("push"));
    readTasks(root.at("tasks"), command);
    return command;
}

} // namespace lockstep::job::detail
