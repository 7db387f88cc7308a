// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/run/push_folder.h"

#include "core/base/json_reader.h"
#include "core/job/command.h"
#include "core/run/job_package.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace lockstep::run {

namespace {

namespace fs = std::filesystem;
using agent::FolderEntry;
using json::Value;

constexpr const char* kFormat = "lockstep-push";
constexpr std::int64_t kLargeBytes = std::int64_t{1} << 30;

class Scanner {
public:
    Scanner(const job::JobSpec& job, PushManifest& manifest, Problems& problems)
        : m_job(job)
        , m_manifest(manifest)
        , m_problems(problems)
        , m_ignore(job::ignoredAlways()) {
        const auto& own = job.command.push->ignore;
        m_ignore.insert(m_ignore.end(), own.begin(), own.end());
    }

    void scan(const std::string& below) {
        std::error_code error;
        std::vector<fs::directory_entry> found;
        fs::directory_iterator files(m_manifest.folder + "/" + below, error);
        for (; !error && files != fs::directory_iterator(); files.increment(error))
            found.push_back(*files);
        if (error)
            return fail(below, "cannot be read: " + error.message());
        // The same order everywhere, so that the same folder gives the same manifest.
        std::sort(found.begin(), found.end());
        for (const fs::directory_entry& file : found) {
            if (m_manifest.entries.size() > kMostPushedEntries)
                return;
            const std::string name = file.path().filename().string();
            take(file, below.empty() ? name : below + "/" + name);
        }
    }

private:
    void take(const fs::directory_entry& file, const std::string& path) {
        std::error_code error;
        const fs::file_status status = file.symlink_status(error);
        if (error)
            return fail(path, "cannot be read: " + error.message());
        const bool isFolder = status.type() == fs::file_type::directory;
        if (job::isIgnored(path, isFolder, m_ignore))
            return;
        FolderEntry entry;
        entry.path = path;
        if (isFolder) {
            entry.kind = FolderEntry::Kind::Folder;
            m_manifest.entries.push_back(std::move(entry));
            return scan(path);
        }
        if (status.type() == fs::file_type::symlink)
            return takeLink(file, std::move(entry));
        if (status.type() != fs::file_type::regular)
            return fail(path, "is neither a file nor a folder nor a link.");
        auto hash = sha256OfFile(file.path().string());
        if (!hash)
            return fail(path, "cannot be read: " + hash.error().message);
        entry.sha256 = *hash;
        entry.size = static_cast<std::int64_t>(file.file_size(error));
        entry.isProgram = (status.permissions() & fs::perms::owner_exec) != fs::perms::none;
        m_manifest.entries.push_back(std::move(entry));
    }

    void takeLink(const fs::directory_entry& file, FolderEntry entry) {
        std::error_code error;
        entry.kind = FolderEntry::Kind::Link;
        entry.target = fs::read_symlink(file.path(), error).string();
        if (!agent::isLinkInside(entry.path, entry.target))
            return fail(entry.path,
                        "is a link to " + entry.target + ", which is not inside the folder.");
        m_manifest.entries.push_back(std::move(entry));
    }

    void fail(const std::string& path, const std::string& what) {
        m_problems.push_back(job::problemAt(
            m_job, "push", (path.empty() ? m_manifest.folder : path) + " " + what,
            "files, folders, and links that stay inside",
            "Remove it, or name it in \"ignore\": \"push\": {\"folder\": …, \"ignore\": […]}."));
    }

    const job::JobSpec& m_job;
    PushManifest& m_manifest;
    Problems& m_problems;
    std::vector<std::string> m_ignore;
};

} // namespace

std::int64_t PushManifest::bytes() const {
    std::int64_t sum = 0;
    for (const FolderEntry& entry : entries)
        sum += entry.size;
    return sum;
}

int PushManifest::files() const {
    return static_cast<int>(std::count_if(entries.begin(), entries.end(), [](const auto& entry) {
        return entry.kind == FolderEntry::Kind::File;
    }));
}

const FolderEntry* PushManifest::find(const std::string& path) const {
    for (const FolderEntry& entry : entries)
        if (entry.path == path)
            return &entry;
    return nullptr;
}

