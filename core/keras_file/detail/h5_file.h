// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// An HDF5 file that grows in memory. Throws Failure{Internal} with what the library said.

#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::keras_file::detail {

/// An identifier of the library and how it is closed.
class H5Handle {
public:
    using Close = herr_t (*)(hid_t);
    /// `what` names the call in the Failure where `id` is none.
    H5Handle(hid_t id, Close close, const char* what);
    ~H5Handle();
    H5Handle(H5Handle&& other) noexcept
        : m_id(std::exchange(other.m_id, H5I_INVALID_HID))
        , m_close(other.m_close) {}
    H5Handle(const H5Handle&) = delete;
    H5Handle& operator=(const H5Handle&) = delete;
    H5Handle& operator=(H5Handle&&) = delete;
    hid_t get() const { return m_id; }

private:
    hid_t m_id;
    Close m_close;
};

class H5File {
public:
    H5File();

    /// With the groups above it. Paths are "/a/b".
    void makeGroup(const std::string& path);
    /// float32, little-endian, contiguous; an empty shape is a scalar.
    void writeFloats(const std::string& path, const std::vector<std::int64_t>& shape,
                     std::span<const std::byte> bytes);
    /// An int64 without dimensions.
    void writeInteger(const std::string& path, std::int64_t value);
    void setText(const std::string& path, const char* name, const std::string& value);
    void setTexts(const std::string& path, const char* name,
                  const std::vector<std::string>& values);

    /// Everything written so far, as the bytes of a file.
    std::string image();

private:
    void write(const std::string& path, hid_t fileType, hid_t type,
               const std::vector<std::int64_t>& shape, const void* values);

    H5Handle m_file;
};

} // namespace lockstep::keras_file::detail
