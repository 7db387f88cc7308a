// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace lockstep::files {

namespace {

class Descriptor {
public:
    explicit Descriptor(int fd)
        : m_fd(fd) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
        if (m_fd >= 0)
            ::close(m_fd);
    }
    int get() const { return m_fd; }
    bool isOpen() const { return m_fd >= 0; }

private:
    int m_fd;
};

Status writeAll(int fd, std::string_view bytes, const std::string& path) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(fd, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return fromErrno(errno, "write", path);
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
}

std::string folderOf(const std::string& path) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    return folder.empty() ? "." : folder;
}

} // namespace

Error fromErrno(int error, const std::string& action, const std::string& path) {
    Code code = Code::Internal;
    if (error == ENOENT || error == ENOTDIR)
        code = Code::NotFound;
    else if (error == EACCES || error == EPERM || error == EROFS)
        code = Code::PermissionDenied;
    else if (error == EEXIST)
        code = Code::AlreadyExists;
    else if (error == EISDIR)
        code = Code::InvalidArgument;
    std::string reason = std::generic_category().message(error);
    if (!reason.empty())
        reason[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(reason[0])));
    return {code, "Could not " + action + " this: " + reason + ".", path};
}

Result<std::string> read(const std::string& path, std::size_t limit) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.isOpen())
        return fromErrno(errno, "open", path);
    struct stat info {};
    if (::fstat(file.get(), &info) != 0)
        return fromErrno(errno, "read", path);
    if (S_ISDIR(info.st_mode))
        return Error{Code::InvalidArgument, "This is a folder; expected a file.", path};
    std::string bytes;
    char block[1 << 16];
    for (;;) {
        const ssize_t got = ::read(file.get(), block, sizeof block);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fromErrno(errno, "read", path);
        if (got == 0)
            return bytes;
        bytes.append(block, static_cast<std::size_t>(got));
        if (bytes.size() > limit)
            return Error{Code::InvalidArgument,
                         "This file is longer than " + std::to_string(limit) + " bytes.", path};
    }
}

Status writeAtomic(const std::string& path, std::string_view bytes, Durability durability,
                   unsigned mode) {
    std::string temporary = path + ".XXXXXX";
    const Descriptor file(::mkostemp(temporary.data(), O_CLOEXEC));
    if (!file.isOpen())
        return fromErrno(errno, "write", path);
    const auto abandon = [&](Error error) -> Status {
        ::unlink(temporary.c_str());
        return error;
    };
    if (auto written = writeAll(file.get(), bytes, path); !written)
        return abandon(written.error());
    if (::fchmod(file.get(), mode) != 0)
        return abandon(fromErrno(errno, "set the mode of", path));
    if (durability == Durability::Synced && ::fsync(file.get()) != 0)
        return abandon(fromErrno(errno, "write", path));
    if (::rename(temporary.c_str(), path.c_str()) != 0)
        return abandon(fromErrno(errno, "write", path));
    if (durability == Durability::Synced) {
        const Descriptor folder(::open(folderOf(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (folder.isOpen())
            ::fsync(folder.get());
    }
    return {};
}

Status makeFolders(const std::string& path, unsigned mode) {
    const std::filesystem::path folder(path);
    if (path.empty() || std::filesystem::is_directory(folder))
        return {};
    if (folder.has_parent_path() && folder.parent_path() != folder)
        LOCKSTEP_TRY(makeFolders(folder.parent_path().string(), mode));
    if (::mkdir(path.c_str(), mode) != 0 && errno != EEXIST)
        return fromErrno(errno, "make the folder", path);
    return {};
}

Status checkWritable(const std::string& folder) {
    std::string probe = folder + "/.lockstep-probe-XXXXXX";
    const Descriptor file(::mkostemp(probe.data(), O_CLOEXEC));
    if (!file.isOpen())
        return fromErrno(errno, "write into", folder);
    ::unlink(probe.c_str());
    return writeAll(file.get(), "probe", folder);
}

} // namespace lockstep::files
