// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// One request under way in the helper: what it waits for, and what it does when that comes.

#include "core/base/json.h"
#include "core/helper/protocol.h"

#include <poll.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::helper::detail {

/// How a task answers.
struct Reply {
    std::function<void(Kind kind, std::string_view payload)> send;

    void done(const json::Value& value = json::Value::object()) const;
    void failed(const Error& error) const;
};

class Task {
public:
    virtual ~Task() = default; ///< ends what is left: no process, no partial file

    /// Descriptors to wait for. `mayOutput` is false while the line to the control side is full.
    virtual void want(std::vector<pollfd>& wanted, bool mayOutput) const = 0;
    /// There is work to do without waiting for a descriptor.
    virtual bool isBusy() const { return false; }
    /// After each poll, whatever was ready. True when the task is over and has answered.
    virtual bool advance(bool mayOutput) = 0;
    virtual void input(std::string_view bytes) = 0;
    virtual void inputEnd() = 0;
};

// Each answers Failed and gives nothing where the request cannot begin.
std::unique_ptr<Task> startProgram(const json::Value& request, Reply reply);
std::unique_ptr<Task> startPut(const json::Value& request, Reply reply);
std::unique_ptr<Task> startFetch(const json::Value& request, Reply reply);
std::unique_ptr<Task> startUnpack(const json::Value& request, Reply reply);

/// Room for one read; the helper has one thread.
std::string& scratch();

/// A member of a request: empty, or 0, where it is not there.
std::string textAt(const json::Value& value, std::string_view key);
std::int64_t numberAt(const json::Value& value, std::string_view key);

} // namespace lockstep::helper::detail
