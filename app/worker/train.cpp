// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "app/worker/commands.h"
#include "core/train/worker.h"

#include <pthread.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace lockstep::worker {

namespace {

/// Takes SIGTERM and SIGINT on a thread of its own, where they may do more than in a handler.
/// Make it before any other thread: those made later inherit the blocked signals.
class StopSignals {
public:
    StopSignals() {
        sigemptyset(&m_signals);
        sigaddset(&m_signals, SIGTERM);
        sigaddset(&m_signals, SIGINT);
        pthread_sigmask(SIG_BLOCK, &m_signals, nullptr);
        m_thread = std::thread([this] { wait(); });
    }
    ~StopSignals() {
        m_isOver = true;
        pthread_kill(m_thread.native_handle(), SIGTERM);
        m_thread.join();
    }
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;

    std::stop_token token() const { return m_source.get_token(); }

private:
    void wait() {
        for (int signal = 0; sigwait(&m_signals, &signal) == 0;) {
            if (m_isOver)
                return;
            m_source.request_stop();
        }
    }

    sigset_t m_signals{};
    std::stop_source m_source;
    std::atomic<bool> m_isOver = false;
    std::thread m_thread;
};

} // namespace

int train(const Arguments& arguments) {
    train::Launch launch;
    launch.version = LOCKSTEP_VERSION;
    for (std::size_t i = 0; i < arguments.size(); i += 2) {
        const std::string& name = arguments[i];
        if (i + 1 == arguments.size())
            return usageError("train: " + name + " needs a value");
        const std::string& value = arguments[i + 1];
        if (name == "--job")
            launch.jobFile = value;
        else if (name == "--run-dir")
            launch.runDir = value;
        else if (name == "--cluster-hash")
            launch.clusterHash = value;
        else if (name == "--expect-workers") {
            launch.expectedWorkers = countFromText(value);
            if (!launch.expectedWorkers)
                return usageError(
                    "train: --expect-workers takes a whole number of at least 1, not \"" + value +
                    "\"");
        } else
            return usageError("train: unknown option \"" + name + "\"; see lockstep-worker --help");
    }
    if (launch.jobFile.empty())
        return usageError("train: --job FILE is missing");
    if (const char* config = std::getenv("TF_CONFIG"))
        launch.tfConfig = config;

    const StopSignals signals;
    train::Surroundings surroundings;
    surroundings.stop = signals.token();
    surroundings.out = [](const std::string& line) {
        std::fprintf(stdout, "%s\n", line.c_str());
        std::fflush(stdout);
    };
    surroundings.err = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
    switch (train::runWorker(launch, surroundings)) {
    case train::Outcome::Done:
        return 0;
    case train::Outcome::Failed:
        return 1;
    case train::Outcome::WrongInput:
        return 2;
    }
    return 1;
}

} // namespace lockstep::worker
