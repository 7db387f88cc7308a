// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// A file read in pieces, plain or gzipped alike.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace lockstep::data::detail {

/// One thread at a time.
class ByteFile {
public:
    /// Throws Failure: NotFound, PermissionDenied, or InvalidArgument where it is no ordinary file.
    explicit ByteFile(const std::string& path);
    ~ByteFile();
    ByteFile(const ByteFile&) = delete;
    ByteFile& operator=(const ByteFile&) = delete;

    /// Up to `size` bytes, decompressed; 0 at the end. Throws Failure{Corrupt} for a damaged or cut
    /// off gzip file.
    std::size_t read(char* into, std::size_t size);
    /// Read so far, after decompression.
    std::uint64_t bytesRead() const { return m_bytesRead; }

private:
    struct Handle;
    std::string m_path;
    std::unique_ptr<Handle> m_handle;
    std::uint64_t m_bytesRead = 0;
};

} // namespace lockstep::data::detail
