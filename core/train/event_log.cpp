// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/train/event_log.h"

#include "core/base/clock.h"
#include "core/base/failure.h"
#include "core/base/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace lockstep::train {

EventLog::EventLog(int fd, std::string path)
    : m_fd(fd)
    , m_path(std::move(path)) {}

EventLog::~EventLog() {
    if (m_fd >= 0)
        ::close(m_fd);
}

Result<std::unique_ptr<EventLog>> EventLog::open(const std::string& runDir) {
    int fd = -1;
    std::string path;
    if (!runDir.empty()) {
        path = runDir + "/events.jsonl";
        fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
        if (fd < 0)
            return files::fromErrno(errno, "write", path);
    }
    return std::unique_ptr<EventLog>(new EventLog(fd, std::move(path)));
}

void EventLog::write(wire::Body body) {
    if (m_fd < 0)
        return;
    const std::string line = wire::encode({Clock::system().utcSeconds(), std::move(body)});
    const std::lock_guard lock(m_mutex);
    std::string_view rest = line;
    while (!rest.empty()) {
        const ssize_t written = ::write(m_fd, rest.data(), rest.size());
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            throw Failure(files::fromErrno(errno, "write", m_path));
        rest.remove_prefix(static_cast<std::size_t>(written));
    }
}

} // namespace lockstep::train
