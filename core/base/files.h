// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Whole files, read and written safely. Paths are UTF-8 as given by the user.

#include "core/base/result.h"

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

namespace lockstep::files {

/// The file's bytes. NotFound, PermissionDenied, or InvalidArgument where it is a folder or longer
/// than `limit` bytes; the error's `where` is the path.
Result<std::string> read(const std::string& path,
                         std::size_t limit = std::numeric_limits<std::size_t>::max());

enum class Durability {
    Renamed, ///< a reader sees the old or the new file, never a part
    Synced,  ///< the same, also after a power cut (fsync of file and folder)
};

/// A file that appears whole or not at all: written without a name, or where the file system cannot
/// do that to a temporary beside `path`, and named by commit(). Without a commit nothing of it is
/// left. One thread at a time.
class AtomicFile {
public:
    static Result<AtomicFile> create(const std::string& path);
    AtomicFile(AtomicFile&& other) noexcept;
    AtomicFile& operator=(AtomicFile&&) = delete;
    ~AtomicFile();

    Status write(std::string_view bytes);
    /// `mode` is the new file's permission bits.
    Status commit(Durability durability = Durability::Synced, unsigned mode = 0644);

private:
    AtomicFile(int fd, std::string path, std::string temporary);

    Status giveName();

    int m_fd;
    std::string m_path;
    std::string m_temporary; ///< empty while the file has no name
};

/// The whole of `bytes` as an AtomicFile. `mode` is the new file's permission bits. On an error
/// nothing of it is left.
Status writeAtomic(const std::string& path, std::string_view bytes,
                   Durability durability = Durability::Synced, unsigned mode = 0644);

/// Makes the folder and its parents (mode for new ones); no error where it exists.
Status makeFolders(const std::string& path, unsigned mode = 0755);

/// Writes and removes a small file there: whether this folder really takes files.
Status checkWritable(const std::string& folder);

/// What errno says, as an Error at `path`: "Could not <action>: permission denied."
Error fromErrno(int error, const std::string& action, const std::string& path);

} // namespace lockstep::files
