// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Work that takes long (hashing a data set) on a thread of its own, its result back in the owner's.

#include <QObject>

#include <functional>
#include <mutex>
#include <thread>

namespace lockstep::run {

class Background : public QObject {
    Q_OBJECT
public:
    using QObject::QObject;
    /// Waits for what runs; its result is dropped.
    ~Background() override;

    /// Calls `work` on another thread, then what it gives back in this object's thread, unless this
    /// is gone by then. One at a time: starting again waits for the one before, whose result is
    /// dropped if it was not delivered yet.
    void start(std::function<std::function<void()>()> work);

private:
    /// By name, so that only Qt's own memory crosses the threads beside what the mutex guards.
    Q_INVOKABLE void deliver();

    std::mutex m_mutex;
    std::function<void()> m_result; ///< guarded by m_mutex
    std::jthread m_thread;
};

} // namespace lockstep::run
