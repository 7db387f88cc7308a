// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/collective/detail/fate.h"

namespace lockstep::collective::detail {

bool Fate::decide(Verdict verdict) {
    {
        const std::lock_guard lock(m_mutex);
        if (m_isOver.load(std::memory_order_relaxed))
            return false;
        if (verdict.foundUtc <= 0)
            verdict.foundUtc = Clock::system().utcSeconds();
        m_verdict = std::move(verdict);
        m_isOver.store(true, std::memory_order_release);
    }
    m_changed.notify_all();
    m_wakeUp.wake();
    return true;
}

void Fate::setLeft() {
    {
        const std::lock_guard lock(m_mutex);
        if (m_isOver.load(std::memory_order_relaxed))
            return;
        m_hasLeft = true;
        m_isOver.store(true, std::memory_order_release);
    }
    m_changed.notify_all();
    m_wakeUp.wake();
}

bool Fate::hasLeft() const {
    const std::lock_guard lock(m_mutex);
    return m_hasLeft;
}

std::optional<Verdict> Fate::verdict() const {
    const std::lock_guard lock(m_mutex);
    return m_verdict;
}

bool Fate::waitUntil(Monotonic::time_point deadline) const {
    std::unique_lock lock(m_mutex);
    return m_changed.wait_until(lock, deadline,
                                [&] { return m_isOver.load(std::memory_order_relaxed); });
}

} // namespace lockstep::collective::detail
