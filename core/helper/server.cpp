// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/helper/server.h"

#include "core/agent/place.h"
#include "core/base/files.h"
#include "core/helper/detail/task.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>

namespace lockstep::helper {

namespace detail {

void Reply::done(const json::Value& value) const {
    send(Kind::Done, json::dump(value));
}

void Reply::failed(const Error& error) const {
    send(Kind::Failed, encodeError(error));
}

std::string& scratch() {
    static std::string piece(kPiece, '\0');
    return piece;
}

std::string textAt(const json::Value& value, std::string_view key) {
    const json::Value* member = value.find(key);
    return member && member->isString() ? member->toString() : std::string();
}

std::int64_t numberAt(const json::Value& value, std::string_view key) {
    const json::Value* member = value.find(key);
    return member && member->isInteger() ? member->toInteger() : 0;
}

} // namespace detail

namespace {

using detail::numberAt;
using detail::Reply;
using detail::Task;
using detail::textAt;

using Clock = std::chrono::steady_clock;

constexpr std::size_t kOutputLimit = 4u << 20; ///< of bytes for the control side
constexpr int kTickMilliseconds = 10'000;
constexpr int kExitMilliseconds = 100;

void makeFolder(const json::Value& request, const Reply& reply) {
    const Status made = files::makeFolders(textAt(request, "path"),
                                           static_cast<unsigned>(numberAt(request, "mode")));
    made ? reply.done() : reply.failed(made.error());
}

void info(const json::Value& request, const Reply& reply) {
    const std::string path = textAt(request, "path");
    struct stat facts {};
    if (::stat(path.c_str(), &facts) != 0) {
        if (errno != ENOENT && errno != ENOTDIR)
            return reply.failed(files::fromErrno(errno, "look at", path));
        return reply.done(json::Value::object({{"kind", "none"}}));
    }
    const char* kind = S_ISREG(facts.st_mode)   ? "file"
                       : S_ISDIR(facts.st_mode) ? "folder"
                                                : "other";
    reply.done(json::Value::object({{"kind", kind},
                                    {"size", static_cast<std::int64_t>(facts.st_size)},
                                    {"mode", static_cast<std::int64_t>(facts.st_mode & 07777)}}));
}

void place(const json::Value& request, const Reply& reply) {
    const agent::Environment environment = [](const std::string& name) {
        const char* value = ::getenv(name.c_str());
        return value ? std::optional<std::string>(value) : std::nullopt;
    };
    const auto placed = agent::place({textAt(request, "base")}, environment);
    if (!placed)
        return reply.failed(placed.error());
    reply.send(Kind::Done, agent::encode(*placed));
}

void remove(const json::Value& request, const Reply& reply) {
    const std::string path = textAt(request, "path");
    if (path.find("/runs/") == std::string::npos || path.find("/..") != std::string::npos)
        return reply.failed({Code::InvalidArgument, "Only folders of runs are removed.", path});
    std::error_code error;
    std::filesystem::remove_all(path, error);
    error ? reply.failed(files::fromErrno(error.value(), "remove", path)) : reply.done();
}

class Server {
public:
    Server(int input, int output)
        : m_input(input)
        , m_output(output) {
        ::fcntl(m_input, F_SETFL, ::fcntl(m_input, F_GETFL) | O_NONBLOCK);
        ::fcntl(m_output, F_SETFL, ::fcntl(m_output, F_GETFL) | O_NONBLOCK);
    }

    int run(const std::string& hash) {
        append(m_out, Kind::Hello, 0,
               json::dump(json::Value::object({{"version", kVersion}, {"hash", hash}})));
        while (turn()) {
        }
        return m_exitCode;
    }

private:
    bool turn() {
        std::vector<pollfd> wanted{{m_input, POLLIN, 0}};
        if (waiting() > 0)
            wanted.push_back({m_output, POLLOUT, 0});
        bool isBusy = false;
        for (const auto& [id, task] : m_tasks) {
            task->want(wanted, mayOutput());
            isBusy = isBusy || task->isBusy();
        }
        // The limit is for kernels without pidfd_open, where an exit wakes nobody.
        const int limit = isBusy ? 0 : m_tasks.empty() ? kTickMilliseconds : kExitMilliseconds;
        if (::poll(wanted.data(), wanted.size(), limit) < 0 && errno != EINTR)
            return false;
        if (wanted[0].revents != 0 && !receive())
            return false;
        if (Clock::now() - m_heard > std::chrono::seconds(kSilenceSeconds))
            return false; // the control side is gone, and the network did not say so
        for (auto at = m_tasks.begin(); at != m_tasks.end();)
            at = at->second->advance(mayOutput()) ? m_tasks.erase(at) : std::next(at);
        return flush();
    }

