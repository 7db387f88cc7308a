// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// An open file descriptor that closes itself.

#include "core/base/result.h"

#include <string_view>
#include <utility>

namespace lockstep::agent::detail {

class Descriptor {
public:
    Descriptor() = default;
    explicit Descriptor(int fd)
        : m_fd(fd) {}
    Descriptor(Descriptor&& other) noexcept
        : m_fd(std::exchange(other.m_fd, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(m_fd, other.m_fd);
        return *this;
    }
    ~Descriptor() { close(); }

    int get() const { return m_fd; }
    bool isOpen() const { return m_fd >= 0; }
    void close();

private:
    int m_fd = -1;
};

struct Pipe {
    Descriptor read;
    Descriptor write;
};
/// Both ends close on exec.
Result<Pipe> makePipe();

/// Writes all of `bytes`, however long it takes; false where the other end is closed or broken.
bool writeAll(int fd, std::string_view bytes);

} // namespace lockstep::agent::detail
