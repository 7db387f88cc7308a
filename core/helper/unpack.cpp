// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// Unpack: the worker's bundle, received in pieces, kept as far as it came, and given its name only
// when every byte was verified, a little each turn. A packed bundle is one zlib stream: the
// manifest as a line of JSON, then the bytes of its files in order. The manifest stays beside the
// files, so that one whose files were cleaned away is told from a whole one.
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
#include <optional>

namespace lockstep::helper::detail {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestManifest = 1u << 20;
const char* const kManifest = "manifest.json";

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

/// Has every file that its manifest names, with its size: cleaners of /tmp take some away.
bool isWhole(const std::string& folder, const std::string& hash) {
    const auto line = files::read(folder + "/" + kManifest, kLongestManifest);
    if (!line || toHex(sha256(*line)) != hash)
        return false;
    const auto manifest = json::parse(*line, folder);
    const json::Value* entries = manifest ? manifest->find("files") : nullptr;
    if (!entries || !entries->isArray())
        return false;
    for (const json::Value& entry : entries->items()) {
        struct stat facts {};
        if (::stat((folder + "/" + textAt(entry, "name")).c_str(), &facts) != 0 ||
            facts.st_size != numberAt(entry, "size"))
            return false;
    }
    return true;
}

/// Writes the files of a packed bundle into a new folder, a piece at a time.
class Unpacker {
public:
    Unpacker(const std::string& packed, std::string hash, std::string folder)
        : m_packed(packed)
        , m_hash(std::move(hash))
        , m_folder(std::move(folder)) {}

    /// True when all of it is there.
    Result<bool> advance() {
        if (!m_manifest)
            return begin();
        if (!m_file) {
            if (m_next == m_entries->items().size())
                return true;
            LOCKSTEP_TRY(open(m_entries->items()[m_next]));
        }
        if (m_left > 0) {
            auto piece = m_packed.read(std::min(m_left, kPiece));
            if (!piece)
                return piece.error();
            if (piece->empty())
                return broken("it ends within " + m_name, m_folder);
            m_left -= piece->size();
            m_sum->add(*piece);
            LOCKSTEP_TRY(m_file->write(*piece));
            return false;
        }
        LOCKSTEP_TRY(close(m_entries->items()[m_next++]));
        return false;
    }

private:
    Result<bool> begin() {
        const auto line = m_packed.readLine();
        if (!line)
            return line.error();
        if (toHex(sha256(*line)) != m_hash)
            return broken("its manifest is another one", m_folder);
        auto manifest = json::parse(*line, m_folder);
        if (!manifest)
            return broken("its manifest cannot be read", m_folder);
        m_manifest = std::move(*manifest);
        m_entries = m_manifest->find("files");
        if (!m_entries || !m_entries->isArray())
            return broken("its manifest names no files", m_folder);
        LOCKSTEP_TRY(files::makeFolders(m_folder, 0700));
        LOCKSTEP_TRY(files::writeAtomic(m_folder + "/" + kManifest, *line));
        return false;
    }

    Status open(const json::Value& entry) {
        m_name = textAt(entry, "name");
        if (!isPlainName(m_name))
            return broken("a file in it has the name \"" + m_name + "\"", m_folder);
        const std::string path = m_folder + "/" + m_name;
        LOCKSTEP_TRY(files::makeFolders(fs::path(path).parent_path().string(), 0700));
        auto file = files::AtomicFile::create(path);
        if (!file)
            return file.error();
        m_file.emplace(std::move(*file));
        m_sum.emplace();
        m_left = static_cast<std::size_t>(numberAt(entry, "size"));
        return {};
    }

    Status close(const json::Value& entry) {
        if (toHex(m_sum->finish()) != textAt(entry, "sha256"))
            return broken(m_name + " has another hash than its manifest says", m_folder);
        const Status named = m_file->commit(files::Durability::Synced,
                                            static_cast<unsigned>(numberAt(entry, "mode")));
        m_file.reset();
        return named;
    }

    Packed m_packed;
    std::string m_hash;
    std::string m_folder;
    std::optional<json::Value> m_manifest;
    const json::Value* m_entries = nullptr;
    std::size_t m_next = 0;
    std::string m_name;
    std::size_t m_left = 0; ///< of the file that is open
    std::optional<Sha256Stream> m_sum;
    std::optional<files::AtomicFile> m_file;
};

void sync(const std::string& folder) {
    const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        ::fsync(fd);
        ::close(fd);
    }
}

class Unpack : public Task {
public:
    Unpack(const json::Value& request, Reply reply)
        : m_reply(std::move(reply))
        , m_hash(textAt(request, "hash"))
        , m_packedHash(textAt(request, "packed"))
        , m_size(numberAt(request, "size"))
        , m_folder(textAt(request, "folder"))
        , m_target(m_folder + "/" + m_hash)
        , m_part(m_target + ".part") {
        if (const Status begun = begin(); !begun)
            fail(begun.error());
    }
    ~Unpack() override {
        std::error_code ignored;
        if (m_unpacker)
            fs::remove_all(newFolder(), ignored);
        for (const int fd : {m_fd, m_lock})
            if (fd >= 0)
                ::close(fd);
    }

