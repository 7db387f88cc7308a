// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// A collective that was submitted and may still be running on the communication thread.

#include "core/base/clock.h"

#include <cstddef>
#include <memory>

namespace lockstep::collective {

namespace detail {
struct WorkState;
}

struct WorkTimes {
    Monotonic::time_point submitted;
    Monotonic::time_point started; ///< when the communication thread took it up
    Monotonic::time_point ended;
};

/// A handle, cheap to copy. A default-constructed one is done. It may outlive its group.
class Work {
public:
    Work() = default;
    explicit Work(std::shared_ptr<detail::WorkState> state)
        : m_state(std::move(state)) {}

    /// Blocks until the communication thread is done with the buffer. Throws the group's Failure
    /// (see Group) where it broke; the buffer's content is then undefined, and no buffer of any
    /// Work of that group is touched any more. Bounded: each collective has the group's timeout.
    void wait() const;
    bool isDone() const;
    /// Of a finished work (zero for a default-constructed one).
    WorkTimes times() const;

private:
    std::shared_ptr<detail::WorkState> m_state;
};

} // namespace lockstep::collective
