// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// A thread for work on files that may block. Results come back over an eventfd to the owner's event
// loop. Threads: all members are called from the owner's thread.

#include <QObject>
#include <QSocketNotifier>
#include <queue>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace lockstep::remote::detail {

class FileThread : public QObject {
    Q_OBJECT
public:
    /// What the owner's thread does with a result.
    using Completion = std::function<void()>;
    /// Runs on the file thread.
    using Work = std::function<Completion()>;

    FileThread();
    /// Waits for the piece of work at hand, which its owner has told to give up; the rest is
    /// dropped.
    ~FileThread() override;

    void submit(Work work);
    /// From within a Work: something for the owner's thread before the result. Any thread.
    void post(Completion completion);

private:
    void loop(const std::stop_token& stop);
    void drain();

    int m_wakeUp = -1;
    std::unique_ptr<QSocketNotifier> m_notifier;
    std::mutex m_mutex;
    std::condition_variable_any m_changed;
    std::queue<Work> m_works;              // under m_mutex
    std::vector<Completion> m_completions; // under m_mutex
    std::jthread m_thread;
};

} // namespace lockstep::remote::detail
