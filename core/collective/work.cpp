// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/collective/work.h"

#include "core/base/failure.h"
#include "core/collective/detail/work_state.h"

namespace lockstep::collective {

void Work::wait() const {
    if (!m_state)
        return;
    std::unique_lock lock(m_state->mutex);
    // Bounded: the communication thread ends every collective by its deadline and fails what is
    // queued when the group ends.
    m_state->changed.wait(lock, [&] { return m_state->done; });
    if (m_state->error)
        throw Failure(*m_state->error);
}

bool Work::isDone() const {
    if (!m_state)
        return true;
    const std::lock_guard lock(m_state->mutex);
    return m_state->done;
}

WorkTimes Work::times() const {
    if (!m_state)
        return {};
    const std::lock_guard lock(m_state->mutex);
    return m_state->times;
}

void detail::finish(WorkState& state, std::optional<Error> error) {
    const std::lock_guard lock(state.mutex);
    state.times.ended = Monotonic::now();
    state.error = std::move(error);
    state.done = true;
    // Under the lock: the state may be reused as soon as the waiter has seen `done`.
    state.changed.notify_all();
}

} // namespace lockstep::collective
