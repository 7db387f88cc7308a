// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// A worker program for tests of the control side: its agent commands are those of the real program,
// `describe` finds no fault, and `train` writes the events of a short training without training.
// What goes wrong in it is said by environment variables, which a cluster gives to single workers:
// FAKE_EPOCHS (2), FAKE_STEPS (10, an epoch), FAKE_STEP_MS (2), FAKE_EXIT_AT (step), FAKE_DIGEST,
// FAKE_IGNORE_TERM, FAKE_GRANDCHILD, FAKE_NO_FINISH, FAKE_BAD_MODEL, FAKE_BLAME (task).
#include "core/base/clock.h"
#include "core/base/files.h"
#include "core/base/hash.h"
#include "core/cluster/tf_config.h"
#include "core/wire/event.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

using namespace lockstep;

namespace {

volatile std::sig_atomic_t terminated = 0;

int number(const char* variable, int otherwise) {
    const char* value = std::getenv(variable);
    return value ? std::atoi(value) : otherwise;
}

class Trainer {
public:
    Trainer(std::string runDir, const cluster::TfConfig& config)
        : m_runDir(std::move(runDir))
        , m_config(config)
        , m_task(config.own()->text())
        , m_events(::open((m_runDir + "/events.jsonl").c_str(),
                          O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {}

    int run() {
        wire::Started started;
        started.task = m_task;
        started.rank = m_config.rank();
        started.world = m_config.worldSize();
        started.host = "fake-host";
        started.address = m_config.find(*m_config.own())->text;
        write(started);
        write(wire::PhaseChanged{wire::Phase::Joining, {}, 60});
        write(wire::PhaseChanged{wire::Phase::Training, {}, 0});
        for (int epoch = 1; epoch <= number("FAKE_EPOCHS", 2); ++epoch)
            if (const int code = runEpoch(epoch); code >= 0)
                return code;
        return finish();
    }

private:
    void write(wire::Body body) {
        const std::string line = wire::encode({Clock::system().utcSeconds(), std::move(body)});
        if (::write(m_events, line.data(), line.size()) < 0)
            std::perror("events.jsonl");
    }

    int runEpoch(int epoch) {
        const int steps = number("FAKE_STEPS", 10);
        for (int i = 0; i < steps; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(number("FAKE_STEP_MS", 2)));
            ++m_step;
            wire::Steps body;
            body.epoch = epoch;
            body.first = body.last = m_step;
            body.rows = 32;
            body.ownRows = 16;
            body.seconds = 0.01;
            body.loss = {loss(), loss(), loss()};
            write(body);
            if (const int code = accident(); code >= 0)
                return code;
        }
        if (m_config.isChief())
            std::printf("Epoch %d/%d\n%d/%d - 0s - loss: %.4f\n", epoch, number("FAKE_EPOCHS", 2),
                        steps, steps, loss());
        std::fflush(stdout);
        write(wire::EpochEnded{epoch, m_step, 0.1, {{"loss", loss()}}, digest()});
        return -1;
    }

    /// An exit code when the end has come, else -1.
    int accident() {
        if (terminated) {
            write(wire::Failed{m_task, "fake-host", "cancelled", "stopped", "Stopped."});
            return 1;
        }
        if (m_step != number("FAKE_EXIT_AT", -1))
            return -1;
        if (const char* peer = std::getenv("FAKE_BLAME")) {
            write(wire::Failed{peer, "fake-host", "timed_out", "frozen",
                               std::string(peer) + " did not answer for 5 s."});
            return 1;
        }
        std::fprintf(stderr, "out of luck\n");
        return 3;
    }

    int finish() {
        if (std::getenv("FAKE_NO_FINISH"))
            return 0;
        write(wire::PhaseChanged{wire::Phase::Finishing, {}, 0});
        if (m_config.isChief()) {
            const std::string model = "a model of " + std::to_string(m_step) + " steps";
            (void)files::writeAtomic(m_runDir + "/model.safetensors", model);
            const std::string hashed = std::getenv("FAKE_BAD_MODEL") ? "something else" : model;
            write(wire::FileWritten{"model", "model.safetensors",
                                    static_cast<std::int64_t>(model.size()),
                                    toHex(sha256(hashed))});
        }
        wire::Finished end;
        end.digest = digest();
        end.steps = m_step;
        end.rows = 32 * (m_step - 1);
        end.seconds = 0.5;
        end.totalMs = 10;
        write(end);
        return 0;
    }

    double loss() const { return 1.0 / static_cast<double>(m_step); }

    std::string digest() const {
        const char* own = std::getenv("FAKE_DIGEST");
        return toHex(sha256(own ? own : "equal on all ranks"));
    }

    std::string m_runDir;
    cluster::TfConfig m_config;
    std::string m_task;
    int m_events;
    std::int64_t m_step = 0;
};

int train(const std::vector<std::string>& words) {
    std::string runDir = ".";
    for (std::size_t i = 0; i + 1 < words.size(); ++i)
        if (words[i] == "--run-dir")
            runDir = words[i + 1];
    const auto config = cluster::TfConfig::fromEnvironment(std::getenv("TF_CONFIG"));
    if (!config || !config->own())
        return 2;
    std::signal(
        SIGTERM, std::getenv("FAKE_IGNORE_TERM") ? SIG_IGN : +[](int) { terminated = 1; });
    if (std::getenv("FAKE_GRANDCHILD") && ::fork() == 0) {
        ::setsid();
        std::signal(SIGTERM, SIG_IGN);
        ::execlp("sleep", "sleep", "300", nullptr);
        ::_exit(127);
    }
    return Trainer(runDir, *config).run();
}

} // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (!words.empty() && words[0] == "train")
        return train(words);
    if (!words.empty() && words[0] == "describe") {
        std::printf("{\"problems\":[],\"model\":{\"parameters\":1}}\n");
        return 0;
    }
    ::execv(LOCKSTEP_REAL_WORKER, argv);
    std::perror(LOCKSTEP_REAL_WORKER);
    return 127;
}
