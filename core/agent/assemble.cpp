// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/agent/assemble.h"

#include "core/agent/detail/descriptor.h"
#include "core/base/files.h"
#include "core/base/hash.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <set>

namespace lockstep::agent {

namespace {

namespace fs = std::filesystem;
using detail::Descriptor;

constexpr auto kUnusedFor = std::chrono::hours(24 * 30);

class Assembler {
public:
    explicit Assembler(const AssembleRequest& request)
        : m_request(request)
        , m_part(request.target + ".part-XXXXXX") {}

    ~Assembler() {
        std::error_code error;
        if (m_isStarted)
            fs::remove_all(m_part, error);
    }
    Assembler(const Assembler&) = delete;
    Assembler& operator=(const Assembler&) = delete;

    Result<AssembleReply> run() {
        std::error_code error;
        if (fs::exists(m_request.target, error))
            return AssembleReply{};
        LOCKSTEP_TRY(files::makeFolders(m_request.store, 0700));
        AssembleReply reply{missing()};
        if (!reply.ok())
            return reply;
        LOCKSTEP_TRY(start());
        for (const FolderEntry& entry : m_request.entries)
            LOCKSTEP_TRY(make(entry));
        reply.missing.assign(m_spoiled.begin(), m_spoiled.end());
        if (!reply.ok())
            return reply;
        LOCKSTEP_TRY(finish());
        forgetUnused();
        return reply;
    }

private:
    /// A folder of this call alone: two hosts of a cluster may be one machine.
    Status start() {
        LOCKSTEP_TRY(files::makeFolders(fs::path(m_request.target).parent_path().string(), 0700));
        if (::mkdtemp(m_part.data()) == nullptr)
            return files::fromErrno(errno, "make", m_part);
        m_isStarted = true;
        return {};
    }

    Status finish() {
        if (::rename(m_part.c_str(), m_request.target.c_str()) == 0) {
            m_isStarted = false;
            return {};
        }
        if (errno == ENOTEMPTY || errno == EEXIST) // the other call made the same
            return {};
        return files::fromErrno(errno, "name", m_request.target);
    }

    std::string stored(const std::string& sha256) const { return m_request.store + '/' + sha256; }

    std::vector<std::string> missing() const {
        std::set<std::string> hashes;
        for (const FolderEntry& entry : m_request.entries) {
            struct stat info {};
            if (entry.kind == FolderEntry::Kind::File &&
                (::stat(stored(entry.sha256).c_str(), &info) != 0 || info.st_size != entry.size))
                hashes.insert(entry.sha256);
        }
        return {hashes.begin(), hashes.end()};
    }

    Status make(const FolderEntry& entry) {
        const std::string path = m_part + '/' + entry.path;
        if (entry.kind == FolderEntry::Kind::Folder)
            return files::makeFolders(path);
        LOCKSTEP_TRY(files::makeFolders(path.substr(0, path.rfind('/'))));
        if (entry.kind == FolderEntry::Kind::File)
            return copy(entry, path);
        if (::symlink(entry.target.c_str(), path.c_str()) != 0)
            return files::fromErrno(errno, "link", path);
        return {};
    }

    /// A copy, not a second name of the same bytes: the program may write into its files.
    Status copy(const FolderEntry& entry, const std::string& path) {
        const std::string source = stored(entry.sha256);
        const Descriptor from(::open(source.c_str(), O_RDONLY | O_CLOEXEC));
        if (!from.isOpen())
            return files::fromErrno(errno, "open", source);
        const Descriptor to(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                                   entry.isProgram ? 0755 : 0644));
        if (!to.isOpen())
            return files::fromErrno(errno, "write", path);
        ::futimens(from.get(), nullptr); // used now
        Sha256Stream hash;
        std::string block(1 << 20, '\0');
        for (;;) {
            const ssize_t got = ::read(from.get(), block.data(), block.size());
            if (got < 0 && errno == EINTR)
                continue;
            if (got < 0)
                return files::fromErrno(errno, "read", source);
            if (got == 0)
                break;
            const std::string_view bytes(block.data(), static_cast<std::size_t>(got));
            hash.add(bytes);
            errno = ENOSPC;
            if (!detail::writeAll(to.get(), bytes))
                return files::fromErrno(errno, "write", path);
        }
        if (toHex(hash.finish()) != entry.sha256) {
            m_spoiled.insert(entry.sha256);
            ::unlink(source.c_str());
        }
        return {};
    }

    void forgetUnused() const {
        std::error_code error;
        const auto limit = fs::file_time_type::clock::now() - kUnusedFor;
        std::vector<fs::path> old;
        for (const auto& file : fs::directory_iterator(m_request.store, error)) {
            std::error_code unknown;
            if (const auto time = file.last_write_time(unknown); !unknown && time < limit)
                old.push_back(file.path());
        }
        for (const fs::path& file : old)
            fs::remove(file, error);
    }

    const AssembleRequest& m_request;
    std::string m_part;
    bool m_isStarted = false;
    std::set<std::string> m_spoiled; ///< whose bytes in the store were others
};

} // namespace

bool isInside(std::string_view path) {
    if (path.empty() || path.front() == '/' || path.find('\0') != path.npos)
        return false;
    for (std::size_t from = 0; from <= path.size();) {
        const std::size_t end = std::min(path.find('/', from), path.size());
        const std::string_view part = path.substr(from, end - from);
        if (part.empty() || part == "." || part == "..")
            return false;
        from = end + 1;
    }
    return true;
}

bool isLinkInside(std::string_view path, std::string_view target) {
    if (target.empty() || target.front() == '/')
        return false;
    const fs::path full = (fs::path(path).parent_path() / fs::path(target)).lexically_normal();
    return full.empty() || *full.begin() != "..";
}

Result<AssembleReply> assemble(const AssembleRequest& request) {
    return Assembler(request).run();
}

} // namespace lockstep::agent
