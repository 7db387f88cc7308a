// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/agent/place.h"

#include "core/agent/detail/descriptor.h"
#include "core/base/files.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>

namespace lockstep::agent {

namespace {

constexpr std::uint64_t kRoom = 64u << 20; ///< bytes: the worker's bundle takes about 45 MB

enum class Sharing {
    Own,    ///< below the user's own folders
    Public, ///< in a folder where everyone may write
};

struct Candidate {
    std::string folder;
    Sharing sharing = Sharing::Own;
};

std::vector<Candidate> candidates(const PlaceRequest& request, const Environment& environment) {
    if (!request.base.empty())
        return {{request.base, Sharing::Own}};
    const std::string name = "/lockstep-" + std::to_string(::geteuid());
    std::vector<Candidate> list;
    // The standard says that a relative path in these variables counts as unset.
    const auto addIfAbsolute = [&](const std::string& root, const std::string& rest, Sharing s) {
        if (!root.empty() && root[0] == '/')
            list.push_back({root + rest, s});
    };
    addIfAbsolute(environment("XDG_DATA_HOME").value_or(""), "/lockstep", Sharing::Own);
    addIfAbsolute(environment("HOME").value_or(""), "/.local/share/lockstep", Sharing::Own);
    addIfAbsolute(environment("TMPDIR").value_or(""), name, Sharing::Public);
    list.push_back({"/tmp" + name, Sharing::Public});
    list.push_back({"/dev/shm" + name, Sharing::Public});
    return list;
}

Status checkOwner(const std::string& folder) {
    struct stat info {};
    if (::lstat(folder.c_str(), &info) != 0)
        return files::fromErrno(errno, "look at", folder);
    if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid())
        return Error{Code::PermissionDenied, "This is not a folder of this user.", folder};
    if ((info.st_mode & 07777) != 0700)
        return Error{Code::PermissionDenied,
                     "Other users may enter this folder; expected mode 0700.", folder};
    return {};
}

/// Writes a program of one line and runs it: the only sure test for mounts with noexec.
Status checkExecutable(const std::string& folder) {
    std::string path = folder + "/.lockstep-probe-XXXXXX";
    {
        const detail::Descriptor file(::mkostemp(path.data(), O_CLOEXEC));
        if (!file.isOpen())
            return files::fromErrno(errno, "write into", folder);
        if (!detail::writeAll(file.get(), "#!/bin/sh\nexit 0\n") ||
            ::fchmod(file.get(), 0700) != 0) {
            const int error = errno;
            ::unlink(path.c_str());
            return files::fromErrno(error, "write into", folder);
        }
    }
    char* arguments[] = {path.data(), nullptr};
    char* environment[] = {nullptr};
    pid_t pid = -1;
    const int error = ::posix_spawn(&pid, path.c_str(), nullptr, nullptr, arguments, environment);
    if (error == 0)
        while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
        }
    ::unlink(path.c_str());
    if (error == EACCES || error == EPERM)
        return Error{Code::PermissionDenied,
                     "Programs cannot be executed from this folder (mounted noexec?).", folder};
    return {};
}

Status checkRoom(const std::string& folder) {
    struct statvfs info {};
    if (::statvfs(folder.c_str(), &info) != 0)
        return files::fromErrno(errno, "look at", folder);
    const std::uint64_t free = std::uint64_t{info.f_bavail} * info.f_frsize;
    if (free < kRoom)
        return Error{Code::OutOfMemory,
                     "Only " + std::to_string(free >> 20) +
                         " MiB are free here; expected at least " + std::to_string(kRoom >> 20) +
                         " MiB.",
                     folder};
    return {};
}

Status check(const Candidate& candidate) {
    LOCKSTEP_TRY(files::makeFolders(candidate.folder, 0700));
    if (candidate.sharing == Sharing::Public)
        LOCKSTEP_TRY(checkOwner(candidate.folder));
    LOCKSTEP_TRY(files::checkWritable(candidate.folder));
    LOCKSTEP_TRY(checkRoom(candidate.folder));
    return checkExecutable(candidate.folder);
}

std::string machineId() {
    for (const char* path : {"/etc/machine-id", "/var/lib/dbus/machine-id"}) {
        auto text = files::read(path, 256);
        if (text && text->size() >= 8)
            return text->substr(0, 8);
    }
    return "00000000";
}

} // namespace

std::string machineFolder() {
    char name[256] = {};
    if (::gethostname(name, sizeof name - 1) != 0 || name[0] == '\0')
        return "host-" + machineId();
    std::string folder = name;
    for (char& c : folder)
        if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '.' && c != '_')
            c = '_';
    if (folder[0] == '.')
        folder[0] = '_';
    return folder + '-' + machineId();
}

Result<PlaceReply> place(const PlaceRequest& request, const Environment& environment) {
    PlaceReply reply;
    reply.machine = machineFolder();
    for (const Candidate& candidate : candidates(request, environment)) {
        Status usable = check(candidate);
        if (usable)
            usable = files::makeFolders(candidate.folder + '/' + reply.machine, 0700);
        if (usable) {
            reply.base = candidate.folder;
            return reply;
        }
        reply.refused.emplace_back(candidate.folder, usable.error().message);
    }
    std::string reasons = "No folder for Lockstep's files can be used:";
    for (const auto& [folder, reason] : reply.refused)
        reasons += " " + folder + ": " + reason;
    return Error{Code::PermissionDenied,
                 reasons + " Name a folder that can be written to and executed from as the "
                           "worker's \"base\" in the cluster.",
                 "base"};
}

} // namespace lockstep::agent
