// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// Unpack: the worker's bundle, received in pieces, kept as far as it came, and given its name only
// when every byte was verified. A packed bundle is one zlib stream: the manifest as a line of JSON,
// then the bytes of its files in order.
#include "core/base/files.h"
#include "core/base/hash.h"
#include "core/helper/detail/task.h"

#include <zlib.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace lockstep::helper::detail {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestManifest = 1u << 20;

Error broken(const std::string& what, const std::string& where) {
    return {Code::Corrupt, "The worker program arrived damaged: " + what + ".", where};
}

/// Inflates a file.
class Packed {
public:
    explicit Packed(const std::string& path)
        : m_fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC))
        , m_path(path) {
        ::inflateInit(&m_stream);
    }
    ~Packed() {
        ::inflateEnd(&m_stream);
        if (m_fd >= 0)
            ::close(m_fd);
    }
    Packed(const Packed&) = delete;
    Packed& operator=(const Packed&) = delete;

    /// Up to `size` bytes; fewer only at the end.
    Result<std::string> read(std::size_t size) {
        std::string out(size, '\0');
        m_stream.next_out = reinterpret_cast<Bytef*>(out.data());
        m_stream.avail_out = static_cast<uInt>(size);
        while (m_stream.avail_out > 0 && !m_isOver) {
            if (m_stream.avail_in == 0) {
                const ssize_t got = ::read(m_fd, m_buffer.data(), m_buffer.size());
                if (got < 0)
                    return files::fromErrno(errno, "read", m_path);
                if (got == 0)
                    return broken("it ends too early", m_path);
                m_stream.next_in = reinterpret_cast<Bytef*>(m_buffer.data());
                m_stream.avail_in = static_cast<uInt>(got);
            }
            const int rc = ::inflate(&m_stream, Z_NO_FLUSH);
            m_isOver = rc == Z_STREAM_END;
            if (rc != Z_OK && rc != Z_STREAM_END)
                return broken("it cannot be inflated", m_path);
        }
        out.resize(size - m_stream.avail_out);
        return out;
    }

    Result<std::string> readLine() {
        std::string line;
        while (line.size() < kLongestManifest) {
            auto byte = read(1);
            if (!byte)
                return byte.error();
            if (byte->empty() || *byte == "\n")
                return line;
            line += *byte;
        }
        return broken("it has no manifest", m_path);
    }

private:
    int m_fd;
    std::string m_path;
    z_stream m_stream{};
    std::string m_buffer = std::string(kPiece, '\0');
    bool m_isOver = false;
};

/// Names in a manifest stay below its folder.
bool isPlainName(const std::string& name) {
    return !name.empty() && name[0] != '/' && ("/" + name + "/").find("/../") == std::string::npos;
}

Status unpackFile(Packed& packed, const json::Value& entry, const std::string& folder) {
    const std::string name = textAt(entry, "name");
    if (!isPlainName(name))
        return broken("a file in it has the name \"" + name + "\"", folder);
    const std::string path = folder + "/" + name;
    LOCKSTEP_TRY(files::makeFolders(fs::path(path).parent_path().string(), 0700));
    auto file = files::AtomicFile::create(path);
    if (!file)
        return file.error();
    Sha256Stream hash;
    for (auto left = static_cast<std::size_t>(numberAt(entry, "size")); left > 0;) {
        auto piece = packed.read(std::min(left, kPiece));
        if (!piece)
            return piece.error();
        if (piece->empty())
            return broken("it ends within " + name, folder);
        left -= piece->size();
        hash.add(*piece);
        LOCKSTEP_TRY(file->write(*piece));
    }
    if (toHex(hash.finish()) != textAt(entry, "sha256"))
        return broken(name + " has another hash than its manifest says", folder);
    return file->commit(files::Durability::Synced, static_cast<unsigned>(numberAt(entry, "mode")));
}

