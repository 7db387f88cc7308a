// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/agent/follow.h"

#include "core/agent/detail/descriptor.h"
#include "core/agent/process.h"
#include "core/base/clock.h"
#include "core/base/files.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <optional>

namespace lockstep::agent {

namespace {

using detail::Descriptor;
using std::chrono::steady_clock;

constexpr auto kLookEvery = std::chrono::milliseconds(40);
constexpr auto kHeartbeatEvery = std::chrono::seconds(1);
constexpr auto kLivenessEvery = std::chrono::milliseconds(250);

struct FollowedFile {
    std::string name;
    std::int64_t offset = 0;
    Descriptor handle;
};

class Follower {
public:
    Follower(const FollowRequest& request, int input, int output)
        : m_request(request)
        , m_input(input)
        , m_output(output)
        , m_buffer(static_cast<std::size_t>(request.chunkBytes), '\0') {
        for (const auto& [name, offset] : request.offsets)
            m_files.push_back({name, offset, {}});
    }

    Status run() {
        while (m_isListening) {
            // The state first: once it says that the process is over, the files grow no more, and
            // a pass that finds nothing has delivered them all.
            LOCKSTEP_TRY(lookAtState());
            const bool isOver = m_state && m_state->phase != Phase::Running;
            bool moved = false;
            for (FollowedFile& file : m_files) {
                auto sent = sendChunk(file);
                if (!sent)
                    return sent.error();
                moved = moved || *sent;
            }
            if (isOver && !moved) {
                send(End{});
                return {};
            }
            if (steady_clock::now() - m_lastHeartbeat >= kHeartbeatEvery) {
                m_lastHeartbeat = steady_clock::now();
                send(Heartbeat{Clock::system().utcSeconds()});
            }
            waitForInput(moved ? std::chrono::milliseconds(0) : kLookEvery);
        }
        return {};
    }

private:
    void send(const FollowItem& item) {
        m_isListening = m_isListening && detail::writeAll(m_output, encode(item));
    }

    /// True where bytes were sent, so that there may be more.
    Result<bool> sendChunk(FollowedFile& file) {
        const std::string path = m_request.runDir + '/' + file.name;
        if (!file.handle.isOpen()) {
            file.handle = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
            if (!file.handle.isOpen() && errno == ENOENT)
                return false;
            if (!file.handle.isOpen())
                return files::fromErrno(errno, "open", path);
        }
        ssize_t got = 0;
        do {
            got = ::pread(file.handle.get(), m_buffer.data(), m_buffer.size(), file.offset);
        } while (got < 0 && errno == EINTR);
        if (got < 0)
            return files::fromErrno(errno, "read", path);
        if (got == 0) {
            struct stat info {};
            if (::fstat(file.handle.get(), &info) == 0 && info.st_size < file.offset)
                return Error{Code::Corrupt,
                             "This file has " + std::to_string(info.st_size) + " bytes, but " +
                                 std::to_string(file.offset) +
                                 " were delivered before: it was cut or replaced.",
                             path};
            return false;
        }
        send(FileBytes{file.name, file.offset, m_buffer.substr(0, static_cast<std::size_t>(got))});
        file.offset += got;
        return m_isListening;
    }

    /// Sends the state where it changed, and Lost where nobody is left to change it.
    Status lookAtState() {
        LOCKSTEP_TRY(readState());
        if (!m_state || m_state->phase != Phase::Running ||
            steady_clock::now() - m_lastLiveness < kLivenessEvery)
            return {};
        m_lastLiveness = steady_clock::now();
        const bool sameBoot = m_state->bootId == bootId();
        if (sameBoot && (isAlive(m_state->process) || isAlive(m_state->supervisor)))
            return {};
        // Both are gone: the record may have been written just before, so read once more.
        LOCKSTEP_TRY(readState());
        if (m_state->phase != Phase::Running)
            return {};
        m_state->phase = Phase::Lost;
        m_state->problem = sameBoot ? "lost: the process and its supervisor are gone and left no "
                                      "exit record; they were killed from outside"
                                    : kMachineRestarted;
        send(*m_state);
        return {};
    }

    Status readState() {
        const std::string path = m_request.runDir + '/' + kStateFile;
        struct stat info {};
        if ((m_state && m_state->phase != Phase::Running) || ::stat(path.c_str(), &info) != 0 ||
            (info.st_ino == m_seen.st_ino && info.st_size == m_seen.st_size &&
             info.st_mtim.tv_sec == m_seen.st_mtim.tv_sec &&
             info.st_mtim.tv_nsec == m_seen.st_mtim.tv_nsec))
            return {};
        auto text = files::read(path, 1 << 20);
        if (!text)
            return text.error();
        auto state = decodeFile(*text, path);
        if (!state)
            return state.error();
        m_seen = info;
        if (m_state != *state) {
            m_state = std::move(state).value();
            send(*m_state);
        }
        return {};
    }

    void waitForInput(std::chrono::milliseconds time) {
        pollfd waiting[] = {{m_input, POLLIN, 0}, {m_output, 0, 0}};
        if (::poll(waiting, 2, static_cast<int>(time.count())) <= 0)
            return;
        char ignored[4096];
        if (waiting[0].revents != 0 && ::read(m_input, ignored, sizeof ignored) <= 0)
            m_isListening = false;
        if ((waiting[1].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0)
            m_isListening = false;
    }

    const FollowRequest& m_request;
    int m_input;
    int m_output;
    std::string m_buffer;
    std::vector<FollowedFile> m_files;
    std::optional<ProcessState> m_state;
    struct stat m_seen {};
    steady_clock::time_point m_lastHeartbeat = steady_clock::now();
    steady_clock::time_point m_lastLiveness;
    bool m_isListening = true;
};

} // namespace

Status follow(const FollowRequest& request, int input, int output) {
    return Follower(request, input, output).run();
}

} // namespace lockstep::agent