    bool isOver() const { return m_stage == Stage::Over; }
    bool isBusy() const override {
        return m_stage == Stage::Hashing || m_stage == Stage::Unpacking;
    }
    void want(std::vector<pollfd>&, bool) const override {}

    bool advance(bool) override {
        const Status status = m_stage == Stage::Hashing     ? hashSome()
                              : m_stage == Stage::Unpacking ? unpackSome()
                                                            : Status();
        if (!status) {
            ::unlink(m_part.c_str()); // a damaged one is of no use for going on
            fail(status.error());
        }
        return isOver();
    }

    void input(std::string_view bytes) override {
        while (m_stage == Stage::Receiving && !bytes.empty()) {
            const ssize_t put = ::write(m_fd, bytes.data(), bytes.size());
            if (put < 0 && errno == EINTR)
                continue;
            if (put < 0) {
                const int error = errno;
                if (error == ENOSPC || error == EDQUOT)
                    ::unlink(m_part.c_str());
                return fail(files::fromErrno(error, "write", m_part));
            }
            bytes.remove_prefix(static_cast<std::size_t>(put));
        }
    }

    void inputEnd() override {
        if (m_stage != Stage::Receiving)
            return;
        ::lseek(m_fd, 0, SEEK_SET);
        m_stage = Stage::Hashing;
    }

private:
    enum class Stage { Receiving, Hashing, Unpacking, Over };

    std::string newFolder() const { return m_target + ".new"; }

    Status begin() {
        if (m_hash.size() != 64 || m_hash.find('/') != std::string::npos || m_folder.empty())
            return Error{Code::InvalidArgument, "Unpack needs a folder and a hash.", m_hash};
        LOCKSTEP_TRY(files::makeFolders(m_folder, 0700));
        if (isWhole(m_target, m_hash)) {
            done();
            return {};
        }
        // Two control sides, or two hosts with one home, may come at once.
        m_lock = ::open((m_folder + "/.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (m_lock < 0)
            return files::fromErrno(errno, "write", m_folder + "/.lock");
        if (::flock(m_lock, LOCK_EX | LOCK_NB) != 0)
            return Error{Code::AlreadyExists,
                         "Another Lockstep is copying the worker program there.", m_folder};
        if (isWhole(m_target, m_hash)) { // meanwhile
            done();
            return {};
        }
        m_fd = ::open(m_part.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        struct stat facts {};
        if (m_fd < 0 || ::fstat(m_fd, &facts) != 0)
            return files::fromErrno(errno, "write", m_part);
        if (facts.st_size > m_size) { // of something else
            if (::ftruncate(m_fd, 0) != 0)
                return files::fromErrno(errno, "write", m_part);
            facts.st_size = 0;
        }
        m_reply.send(Kind::Offset, json::dump(json::Value::object({{"offset", facts.st_size}})));
        return {};
    }

    Status hashSome() {
        std::string& piece = scratch();
        const ssize_t got = ::read(m_fd, piece.data(), piece.size());
        if (got < 0)
            return files::fromErrno(errno, "read", m_part);
        if (got > 0) {
            m_sum.add(std::string_view(piece).substr(0, static_cast<std::size_t>(got)));
            return {};
        }
        if (const std::string hash = toHex(m_sum.finish()); hash != m_packedHash)
            return broken("its hash is " + hash + ", expected " + m_packedHash, m_part);
        std::error_code ignored;
        fs::remove_all(newFolder(), ignored); // of one that was killed
        m_unpacker.emplace(m_part, m_hash, newFolder());
        m_stage = Stage::Unpacking;
        return {};
    }

    Status unpackSome() {
        const Result<bool> isDone = m_unpacker->advance();
        if (!isDone)
            return isDone.error();
        if (!*isDone)
            return {};
        std::error_code ignored;
        const std::string old = m_target + ".old";
        fs::remove_all(old, ignored);
        ::rename(m_target.c_str(), old.c_str()); // one that is not whole any more
        if (::rename(newFolder().c_str(), m_target.c_str()) != 0)
            return files::fromErrno(errno, "name", m_target);
        sync(m_folder);
        ::unlink(m_part.c_str());
        fs::remove_all(old, ignored);
        done();
        return {};
    }

    void done() {
        m_stage = Stage::Over;
        m_reply.done();
    }
    void fail(const Error& error) {
        m_stage = Stage::Over;
        m_reply.failed(error);
    }

    Reply m_reply;
    std::string m_hash;
    std::string m_packedHash;
    std::int64_t m_size;
    std::string m_folder;
    std::string m_target;
    std::string m_part;
    Stage m_stage = Stage::Receiving;
    int m_fd = -1;
    int m_lock = -1;
    Sha256Stream m_sum; ///< of the packed file
    std::optional<Unpacker> m_unpacker;
};

} // namespace

std::unique_ptr<Task> startUnpack(const json::Value& request, Reply reply) {
    auto task = std::make_unique<Unpack>(request, std::move(reply));
    if (task->isOver())
        return nullptr;
    return task;
}

} // namespace lockstep::helper::detail
