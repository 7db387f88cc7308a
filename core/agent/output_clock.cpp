// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/agent/detail/output_clock.h"

#include "core/base/clock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lockstep::agent::detail {

OutputClock::OutputClock(int log, const std::string& path)
    : m_log(log) {
    struct stat info {};
    if (::fstat(log, &info) == 0 && info.st_size == 0)
        m_file = Descriptor(
            ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644));
}

void OutputClock::look() {
    struct stat info {};
    if (!m_file.isOpen() || ::fstat(m_log, &info) != 0)
        return;
    const std::string line = m_writer.grown(info.st_size, Clock::system().utcSeconds());
    // Half a line on a full disk ends the file: what came behind it would be taken for its rest.
    if (!line.empty() &&
        ::write(m_file.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size()))
        m_file.close();
}

} // namespace lockstep::agent::detail
