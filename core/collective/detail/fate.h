// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// How a group ends: the first verdict wins, everybody wakes up. Shared by the training thread, the
// communication thread and the monitor; all members are thread-safe.

#include "core/collective/detail/socket.h"
#include "core/collective/verdict.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>

namespace lockstep::collective::detail {

class Fate {
public:
    /// Sets the verdict and its time; false where the group has already ended.
    bool decide(Verdict verdict);
    /// All ranks have confirmed the exit barrier: nothing can fail any more.
    void setLeft();

    bool isOver() const { return m_isOver.load(std::memory_order_acquire); }
    bool hasLeft() const;
    std::optional<Verdict> verdict() const;
    /// Returns once the group is over or at the deadline; true where it is over.
    bool waitUntil(Monotonic::time_point deadline) const;
    /// Readable for ever once the group is over.
    int wakeFd() const { return m_wakeUp.fd(); }

private:
    mutable std::mutex m_mutex;
    mutable std::condition_variable m_changed;
    std::atomic<bool> m_isOver{false};
    bool m_hasLeft = false;
    std::optional<Verdict> m_verdict;
    WakeUp m_wakeUp;
};

} // namespace lockstep::collective::detail
