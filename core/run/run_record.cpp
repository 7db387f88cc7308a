// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/run/run_record.h"

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/base/json_reader.h"

#include <QDateTime>
#include <QString>

#include <algorithm>
#include <iterator>
#include <utility>

namespace lockstep::run {

namespace {

using json::Value;

constexpr const char* kFormat = "lockstep-run";
constexpr int kVersion = 1;
constexpr const char* kStatusNames[] = {"running", "finished", "failed", "stopped"};

Value toJson(const Cause& cause) {
    return Value::object({{"task", cause.task}, {"host", cause.host}, {"reason", cause.reason}});
}

Value tasksToJson(const RunRecord& record) {
    Value tasks = Value::array();
    for (const TaskPlace& place : record.tasks) {
        Value task = Value::object({{"task", place.task},
                                    {"host", place.hostName},
                                    {"address", place.address},
                                    {"run_folder", place.runFolder}});
        Value clock = Value::array();
        for (const ClockOffset& offset : place.clock)
            clock.append(Value::object({{"since", offset.since ? Value(*offset.since) : Value()},
                                        {"ahead_seconds", offset.ahead}}));
        if (clock.size() > 0)
            task.set("clock", std::move(clock));
        tasks.append(std::move(task));
    }
    return tasks;
}

Value filesToJson(const RunRecord& record) {
    Value files = Value::array();
    for (const PushedFile& file : record.files)
        files.append(
            Value::object({{"path", file.path}, {"file", file.file}, {"sha256", file.sha256}}));
    return files;
}

double secondsOf(const std::string& iso) {
    const auto time = QDateTime::fromString(QString::fromStdString(iso), Qt::ISODateWithMs);
    return time.isValid() ? static_cast<double>(time.toMSecsSinceEpoch()) / 1000.0 : 0.0;
}

Value valueOf(const json::Reader& reader) {
    return reader.value() ? *reader.value() : Value();
}

std::string textOf(const json::Reader& reader) {
    return reader.string().value_or("");
}

void readParts(const json::Reader& root, RunRecord& record) {
    for (const json::Reader& task : root.at("tasks").items()) {
        record.tasks.push_back({textOf(task.at("task")), textOf(task.at("host")),
                                textOf(task.at("address")), textOf(task.at("run_folder"))});
        for (const json::Reader& offset : task.at("clock").items())
            record.tasks.back().clock.push_back(
                {offset.at("since").number(), offset.at("ahead_seconds").number().value_or(0)});
    }
    for (const json::Reader& file : root.at("files").items())
        record.files.push_back(
            {textOf(file.at("path")), textOf(file.at("file")), textOf(file.at("sha256"))});
    if (const auto failure = root.at("failure"); !failure.isAbsent())
        record.failure = Cause{textOf(failure.at("task")), textOf(failure.at("host")),
                               textOf(failure.at("reason"))};
    if (const auto model = root.at("model"); !model.isAbsent())
        record.model = ModelFile{textOf(model.at("file")), textOf(model.at("sha256")),
                                 model.at("bytes").integer().value_or(0)};
}

} // namespace

const char* statusName(RunStatus status) {
    return kStatusNames[static_cast<std::size_t>(status)];
}

std::optional<RunStatus> statusFromName(std::string_view name) {
    for (std::size_t i = 0; i < std::size(kStatusNames); ++i)
        if (name == kStatusNames[i])
            return static_cast<RunStatus>(i);
    return std::nullopt;
}

const TaskPlace* RunRecord::find(const std::string& task) const {
    for (const TaskPlace& place : tasks)
        if (place.task == task)
            return &place;
    return nullptr;
}

TaskPlace* RunRecord::find(const std::string& task) {
    return const_cast<TaskPlace*>(std::as_const(*this).find(task));
}

bool RunRecord::isCommand() const {
    const json::Value* kind = job.find("kind");
    return kind && kind->isString() && kind->toString() == "command";
}

Value toJson(const RunRecord& record) {
    Value out = Value::object({{"format", kFormat},
                               {"version", kVersion},
                               {"run", record.id},
                               {"name", record.name},
                               {"status", statusName(record.status)},
                               {"state", stateName(record.state)},
                               {"attempt", record.attempt},
                               {"started", isoTime(record.startedAt)}});
    out.set("ended", record.endedAt ? Value(isoTime(*record.endedAt)) : Value());
    out.set("failure", record.failure ? toJson(*record.failure) : Value());
    out.set("tasks", tasksToJson(record));
    out.set("files", filesToJson(record));
    out.set("decisions", record.decisions);
    out.set("model", !record.model ? Value()
                                   : Value::object({{"file", record.model->name},
                                                    {"sha256", record.model->sha256},
                                                    {"bytes", record.model->bytes}}));
    out.set("summary", record.summary);
    out.set("cluster_file", record.clusterFile);
    out.set("cluster", record.cluster);
    out.set("job_file", record.jobFile);
    out.set("job", record.job);
    return out;
}

Result<RunRecord> recordFromJson(const Value& value, const std::string& path) {
    Problems problems;
    const json::Reader root(&value, "", path, &problems);
    const auto version = root.require("version", "a number").integer();
    if (textOf(root.at("format")) != kFormat)
        return Error{Code::Corrupt, "This is no record of a run; expected the format lockstep-run.",
                     path};
    if (version && *version > kVersion)
        return Error{Code::NewerFormat,
                     "A newer Lockstep wrote this record (version " + std::to_string(*version) +
                         "); this program reads version 1.",
                     path};
    RunRecord record;
    record.id = textOf(root.require("run", "the run's id"));
    record.name = textOf(root.at("name"));
    const auto status = statusFromName(textOf(root.require("status", "the run's status")));
    const auto state = stateFromName(textOf(root.require("state", "the run's state")));
    record.attempt = static_cast<int>(root.at("attempt").integer(1, 1'000'000).value_or(1));
    record.startedAt = secondsOf(textOf(root.at("started")));
    if (const auto ended = root.at("ended").string())
        record.endedAt = secondsOf(*ended);
    record.decisions = valueOf(root.at("decisions"));
    record.summary = valueOf(root.at("summary"));
    record.clusterFile = textOf(root.at("cluster_file"));
    record.cluster = valueOf(root.at("cluster"));
    record.jobFile = textOf(root.at("job_file"));
    record.job = valueOf(root.at("job"));
    readParts(root, record);
    if (hasErrors(problems) || !status || !state)
        return Error{Code::Corrupt,
                     problems.empty() ? "This record of a run has an unknown status."
                                      : describe(problems.front()),
                     path};
    record.status = *status;
    record.state = *state;
    return record;
}

Value resultObject(const RunRecord& record, const Value& summary) {
    Value out = Value::object({{"run", record.id.empty() ? Value() : Value(record.id)},
                               {"status", statusName(record.status)}});
    if (!record.tasks.empty())
        out.set("workers", static_cast<int>(record.tasks.size()));
    if (summary.isObject())
        for (const json::Member& member : summary.members())
            if (member.key != "workers" || record.tasks.empty())
                out.set(member.key, member.value);
    if (record.failure)
        out.set("failure", toJson(*record.failure));
    return out;
}

std::string newRunId(double utcSeconds) {
    const std::string time = compactTime(utcSeconds); // 20260131T081403Z
    return time.substr(0, 8) + "-" + time.substr(9, 6) + "-" + randomHex(3);
}

bool isRunId(std::string_view text) {
    constexpr std::string_view kShape = "dddddddd-dddddd-xxxxxx";
    const auto fits = [](char shape, char c) {
        const bool digit = c >= '0' && c <= '9';
        return shape == '-' ? c == '-' : digit || (shape == 'x' && c >= 'a' && c <= 'f');
    };
    return std::equal(kShape.begin(), kShape.end(), text.begin(), text.end(), fits);
}

} // namespace lockstep::run
