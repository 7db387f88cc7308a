// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/remote/detail/file_thread.h"

#include <QPointer>
#include <QThread>

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

namespace lockstep::remote::detail {

FileThread::FileThread()
    : m_wakeUp(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))
    , m_notifier(std::make_unique<QSocketNotifier>(m_wakeUp, QSocketNotifier::Read))
    , m_thread([this](const std::stop_token& stop) { loop(stop); }) {
    connect(m_notifier.get(), &QSocketNotifier::activated, this, &FileThread::drain);
}

FileThread::~FileThread() {
    m_thread.request_stop();
    m_thread.join();
    // This may be called from within drain(), the notifier's signal.
    m_notifier->setEnabled(false);
    m_notifier.release()->deleteLater();
    ::close(m_wakeUp);
}

void FileThread::submit(Work work) {
    Q_ASSERT(thread() == QThread::currentThread());
    const std::lock_guard lock(m_mutex);
    m_works.push(std::move(work));
    m_changed.notify_one();
}

void FileThread::post(Completion completion) {
    {
        const std::lock_guard lock(m_mutex);
        m_completions.push_back(std::move(completion));
    }
    const std::uint64_t one = 1;
    // Can only fail where the counter is full, and then the owner is awake anyway.
    [[maybe_unused]] const ssize_t written = ::write(m_wakeUp, &one, sizeof one);
}

void FileThread::loop(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        Work work;
        {
            std::unique_lock lock(m_mutex);
            if (!m_changed.wait(lock, stop, [this] { return !m_works.empty(); }))
                return;
            work = std::move(m_works.front());
            m_works.pop();
        }
        post(work());
    }
}

void FileThread::drain() {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(m_wakeUp, &count, sizeof count);
    std::vector<Completion> completions;
    {
        const std::lock_guard lock(m_mutex);
        completions.swap(m_completions);
    }
    const QPointer<FileThread> self(this);
    for (const Completion& completion : completions) {
        if (!self) // a completion may delete the host
            return;
        completion();
    }
}

} // namespace lockstep::remote::detail
