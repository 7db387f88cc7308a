// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Work that takes long (hashing a data set) on a thread of its own, its result back in the owner's.

#include <QObject>

#include <functional>
#include <thread>

namespace lockstep::run {

class Background : public QObject {
public:
    using QObject::QObject;
    /// Waits for what runs.
    ~Background() override = default;

    /// Calls `work` on another thread, then what it gives back in this object's thread, unless this
    /// is gone by then. One at a time: starting again waits for the one before.
    void start(std::function<std::function<void()>()> work) {
        m_thread = std::jthread([this, work = std::move(work)] {
            QMetaObject::invokeMethod(this, work(), Qt::QueuedConnection);
        });
    }

private:
    std::jthread m_thread;
};

} // namespace lockstep::run
