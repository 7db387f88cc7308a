// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/helper/self_check.h"

#include "core/base/files.h"
#include "core/base/hash.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>

namespace lockstep::helper {

namespace fs = std::filesystem;

Status checkSelf(const std::string& program, const std::string& hash, const std::string& folder,
                 FolderKind kind) {
    const auto bytes = files::read(program);
    if (!bytes)
        return bytes.error();
    if (toHex(sha256(*bytes)) != hash)
        return Error{Code::Corrupt, "the helper program in it is damaged", program};
    if (kind == FolderKind::Own)
        return {};
    struct stat facts {};
    if (::lstat(folder.c_str(), &facts) != 0)
        return files::fromErrno(errno, "look at", folder);
    if (!S_ISDIR(facts.st_mode) || facts.st_uid != ::geteuid())
        return Error{Code::PermissionDenied, "it is not a folder of this user", folder};
    if ((facts.st_mode & 07777) != 0700)
        return Error{Code::PermissionDenied, "other users may enter it; expected mode 0700",
                     folder};
    return {};
}

void sweepParts(const std::string& program) {
    const std::string prefix = fs::path(program).filename().string() + ".";
    const auto before = fs::file_time_type::clock::now() - std::chrono::hours(24);
    std::error_code error;
    fs::directory_iterator each(fs::path(program).parent_path(), error);
    for (; !error && each != fs::directory_iterator(); each.increment(error)) {
        std::error_code ignored;
        const fs::path path = each->path();
        if (path.filename().string().starts_with(prefix) &&
            fs::last_write_time(path, ignored) < before && !ignored)
            fs::remove(path, ignored);
    }
}

} // namespace lockstep::helper
