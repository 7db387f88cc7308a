// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

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
    else if (error == EISDIR || error == ENAMETOOLONG || error == ELOOP)
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

AtomicFile::AtomicFile(int fd, std::string path, std::string temporary)
    : m_fd(fd)
    , m_path(std::move(path))
    , m_temporary(std::move(temporary)) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : m_fd(std::exchange(other.m_fd, -1))
    , m_path(std::move(other.m_path))
    , m_temporary(std::move(other.m_temporary)) {}

AtomicFile::~AtomicFile() {
    if (m_fd < 0)
        return;
    ::close(m_fd);
    if (!m_temporary.empty())
        ::unlink(m_temporary.c_str());
}

Result<AtomicFile> AtomicFile::create(const std::string& path) {
    // Without a name, so that even a killed process leaves nothing. Not every file system has it.
    static const bool canBeNamed = ::access("/proc/self/fd", X_OK) == 0;
    if (canBeNamed) {
        const int fd = ::open(folderOf(path).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        if (fd >= 0)
            return AtomicFile(fd, path, {});
    }
    std::string temporary = path + ".XXXXXX";
    const int fd = ::mkostemp(temporary.data(), O_CLOEXEC);
    if (fd < 0)
        return fromErrno(errno, "write", path);
    return AtomicFile(fd, path, std::move(temporary));
}

Status AtomicFile::write(std::string_view bytes) {
    return writeAll(m_fd, bytes, m_path);
}

Status AtomicFile::commit(Durability durability, unsigned mode) {
    if (::fchmod(m_fd, mode) != 0)
        return fromErrno(errno, "set the mode of", m_path);
    if (durability == Durability::Synced && ::fsync(m_fd) != 0)
        return fromErrno(errno, "write", m_path);
    if (m_temporary.empty())
        LOCKSTEP_TRY(giveName());
    if (!m_temporary.empty() && ::rename(m_temporary.c_str(), m_path.c_str()) != 0)
        return fromErrno(errno, "write", m_path);
    ::close(std::exchange(m_fd, -1));
    if (durability == Durability::Synced) {
        const Descriptor folder(
            ::open(folderOf(m_path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (folder.isOpen())
            ::fsync(folder.get());
    }
    return {};
}

Status AtomicFile::giveName() {
    const std::string open = "/proc/self/fd/" + std::to_string(m_fd);
    const auto link = [&](const std::string& name) {
        return ::linkat(AT_FDCWD, open.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
    };
    if (link(m_path))
        return {};
    // A link replaces nothing: an old file needs a rename from a second name.
    static std::atomic<unsigned> counter{0};
    for (int attempt = 0; errno == EEXIST && attempt < 100; ++attempt) {
        std::string name =
            m_path + "." + std::to_string(::getpid()) + "-" + std::to_string(counter++) + ".tmp";
        if (link(name)) {
            m_temporary = std::move(name);
            return {};
        }
    }
    return fromErrno(errno, "write", m_path);
}

Status writeAtomic(const std::string& path, std::string_view bytes, Durability durability,
                   unsigned mode) {
    auto file = AtomicFile::create(path);
    if (!file)
        return file.error();
    LOCKSTEP_TRY(file->write(bytes));
    return file->commit(durability, mode);
}

Status makeFolders(const std::string& path, unsigned mode) {
    const std::filesystem::path folder(path);
    std::error_code ignored; // mkdir says below what is wrong, and says it better
    if (path.empty() || std::filesystem::is_directory(folder, ignored))
        return {};
    if (folder.has_parent_path() && folder.parent_path() != folder)
        LOCKSTEP_TRY(makeFolders(folder.parent_path().string(), mode));
    if (::mkdir(path.c_str(), mode) == 0)
        return {};
    const int error = errno;
    if (error == EEXIST && std::filesystem::is_directory(folder, ignored))
        return {}; // another process was faster
    if (error == EEXIST)
        return Error{Code::AlreadyExists, "A file is in the way of the folder of this name.", path};
    return fromErrno(error, "make the folder", path);
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
