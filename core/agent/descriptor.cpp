// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/agent/detail/descriptor.h"

#include "core/base/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace lockstep::agent::detail {

void Descriptor::close() {
    if (m_fd >= 0)
        ::close(std::exchange(m_fd, -1));
}

Result<Pipe> makePipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        return files::fromErrno(errno, "make", "pipe");
    return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

bool writeAll(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(fd, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

} // namespace lockstep::agent::detail
