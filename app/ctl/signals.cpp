// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "app/ctl/signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>

namespace lockstep::ctl {

namespace {

volatile std::sig_atomic_t writeEnd = -1;

void wake(int) {
    const char byte = 1;
    const ssize_t ignored = ::write(writeEnd, &byte, 1);
    (void)ignored;
}

} // namespace

Signals::Signals() {
    if (::pipe2(m_fds, O_CLOEXEC | O_NONBLOCK) != 0)
        return;
    writeEnd = m_fds[1];
    m_notifier = std::make_unique<QSocketNotifier>(m_fds[0], QSocketNotifier::Read);
    connect(m_notifier.get(), &QSocketNotifier::activated, this, [this] {
        char byte = 0;
        while (::read(m_fds[0], &byte, 1) == 1)
            Q_EMIT interrupted();
    });
    std::signal(SIGINT, wake);
    std::signal(SIGTERM, wake);
}

Signals::~Signals() {
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
    m_notifier.reset();
    for (const int fd : m_fds)
        if (fd >= 0)
            ::close(fd);
}

} // namespace lockstep::ctl
