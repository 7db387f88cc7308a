// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The inside of Fleet, shared by its two sources.

#include "core/run/fleet.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::run {

/// Below the job folder on a host.
inline constexpr const char* kPushedFolder = "push";

namespace detail {

/// The reply line of an agent command, or why there is none.
Result<std::string> replyLine(const Result<remote::Output>& output);

} // namespace detail

struct Fleet::Entry {
    std::string key;
    std::string name;
    std::string base;
    std::shared_ptr<remote::Host> host;
    Error whyNot; ///< where there is no host
    remote::HostFacts facts;
    std::vector<std::string> tasks;
    bool isLocal = false;

    std::string runPath(const std::string& runId) const {
        return facts.machinePath().toStdString() + "/runs/" + runId;
    }
};

/// Calls `done` when as many answers came as were expected; the first failure is the one reported.
class Fleet::Batch {
public:
    Batch(std::size_t expected, Finished done)
        : m_left(expected)
        , m_done(std::move(done)) {}

    void answer(std::optional<Cause> failure = {}) {
        if (failure && !m_failure)
            m_failure = std::move(failure);
        if (--m_left == 0)
            m_done(m_failure);
    }

private:
    std::size_t m_left;
    Finished m_done;
    std::optional<Cause> m_failure;
};

struct Fleet::Launch {
    Batch batch;
    RunRecord record;
    bool onlyMissing;
    std::function<void(const std::string&)> started;
    Dropped dropped;
};

} // namespace lockstep::run
