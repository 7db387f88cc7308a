// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The listener of a worker's one known port. Whatever connects, it goes on: strangers are refused
// by name, other programs and silent connections are dropped after a deadline.

#include "core/collective/detail/handshake.h"

#include <functional>
#include <list>
#include <vector>

namespace lockstep::collective::detail {

class Acceptor {
public:
    /// Decides about a caller that has proved to be of this run: empty accepts it.
    struct Decision {
        RefusalCode code;
        std::string sentence;
    };
    using Admit = std::function<std::optional<Decision>(const Hello&)>;
    using Arrived = std::function<void(const Hello&, std::unique_ptr<FrameSocket>)>;

    Acceptor(const Self& self, Fd listener);

    void step(Monotonic::time_point now, const Admit& admit, const Arrived& arrived);
    void collect(std::vector<pollfd>& fds) const;
    /// The next deadline of a handshake; far away when there is none.
    Monotonic::time_point wakeAt() const;

private:
    void acceptAll(Monotonic::time_point now);

    const Self& m_self;
    Fd m_listener;
    std::list<ListenerHandshake> m_pending;
    Monotonic::time_point m_pausedUntil; ///< after accept failed, for lack of descriptors
};

} // namespace lockstep::collective::detail
