// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/agent/stop.h"

#include "core/agent/process.h"
#include "core/base/files.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <csignal>

namespace lockstep::agent {

namespace {

using std::chrono::steady_clock;

constexpr auto kKillDeadline = std::chrono::seconds(5);
constexpr auto kSupervisorDeadline = std::chrono::seconds(6); ///< its own cleaning up takes 5

class Stopper {
public:
    explicit Stopper(const StopRequest& request)
        : m_request(request) {
        for (const std::string& folder : request.runDirs)
            readState(folder);
    }

    StopReply run() {
        terminate();
        waitUntil(std::chrono::duration_cast<steady_clock::duration>(
                      std::chrono::duration<double>(m_request.graceSeconds)),
                  [this] { return living().empty(); });
        waitUntil(kKillDeadline, [this] { return !killLiving(); });
        // The supervisors end by themselves after the exit record; a frozen one does not.
        waitUntil(kSupervisorDeadline, [this] { return supervisors().empty(); });
        for (const ProcessFacts& process : supervisors())
            kill(process);
        waitUntil(kKillDeadline, [this] { return supervisors().empty() && !killLiving(); });
        for (const auto& left : {living(), supervisors()})
            for (const ProcessFacts& process : left)
                m_reply.remaining.push_back({process.identity.pid, process.name});
        return m_reply;
    }

private:
    void readState(const std::string& folder) {
        const std::string path = folder + '/' + kStateFile;
        const auto text = files::read(path, 1 << 20);
        if (!text)
            return;
        auto state = decodeFile(*text, path);
        if (state && state->phase == Phase::Running && state->run == m_request.run &&
            state->bootId == bootId())
            m_states.push_back(std::move(state).value());
    }

    void terminate() {
        for (const ProcessState& state : m_states) {
            sendSignalToGroup(state.process, SIGTERM);
            sendSignalToGroup(state.process, SIGCONT); // a frozen one cannot obey
        }
        for (const ProcessFacts& process : processesOfRun(m_request.run)) {
            const bool inGroup =
                std::any_of(m_states.begin(), m_states.end(), [&](const ProcessState& state) {
                    return state.process.pid == process.group;
                });
            if (!inGroup) {
                sendSignal(process.identity, SIGTERM);
                sendSignal(process.identity, SIGCONT);
            }
        }
    }

    /// What must not be left, but for the supervisors.
    std::vector<ProcessFacts> living() const {
        std::vector<ProcessFacts> found = processesOfRun(m_request.run);
        for (const ProcessState& state : m_states)
            addLiving(found, state.process);
        return found;
    }

    std::vector<ProcessFacts> supervisors() const {
        std::vector<ProcessFacts> found;
        for (const ProcessState& state : m_states)
            addLiving(found, state.supervisor);
        return found;
    }

    static void addLiving(std::vector<ProcessFacts>& found, const Identity& identity) {
        const bool isKnown = std::any_of(found.begin(), found.end(), [&](const ProcessFacts& f) {
            return f.identity == identity;
        });
        if (!isKnown && isAlive(identity))
            if (auto facts = processFacts(identity.pid))
                found.push_back(std::move(*facts));
    }

    bool killLiving() {
        for (const ProcessState& state : m_states)
            sendSignalToGroup(state.process, SIGKILL);
        const auto found = living();
        for (const ProcessFacts& process : found)
            kill(process);
        return !found.empty();
    }

    void kill(const ProcessFacts& process) {
        const ProcessName name{process.identity.pid, process.name};
        const bool isNew =
            std::find(m_reply.killed.begin(), m_reply.killed.end(), name) == m_reply.killed.end();
        if (sendSignal(process.identity, SIGKILL) && isNew)
            m_reply.killed.push_back(name);
    }

    template <class Condition>
    static void waitUntil(steady_clock::duration time, Condition isDone) {
        const auto deadline = steady_clock::now() + time;
        while (!isDone() && steady_clock::now() < deadline) {
            const timespec moment{0, 50'000'000};
            ::nanosleep(&moment, nullptr);
        }
    }

    const StopRequest& m_request;
    std::vector<ProcessState> m_states;
    StopReply m_reply;
};

} // namespace

StopReply stop(const StopRequest& request) {
    return Stopper(request).run();
}

} // namespace lockstep::agent
