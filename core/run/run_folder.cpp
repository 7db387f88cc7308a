// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/run/run_folder.h"

#include "core/base/files.h"
#include "core/base/hash.h"
#include "core/cluster/task.h"
#include "core/keras_file/keras_model.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <utility>

namespace lockstep::run {

namespace fs = std::filesystem;

namespace {

std::string pathName(const std::string& task) {
    const auto id = cluster::TaskId::parse(task);
    return id ? id->pathName() : task;
}

std::vector<std::string> namesIn(const std::string& folder) {
    std::vector<std::string> names;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error))
        names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
}

std::optional<int> attemptNumber(const std::string& name) {
    int number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error != std::errc() || end != name.data() + name.size() || number < 1)
        return std::nullopt;
    return number;
}

} // namespace

std::string defaultRoot() {
    if (const char* data = std::getenv("XDG_DATA_HOME"); data && data[0] == '/')
        return std::string(data) + "/lockstep";
    const char* home = std::getenv("HOME");
    return std::string(home ? home : "") + "/.local/share/lockstep";
}

RunFolder::RunFolder(std::string root, std::string runId)
    : m_root(std::move(root))
    , m_id(std::move(runId)) {}

std::string RunFolder::path() const {
    return m_root + "/runs/" + m_id;
}

std::string RunFolder::modelPath() const {
    return path() + "/model.safetensors";
}

std::string RunFolder::attemptFolder(const std::string& task, int attempt) const {
    return path() + "/" + pathName(task) + "/" + std::to_string(attempt);
}

std::string RunFolder::eventsPath(const std::string& task, int attempt) const {
    return attemptFolder(task, attempt) + "/events.jsonl";
}

std::string RunFolder::outputPath(const std::string& task, int attempt) const {
    return attemptFolder(task, attempt) + "/stdout.log";
}

std::string RunFolder::errorOutputPath(const std::string& task, int attempt) const {
    return attemptFolder(task, attempt) + "/stderr.log";
}

bool RunFolder::exists() const {
    std::error_code error;
    return fs::exists(path() + "/run.json", error);
}

Status RunFolder::create() const {
    LOCKSTEP_TRY(files::makeFolders(m_root + "/runs"));
    return files::makeFolders(path(), 0700);
}

Result<RunRecord> RunFolder::load() const {
    const std::string file = path() + "/run.json";
    auto value = json::parseFile(file);
    if (!value)
        return value.error();
    return recordFromJson(*value, file);
}

Status RunFolder::save(const RunRecord& record) const {
    return files::writeAtomic(path() + "/run.json", json::dumpPretty(toJson(record)),
                              isFinal(record.state) ? files::Durability::Synced
                                                    : files::Durability::Renamed);
}

Result<PushManifest> RunFolder::loadPush() const {
    const std::string file = path() + "/push.json";
    auto value = json::parseFile(file);
    if (!value)
        return value.error();
    return manifestFromJson(*value, file);
}

Status RunFolder::savePush(const PushManifest& manifest) const {
    return files::writeAtomic(path() + "/push.json", json::dumpPretty(toJson(manifest)),
                              files::Durability::Renamed);
}

Result<std::string> RunFolder::secret() const {
    const std::string file = path() + "/spec.json";
    if (auto known = json::parseFile(file)) {
        const json::Value* secret = known->find("secret");
        if (secret && secret->isString())
            return secret->toString();
        return Error{Code::Corrupt, "The run's secret cannot be read.", file};
    }
    const std::string secret = randomHex(32);
    const json::Value spec = json::Value::object(
        {{"format", "lockstep-spec"}, {"version", 1}, {"run", m_id}, {"secret", secret}});
    LOCKSTEP_TRY(
        files::writeAtomic(file, json::dump(spec) + "\n", files::Durability::Renamed, 0600));
    return secret;
}

Status RunFolder::requestStop() const {
    return files::writeAtomic(path() + "/stop", "", files::Durability::Renamed);
}

bool RunFolder::isStopRequested() const {
    std::error_code error;
    return fs::exists(path() + "/stop", error);
}

std::optional<WriterLock> WriterLock::tryTake(const RunFolder& folder) {
    const std::string file = folder.path() + "/lock";
    const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return std::nullopt;
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
        ::close(fd);
        return std::nullopt;
    }
    return WriterLock(fd);
}

WriterLock::WriterLock(WriterLock&& other) noexcept
    : m_fd(std::exchange(other.m_fd, -1)) {}

WriterLock& WriterLock::operator=(WriterLock&& other) noexcept {
    std::swap(m_fd, other.m_fd);
    return *this;
}

WriterLock::~WriterLock() {
    if (m_fd >= 0)
        ::close(m_fd);
}

