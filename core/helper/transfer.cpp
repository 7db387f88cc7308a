// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// Put and Fetch: files in pieces.
#include "core/base/files.h"
#include "core/helper/detail/task.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

namespace lockstep::helper::detail {

namespace {

class PutFile : public Task {
public:
    PutFile(files::AtomicFile file, unsigned mode, Reply reply)
        : m_reply(std::move(reply))
        , m_file(std::move(file))
        , m_mode(mode) {}

    void want(std::vector<pollfd>&, bool) const override {}
    bool advance(bool) override { return m_isOver; }
    void input(std::string_view bytes) override {
        if (!m_isOver)
            check(m_file->write(bytes));
    }
    void inputEnd() override {
        if (m_isOver)
            return;
        check(m_file->commit(files::Durability::Renamed, m_mode));
        if (m_isOver)
            return;
        m_isOver = true;
        m_reply.done();
    }

private:
    void check(const Status& status) {
        if (status)
            return;
        m_isOver = true;
        m_file.reset();
        m_reply.failed(status.error());
    }

    Reply m_reply;
    std::optional<files::AtomicFile> m_file;
    unsigned m_mode;
    bool m_isOver = false;
};

class FetchFile : public Task {
public:
    FetchFile(int fd, std::int64_t size, std::string path, Reply reply)
        : m_reply(std::move(reply))
        , m_fd(fd)
        , m_left(size)
        , m_path(std::move(path)) {
        m_reply.send(Kind::Size, json::dump(json::Value::object({{"size", size}})));
    }
    ~FetchFile() override { ::close(m_fd); }

    void want(std::vector<pollfd>& wanted, bool mayOutput) const override {
        if (mayOutput)
            wanted.push_back({m_fd, POLLIN, 0}); // a regular file is always ready
    }
    bool advance(bool mayOutput) override {
        if (!mayOutput)
            return false;
        std::string& piece = scratch();
        const ssize_t got = ::read(m_fd, piece.data(), piece.size());
        if (got < 0) {
            m_reply.failed(files::fromErrno(errno, "read", m_path));
            return true;
        }
        if (got > 0) {
            m_left -= got;
            m_reply.send(Kind::Output,
                         std::string_view(piece).substr(0, static_cast<std::size_t>(got)));
            return false;
        }
        if (m_left > 0)
            m_reply.failed({Code::Corrupt, "The file became shorter while it was read.", m_path});
        else
            m_reply.done();
        return true;
    }
    void input(std::string_view) override {}
    void inputEnd() override {}

private:
    Reply m_reply;
    int m_fd;
    std::int64_t m_left;
    std::string m_path;
};

} // namespace

std::unique_ptr<Task> startPut(const json::Value& request, Reply reply) {
    auto file = files::AtomicFile::create(textAt(request, "path"));
    if (!file) {
        reply.failed(file.error());
        return nullptr;
    }
    return std::make_unique<PutFile>(
        std::move(*file), static_cast<unsigned>(numberAt(request, "mode")), std::move(reply));
}

std::unique_ptr<Task> startFetch(const json::Value& request, Reply reply) {
    const std::string path = textAt(request, "path");
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat facts {};
    if (fd < 0 || ::fstat(fd, &facts) != 0) {
        reply.failed(files::fromErrno(errno, "read", path));
        if (fd >= 0)
            ::close(fd);
        return nullptr;
    }
    if (!S_ISREG(facts.st_mode)) {
        ::close(fd);
        reply.failed({Code::InvalidArgument, "This is not a file.", path});
        return nullptr;
    }
    return std::make_unique<FetchFile>(fd, facts.st_size, path, std::move(reply));
}

} // namespace lockstep::helper::detail
