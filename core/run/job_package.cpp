// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/run/job_package.h"

#include "core/base/files.h"
#include "core/base/hash.h"
#include "core/base/json_reader.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>

namespace lockstep::run {

namespace fs = std::filesystem;

std::vector<PushedFile> filesToPush(const job::JobSpec& job, const std::string& jobFolder) {
    std::vector<PushedFile> files;
    for (const job::FileReference& reference : job::fileReferences(job))
        if (!reference.isAbsolute() && !reference.file.empty())
            files.push_back({reference.path,
                             fs::absolute(job::resolvePath(jobFolder, reference.file))
                                 .lexically_normal()
                                 .string(),
                             {}});
    return files;
}

std::string pushedName(const PushedFile& file) {
    return "files/" + file.sha256.substr(0, 16) + "/" + fs::path(file.file).filename().string();
}

json::Value packagedJob(const json::Value& job, const std::vector<PushedFile>& files) {
    json::Value packaged = job;
    for (const PushedFile& file : files)
        (void)json::setPath(packaged, file.path, pushedName(file));
    return packaged;
}

json::Value jobWithAbsoluteFiles(const json::Value& job, const std::vector<PushedFile>& files) {
    json::Value absolute = job;
    for (const PushedFile& file : files)
        (void)json::setPath(absolute, file.path, file.file);
    return absolute;
}

job::Variables ownVariables() {
    job::Variables variables;
    for (char** entry = environ; entry && *entry; ++entry) {
        const std::string text = *entry;
        if (const std::size_t sign = text.find('='); sign != text.npos && sign > 0)
            variables.emplace_back(text.substr(0, sign), text.substr(sign + 1));
    }
    return variables;
}

Result<std::string> sha256OfFile(const std::string& path) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"),
                                                               &std::fclose);
    if (!file)
        return files::fromErrno(errno, "open", path);
    Sha256Stream hash;
    std::vector<char> block(1 << 20);
    while (const std::size_t got = std::fread(block.data(), 1, block.size(), file.get()))
        hash.add(std::string_view(block.data(), got));
    if (std::ferror(file.get()))
        return files::fromErrno(errno, "read", path);
    return toHex(hash.finish());
}

} // namespace lockstep::run