PushManifest scanFolder(const job::JobSpec& job, const std::string& jobFolder, Problems& problems) {
    PushManifest manifest;
    manifest.folder = fs::absolute(job::resolvePath(jobFolder, job.command.push->folder))
                          .lexically_normal()
                          .string();
    while (manifest.folder.size() > 1 && manifest.folder.ends_with('/'))
        manifest.folder.pop_back();
    std::error_code error;
    if (!fs::is_directory(manifest.folder, error)) {
        problems.push_back(job::problemAt(job, "push",
                                          "There is no folder " + manifest.folder + ".",
                                          "a folder, relative to the job file"));
        return manifest;
    }
    Scanner(job, manifest, problems).scan("");
    const std::string hint = "Push the program alone; put data where the hosts find it, or name it "
                             "in \"ignore\".";
    if (manifest.entries.size() > kMostPushedEntries)
        problems.push_back(job::problemAt(job, "push",
                                          manifest.folder + " holds more than " +
                                              std::to_string(kMostPushedEntries) + " entries.",
                                          "a folder with fewer", hint));
    else if (manifest.bytes() > kLargeBytes)
        problems.push_back(job::problemAt(job, "push",
                                          manifest.folder + " holds " + sizeText(manifest.bytes()) +
                                              ", which each host will get.",
                                          {}, hint, Severity::Warning));
    return manifest;
}

Problems checkPushedPrograms(const job::JobSpec& job, const PushManifest& manifest) {
    Problems problems;
    const auto check = [&](const std::string& task, const std::string& path) {
        const std::string program = job::argvOf(job.command, task).front();
        const std::string folder = job::workingDirectoryOf(job.command, task, "");
        if (program.find('/') == program.npos || program.front() == '/' || folder.starts_with('/'))
            return;
        const fs::path place = (fs::path(folder) / program).lexically_normal();
        const FolderEntry* entry = manifest.find(place.string());
        if (!entry)
            problems.push_back(
                job::problemAt(job, path, "The pushed folder has no file " + place.string() + ".",
                               "a program in " + manifest.folder + ", or one of the hosts"));
        else if (entry->kind == FolderEntry::Kind::File && !entry->isProgram)
            problems.push_back(job::problemAt(
                job, path, place.string() + " may not be executed: its mode lacks the x bit.",
                "a program",
                "Run chmod +x on it, or begin argv with its interpreter, e.g. python3."));
    };
    check("", "argv");
    for (const auto& [task, own] : job.command.tasks)
        if (!own.argv.empty())
            check(task, "tasks." + task + ".argv");
    return problems;
}

Value toJson(const PushManifest& manifest) {
    const agent::AssembleRequest request{"", "", manifest.entries};
    auto line = json::parse(agent::encode(request), "push.json");
    Value entries = line ? std::move(*line->find("entries")) : Value::array();
    return Value::object({{"format", kFormat},
                          {"version", 1},
                          {"folder", manifest.folder},
                          {"entries", std::move(entries)}});
}

Result<PushManifest> manifestFromJson(const Value& value, const std::string& path) {
    const Value* format = value.find("format");
    const Value* folder = value.find("folder");
    const Value* entries = value.find("entries");
    if (!format || !format->isString() || format->toString() != kFormat || !folder ||
        !folder->isString() || !entries)
        return Error{Code::Corrupt, "This is no list of a pushed folder.", path};
    const auto read = agent::decodeAssembleRequest(
        json::dump(Value::object({{"store", "/"}, {"target", "/"}, {"entries", *entries}})));
    if (!read)
        return Error{Code::Corrupt, read.error().message, path};
    return PushManifest{folder->toString(), read->entries};
}

std::string sizeText(std::int64_t bytes) {
    const char* const units[] = {"bytes", "KB", "MB", "GB", "TB"};
    auto value = static_cast<double>(bytes);
    std::size_t unit = 0;
    while (value >= 999.95 && unit + 1 < std::size(units)) {
        value /= 1000;
        ++unit;
    }
    char text[64];
    std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
    return text;
}

} // namespace lockstep::run
