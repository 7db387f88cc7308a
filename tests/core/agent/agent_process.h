// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Drives the built lockstep-worker as the control side does.

#include "core/agent/protocol.h"

#include <QProcess>
#include <QString>
#include <QTemporaryDir>

#include <functional>
#include <map>
#include <optional>

namespace lockstep::agent::test {

struct Answer {
    int exitCode = -1;
    std::string line; ///< without LF
};

/// Runs an agent command to its end; fails the test where that takes longer than 40 s.
Answer call(const QString& command, const std::string& request);

/// A run of its own in a temporary folder; the end of the test stops it.
class TestRun {
public:
    TestRun();
    ~TestRun();

    const std::string& id() const { return m_id; }
    std::string folder() const; ///< of the attempt; exists
    std::string path(const std::string& file) const { return folder() + '/' + file; }

    SuperviseRequest request(const std::string& shellScript) const;
    Result<SuperviseReply> supervise(const std::string& shellScript) const;
    Result<SuperviseReply> supervise(const SuperviseRequest& request) const;
    Result<ProcessState> state() const;
    /// The state once it is no longer Running.
    ProcessState stateWhenOver() const;
    Result<StopReply> stop(double graceSeconds) const;
    std::string read(const std::string& file) const; ///< "" where there is none

private:
    QTemporaryDir m_folder;
    std::string m_id;
};

/// A `follow` that keeps what it got as the control side does: each file's bytes in order.
class Follower {
public:
    Follower(const TestRun& run, std::map<std::string, std::string> have,
             std::int64_t chunkBytes = FollowRequest{}.chunkBytes);
    ~Follower();

    /// The next item, or nothing where none came in time or the output is over.
    std::optional<FollowItem> next(int timeoutMs = 10'000);
    /// Reads on until `isEnough` or the end or the time is over; true where `isEnough` said so.
    bool readUntil(const std::function<bool()>& isEnough, int timeoutMs = 20'000);
    bool readToEnd(int timeoutMs = 30'000);

    QProcess process;
    std::map<std::string, std::string> files;
    std::optional<ProcessState> state;
    int heartbeats = 0;
    bool hasEnded = false;
    std::optional<Error> error; ///< a refused request, or bytes that do not join what we have
};

/// Whether `condition` holds within the time; looks every 10 ms.
bool holdsWithin(int timeoutMs, const std::function<bool()>& condition);

} // namespace lockstep::agent::test
