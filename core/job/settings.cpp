// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/job/settings.h"

#include "core/base/json_reader.h"

namespace lockstep::job {

namespace {

/// Of each pair a job has one: setting the first removes the second.
constexpr const char* kAlternatives[][2] = {
    {"global_batch_size", "batch_size_per_replica"},
    {"batch_size_per_replica", "global_batch_size"},
    {"validation", "validation_fraction"},
    {"validation_fraction", "validation"},
};

/// A line of the setting's text means nothing in the job file.
void forgetLines(json::Value& value) {
    value.setLine(0);
    if (value.isArray())
        for (json::Value& item : value.items())
            forgetLines(item);
    if (value.isObject())
        for (json::Member& member : value.members())
            forgetLines(member.value);
}

} // namespace

Status setValue(json::Value& job, const std::string& path, json::Value value) {
    json::Value changed = job; // so that a refused path leaves nothing half made
    LOCKSTEP_TRY(json::setPath(changed, path, std::move(value)));
    for (const auto& [name, other] : kAlternatives) {
        const std::string folder = std::string(name).starts_with("validation") ? "data" : "fit";
        const json::Value* set = json::findPath(changed, path);
        if (path == folder + "." + name && !set->isNull())
            changed.find(folder)->remove(other);
    }
    job = std::move(changed);
    return {};
}

Status applySetting(json::Value& job, const std::string& path, const std::string& text) {
    auto value = json::parse(text, path);
    if (!value.ok())
        return setValue(job, path, json::Value(text));
    forgetLines(*value);
    return setValue(job, path, std::move(value).value());
}

Status applyAssignment(json::Value& job, const std::string& assignment) {
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0)
        return Error{Code::InvalidArgument,
                     "\"" + assignment + "\" is no setting; expected PATH=VALUE, for example " +
                         "fit.epochs=3.",
                     "--set"};
    return applySetting(job, assignment.substr(0, equals), assignment.substr(equals + 1));
}

} // namespace lockstep::job
