// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The worker's events.jsonl: appended line by line, each line in one write, so that a reader never
// sees lines mixed.
// Threads: write() may be called from any thread.

#include "core/base/result.h"
#include "core/wire/event.h"

#include <memory>
#include <mutex>
#include <string>

namespace lockstep::train {

class EventLog {
public:
    /// Appends to <runDir>/events.jsonl; an empty runDir keeps no file (started by hand).
    static Result<std::unique_ptr<EventLog>> open(const std::string& runDir);
    ~EventLog();
    EventLog(const EventLog&) = delete;
    EventLog& operator=(const EventLog&) = delete;

    /// Stamps and appends one event. Throws Failure where the file cannot be written.
    void write(wire::Body body);

private:
    EventLog(int fd, std::string path);

    int m_fd;
    std::string m_path;
    std::mutex m_mutex;
};

} // namespace lockstep::train
