// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/run/background.h"

#include <utility>

namespace lockstep::run {

Background::~Background() = default;

void Background::start(std::function<std::function<void()>()> work) {
    if (m_thread.joinable())
        m_thread.join();
    m_result = nullptr;
    m_thread = std::jthread([this, work = std::move(work)] {
        std::function<void()> result = work();
        {
            const std::lock_guard lock(m_mutex);
            m_result = std::move(result);
        }
        QMetaObject::invokeMethod(this, "deliver", Qt::QueuedConnection);
    });
}

void Background::deliver() {
    std::function<void()> result;
    {
        const std::lock_guard lock(m_mutex);
        result = std::exchange(m_result, nullptr);
    }
    if (result)
        result();
}

} // namespace lockstep::run