/// `packed` → `target`, which appears whole or not at all.
Status unpackBundle(const std::string& path, const std::string& wantedHash,
                    const std::string& target) {
    Packed packed(path);
    const auto line = packed.readLine();
    if (!line)
        return line.error();
    if (toHex(sha256(*line)) != wantedHash)
        return broken("its manifest is another one", path);
    const auto manifest = json::parse(*line, path);
    const json::Value* entries = manifest ? manifest->find("files") : nullptr;
    if (!entries || !entries->isArray())
        return broken("its manifest cannot be read", path);
    const std::string folder = target + ".new";
    std::error_code ignored;
    fs::remove_all(folder, ignored);
    for (const json::Value& entry : entries->items())
        if (const Status status = unpackFile(packed, entry, folder); !status) {
            fs::remove_all(folder, ignored);
            return status;
        }
    if (::rename(folder.c_str(), target.c_str()) != 0) {
        const Error error = files::fromErrno(errno, "name", target);
        fs::remove_all(folder, ignored);
        return error;
    }
    return {};
}

class Unpack : public Task {
public:
    Unpack(const json::Value& request, Reply reply)
        : m_reply(std::move(reply))
        , m_hash(textAt(request, "hash"))
        , m_packedHash(textAt(request, "packed"))
        , m_target(textAt(request, "folder") + "/" + m_hash)
        , m_part(m_target + ".part") {
        m_isOver = !begin(textAt(request, "folder"));
    }
    ~Unpack() override {
        for (const int fd : {m_fd, m_lock})
            if (fd >= 0)
                ::close(fd);
    }

    bool isOver() const { return m_isOver; }
    void want(std::vector<pollfd>&, bool) const override {}
    bool advance(bool) override { return m_isOver; }

    void input(std::string_view bytes) override {
        while (!m_isOver && !bytes.empty()) {
            const ssize_t put = ::write(m_fd, bytes.data(), bytes.size());
            if (put < 0 && errno == EINTR)
                continue;
            if (put < 0)
                return fail(files::fromErrno(errno, "write", m_part));
            bytes.remove_prefix(static_cast<std::size_t>(put));
        }
    }

    void inputEnd() override {
        if (m_isOver)
            return;
        ::close(std::exchange(m_fd, -1));
        auto hash = hashOf(m_part);
        Status status = hash ? Status() : Status(hash.error());
        if (status && *hash != m_packedHash)
            status = broken("its hash is " + *hash + ", expected " + m_packedHash, m_part);
        if (status)
            status = unpackBundle(m_part, m_hash, m_target);
        ::unlink(m_part.c_str()); // a damaged one is of no use for going on
        if (!status)
            return fail(status.error());
        m_isOver = true;
        m_reply.done();
    }

private:
    /// False when the answer is given already.
    bool begin(const std::string& folder) {
        if (const Status made = files::makeFolders(folder, 0700); !made) {
            m_reply.failed(made.error());
            return false;
        }
        if (::access(m_target.c_str(), X_OK) == 0) {
            m_reply.done();
            return false;
        }
        // Two control sides, or two hosts with one home, may come at once.
        m_lock = ::open((folder + "/.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (m_lock < 0 || ::flock(m_lock, LOCK_EX | LOCK_NB) != 0) {
            m_reply.failed({Code::AlreadyExists,
                            "Another Lockstep is copying the worker program there.", folder});
            return false;
        }
        m_fd = ::open(m_part.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        struct stat facts {};
        if (m_fd < 0 || ::fstat(m_fd, &facts) != 0) {
            m_reply.failed(files::fromErrno(errno, "write", m_part));
            return false;
        }
        m_reply.send(Kind::Offset, json::dump(json::Value::object({{"offset", facts.st_size}})));
        return true;
    }

    void fail(const Error& error) {
        m_isOver = true;
        m_reply.failed(error);
    }

    static Result<std::string> hashOf(const std::string& path) {
        const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            return files::fromErrno(errno, "read", path);
        Sha256Stream hash;
        std::string piece(kPiece, '\0');
        ssize_t got = 0;
        while ((got = ::read(fd, piece.data(), piece.size())) > 0)
            hash.add(std::string_view(piece).substr(0, static_cast<std::size_t>(got)));
        const int error = errno;
        ::close(fd);
        if (got < 0)
            return files::fromErrno(error, "read", path);
        return toHex(hash.finish());
    }

    Reply m_reply;
    std::string m_hash;
    std::string m_packedHash;
    std::string m_target;
    std::string m_part;
    int m_fd = -1;
    int m_lock = -1;
    bool m_isOver = false;
};

} // namespace

std::unique_ptr<Task> startUnpack(const json::Value& request, Reply reply) {
    auto task = std::make_unique<Unpack>(request, std::move(reply));
    if (task->isOver())
        return nullptr;
    return task;
}

} // namespace lockstep::helper::detail
