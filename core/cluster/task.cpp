// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/cluster/task.h"

#include "core/base/json_reader.h"

#include <charconv>

namespace lockstep::cluster {

const std::vector<std::string>& typeNames() {
    static const std::vector<std::string> names = {"chief", "worker", "ps", "evaluator"};
    return names;
}

const char* typeName(TaskType type) {
    return typeNames()[static_cast<std::size_t>(type)].c_str();
}

std::optional<TaskType> typeFromName(std::string_view name) {
    for (std::size_t i = 0; i < typeNames().size(); ++i)
        if (typeNames()[i] == name)
            return static_cast<TaskType>(i);
    return std::nullopt;
}

std::string TaskId::text() const {
    return std::string(typeName(type)) + ":" + std::to_string(index);
}

std::string TaskId::pathName() const {
    return std::string(typeName(type)) + "-" + std::to_string(index);
}

namespace {

Result<TaskId> parseWith(std::string_view text, char separator) {
    const std::size_t at = text.find(separator);
    const std::string_view digits =
        at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
    const auto type = typeFromName(text.substr(0, at));
    TaskId id;
    const auto [end, status] =
        std::from_chars(digits.data(), digits.data() + digits.size(), id.index);
    const bool isNumber = !digits.empty() && digits.front() >= '0' && digits.front() <= '9' &&
                          (digits.size() == 1 || digits.front() != '0') && status == std::errc() &&
                          end == digits.data() + digits.size();
    if (!type || !isNumber)
        return Error{Code::InvalidArgument,
                     "\"" + std::string(text) + "\" is no task; expected " +
                         json::listOr(typeNames()) + ", then \"" + separator +
                         "\" and the index, for example \"worker" + separator + "0\".",
                     {}};
    id.type = *type;
    return id;
}

} // namespace

Result<TaskId> TaskId::parse(std::string_view text) {
    return parseWith(text, ':');
}

Result<TaskId> TaskId::parsePathName(std::string_view name) {
    return parseWith(name, '-');
}

} // namespace lockstep::cluster