    std::size_t waiting() const { return m_out.size() - m_sent; }
    bool mayOutput() const { return waiting() < kOutputLimit; }

    /// False at the end of the input.
    bool receive() {
        std::string& piece = detail::scratch();
        const ssize_t got = ::read(m_input, piece.data(), piece.size());
        if (got < 0)
            return errno == EAGAIN || errno == EINTR;
        if (got == 0)
            return false;
        m_heard = Clock::now();
        m_reader.add(std::string_view(piece).substr(0, static_cast<std::size_t>(got)));
        for (;;) {
            auto frame = m_reader.next();
            if (!frame) {
                m_exitCode = 2;
                return false;
            }
            if (!*frame)
                return true;
            handle(**frame);
        }
    }

    void handle(const Frame& frame) {
        const auto at = m_tasks.find(frame.request);
        switch (frame.kind) {
        case Kind::Input:
            if (at != m_tasks.end())
                at->second->input(frame.payload);
            return;
        case Kind::InputEnd:
            if (at != m_tasks.end())
                at->second->inputEnd();
            return;
        case Kind::Cancel:
            m_tasks.erase(frame.request);
            return;
        case Kind::Ping:
            append(m_out, Kind::Pong, 0, "");
            return;
        default:
            break;
        }
        const Reply reply{[this, id = frame.request](Kind kind, std::string_view payload) {
            append(m_out, kind, id, payload);
        }};
        const auto request = json::parse(frame.payload, "request");
        if (!request || !request->isObject())
            return reply.failed({Code::InvalidArgument, "The request is no JSON object.", {}});
        begin(frame, *request, reply);
    }

    void begin(const Frame& frame, const json::Value& request, const Reply& reply) {
        std::unique_ptr<Task> task;
        switch (frame.kind) {
        case Kind::Run:
            task = detail::startProgram(request, reply);
            break;
        case Kind::Put:
            task = detail::startPut(request, reply);
            break;
        case Kind::Fetch:
            task = detail::startFetch(request, reply);
            break;
        case Kind::Unpack:
            task = detail::startUnpack(request, reply);
            break;
        case Kind::MakeFolder:
            return makeFolder(request, reply);
        case Kind::Info:
            return info(request, reply);
        case Kind::Place:
            return place(request, reply);
        case Kind::Remove:
            return remove(request, reply);
        default:
            return reply.failed({Code::Unsupported, "This helper knows no such request.", {}});
        }
        if (task)
            m_tasks[frame.request] = std::move(task);
    }

    /// False when nobody reads any more.
    bool flush() {
        while (waiting() > 0) {
            const ssize_t put = ::write(m_output, m_out.data() + m_sent, waiting());
            if (put < 0 && errno == EINTR)
                continue;
            if (put < 0 && errno != EAGAIN)
                return false;
            if (put < 0)
                break;
            m_sent += static_cast<std::size_t>(put);
        }
        if (waiting() == 0 || m_sent > kOutputLimit) {
            m_out.erase(0, m_sent);
            m_sent = 0;
        }
        return true;
    }

    int m_input;
    int m_output;
    int m_exitCode = 0;
    FrameReader m_reader;
    Clock::time_point m_heard = Clock::now();
    std::string m_out;
    std::size_t m_sent = 0; ///< bytes of m_out
    std::map<std::uint32_t, std::unique_ptr<Task>> m_tasks;
};

} // namespace

int serve(int input, int output, const std::string& hash) {
    ::signal(SIGPIPE, SIG_IGN);
    return Server(input, output).run(hash);
}

} // namespace lockstep::helper
