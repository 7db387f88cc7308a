// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/data/detail/byte_file.h"

#include "core/base/failure.h"
#include "core/base/files.h"

#include <zlib.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace lockstep::data::detail {

struct ByteFile::Handle {
    gzFile file = nullptr;
    ~Handle() {
        if (file)
            gzclose_r(file);
    }
};

ByteFile::ByteFile(const std::string& path)
    : m_path(path)
    , m_handle(std::make_unique<Handle>()) {
    // O_NONBLOCK: opening a pipe that nobody writes to must not wait.
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        throw Failure(files::fromErrno(errno, "open", path));
    struct stat status {};
    if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
        ::close(descriptor);
        throw Failure(Code::InvalidArgument,
                      S_ISDIR(status.st_mode) ? "This is a folder; expected a file."
                                              : "This is no ordinary file.",
                      path);
    }
    m_handle->file = gzdopen(descriptor, "rb");
    if (!m_handle->file) {
        ::close(descriptor);
        throw Failure(Code::OutOfMemory, "There is no memory to read the file.", path);
    }
    gzbuffer(m_handle->file, 128 * 1024);
}

ByteFile::~ByteFile() = default;

std::size_t ByteFile::read(char* into, std::size_t size) {
    const auto wanted = static_cast<unsigned>(std::min<std::size_t>(size, 1U << 30));
    const int got = gzread(m_handle->file, into, wanted);
    int status = Z_OK;
    gzerror(m_handle->file, &status);
    if (status == Z_ERRNO)
        throw Failure(files::fromErrno(errno, "read", m_path));
    if (got < 0 || (status != Z_OK && status != Z_STREAM_END))
        throw Failure(Code::Corrupt,
                      status == Z_BUF_ERROR ? "The gzip file is cut off before its end."
                                            : "The gzip file is damaged.",
                      m_path);
    m_bytesRead += static_cast<std::uint64_t>(got);
    return static_cast<std::size_t>(got);
}

} // namespace lockstep::data::detail