Result<std::string> findRun(const std::string& root, const std::string& text) {
    std::vector<std::string> runs;
    for (std::string& name : namesIn(root + "/runs"))
        if (isRunId(name))
            runs.push_back(std::move(name));
    if (runs.empty())
        return Error{Code::NotFound, "There are no runs yet; start one with lockstepctl run.",
                     root + "/runs"};
    if (text == "last")
        return runs.back();
    std::vector<std::string> fitting;
    for (const std::string& id : runs)
        if (!text.empty() && id.compare(0, text.size(), text) == 0)
            fitting.push_back(id);
    if (fitting.size() == 1)
        return fitting.front();
    if (fitting.empty())
        return Error{Code::NotFound,
                     "There is no run \"" + text + "\"; the newest is " + runs.back() +
                         ", all are listed by lockstepctl runs.",
                     {}};
    return Error{Code::InvalidArgument,
                 "\"" + text + "\" is the beginning of " + std::to_string(fitting.size()) +
                     " runs, from " + fitting.front() + " to " + fitting.back() +
                     "; give more of the id.",
                 {}};
}

namespace {

/// "" where there is none.
Result<std::string> readIfThere(const std::string& file) {
    auto bytes = files::read(file);
    return bytes || bytes.error().code != Code::NotFound ? bytes
                                                         : Result<std::string>(std::string());
}

/// The events of an attempt; of a program of the user's own, which writes none, what it printed.
/// Nothing where the folder is no attempt's.
Result<std::optional<metrics::EventsFile>> filesOf(const std::string& attemptFolder) {
    std::error_code error;
    if (!fs::exists(attemptFolder + "/events.jsonl", error) &&
        !fs::exists(attemptFolder + "/stdout.log", error))
        return std::optional<metrics::EventsFile>();
    metrics::EventsFile files;
    auto events = readIfThere(attemptFolder + "/events.jsonl");
    if (!events)
        return events.error();
    files.bytes = std::move(*events);
    if (!files.bytes.empty())
        return std::optional(std::move(files));
    auto output = readIfThere(attemptFolder + "/stdout.log");
    auto times = readIfThere(attemptFolder + "/stdout.idx");
    if (!output || !times)
        return output ? times.error() : output.error();
    files.output = std::move(*output);
    files.outputTimes = std::move(*times);
    return std::optional(std::move(files));
}

} // namespace

Result<std::vector<metrics::EventsFile>> readEventsFiles(const std::string& folder) {
    std::vector<metrics::EventsFile> all;
    for (const std::string& name : namesIn(folder)) {
        const auto task = cluster::TaskId::parsePathName(name);
        if (!task)
            continue;
        for (const std::string& attempt : namesIn(folder + "/" + name)) {
            const auto number = attemptNumber(attempt);
            if (!number)
                continue;
            auto files = filesOf(folder + "/" + name + "/" + attempt);
            if (!files)
                return files.error();
            if (!*files)
                continue;
            (*files)->task = task->text();
            (*files)->attempt = *number;
            all.push_back(std::move(**files));
        }
    }
    if (all.empty())
        return Error{Code::NotFound,
                     "No worker's events are here; expected <task>/<attempt>/events.jsonl.",
                     folder};
    return all;
}

Status exportMetrics(const std::string& folder, const std::string& target) {
    auto events = readEventsFiles(folder);
    if (!events)
        return events.error();
    return files::writeAtomic(target, metrics::toCsv(*events).text, files::Durability::Renamed);
}

ModelFormat modelFormatOf(const std::string& fileName) {
    if (fileName.ends_with(".keras"))
        return ModelFormat::Keras;
    if (fileName.ends_with(".weights.h5"))
        return ModelFormat::WeightsH5;
    return fileName.ends_with(".h5") || fileName.ends_with(".hdf5") ? ModelFormat::LegacyH5
                                                                    : ModelFormat::Safetensors;
}

Status exportModel(const RunFolder& folder, const std::string& target, ModelFormat format) {
    auto record = folder.load();
    if (!record)
        return record.error();
    if (record->isCommand())
        return Error{Code::NotFound,
                     "This run started a program of your own; what that saved is on the hosts, "
                     "where it put it.",
                     folder.id()};
    if (!record->model)
        return Error{Code::NotFound,
                     "This run has no model: it is " + std::string(statusName(record->status)) +
                         ". Only a finished run has one.",
                     folder.id()};
    auto bytes = files::read(folder.modelPath());
    if (!bytes)
        return bytes.error();
    if (toHex(sha256(*bytes)) != record->model->sha256)
        return Error{Code::Corrupt,
                     "This model is not what the chief wrote: its SHA-256 differs from run.json.",
                     folder.modelPath()};
    if (format == ModelFormat::Safetensors)
        return files::writeAtomic(target, *bytes);
    auto archive = archive::parse(*bytes, folder.modelPath());
    if (!archive)
        return archive.error();
    const auto model = keras_file::modelOf(std::move(*archive));
    if (!model)
        return model.error();
    using keras_file::Format;
    return keras_file::write(*model,
                             format == ModelFormat::Keras       ? Format::Keras
                             : format == ModelFormat::WeightsH5 ? Format::WeightsH5
                                                                : Format::LegacyH5,
                             target);
}

} // namespace lockstep::run
