// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/remote/detail/file_work.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

namespace lockstep::remote::detail {

namespace {

constexpr std::size_t kBlock = 1 << 20;

struct Handle {
    int fd;
    ~Handle() {
        if (fd >= 0)
            ::close(fd);
    }
};

ssize_t readSome(int fd, std::vector<char>& block) {
    ssize_t got = 0;
    do {
        got = ::read(fd, block.data(), block.size());
    } while (got < 0 && errno == EINTR);
    return got;
}

bool writeAll(int fd, const char* bytes, std::size_t count) {
    while (count > 0) {
        const ssize_t written = ::write(fd, bytes, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return false;
        bytes += written;
        count -= static_cast<std::size_t>(written);
    }
    return true;
}

Status copyBytes(int source, int target, const std::string& from, const std::string& to,
                 std::int64_t total, const std::atomic<bool>& isCancelled,
                 const Host::Progress& progress) {
    std::vector<char> block(kBlock);
    std::int64_t done = 0;
    for (;;) {
        if (isCancelled)
            return Error{Code::Cancelled, "The copy was cancelled.", to};
        const ssize_t got = readSome(source, block);
        if (got < 0)
            return files::fromErrno(errno, "read", from);
        if (got == 0)
            return {};
        if (!writeAll(target, block.data(), static_cast<std::size_t>(got)))
            return files::fromErrno(errno, "write", to);
        done += got;
        progress(done, total);
    }
}

} // namespace

Status copyFile(const std::string& from, const std::string& to, unsigned mode,
                files::Durability durability, const std::atomic<bool>& isCancelled,
                const Host::Progress& progress) {
    const Handle source{::open(from.c_str(), O_RDONLY | O_CLOEXEC)};
    if (source.fd < 0)
        return files::fromErrno(errno, "open", from);
    struct stat info {};
    if (::fstat(source.fd, &info) != 0)
        return files::fromErrno(errno, "read", from);
    if (S_ISDIR(info.st_mode))
        return Error{Code::InvalidArgument, "This is a folder; expected a file.", from};
    std::string temporary = to + ".part-XXXXXX";
    const Handle target{::mkostemp(temporary.data(), O_CLOEXEC)};
    if (target.fd < 0)
        return files::fromErrno(errno, "write", to);
    Status status = copyBytes(source.fd, target.fd, from, to, info.st_size, isCancelled, progress);
    if (status && ::fchmod(target.fd, mode) != 0)
        status = files::fromErrno(errno, "set the mode of", to);
    if (status && durability == files::Durability::Synced && ::fsync(target.fd) != 0)
        status = files::fromErrno(errno, "write", to);
    if (status && isCancelled)
        status = Error{Code::Cancelled, "The copy was cancelled.", to};
    if (status && ::rename(temporary.c_str(), to.c_str()) != 0)
        status = files::fromErrno(errno, "write", to);
    if (!status)
        ::unlink(temporary.c_str());
    return status;
}

Result<FileFacts> fileFacts(const std::string& path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) {
        if (errno == ENOENT || errno == ENOTDIR)
            return FileFacts{};
        return files::fromErrno(errno, "look at", path);
    }
    FileFacts facts;
    facts.kind = S_ISREG(info.st_mode)   ? FileFacts::Kind::File
                 : S_ISDIR(info.st_mode) ? FileFacts::Kind::Folder
                                         : FileFacts::Kind::Other;
    facts.size = info.st_size;
    facts.mode = info.st_mode & 07777;
    return facts;
}

} // namespace lockstep::remote::detail
