// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// The agent commands: one JSON request line in, JSON lines out.
#include "app/worker/commands.h"
#include "core/agent/assemble.h"
#include "core/agent/follow.h"
#include "core/agent/place.h"
#include "core/agent/probe.h"
#include "core/agent/probe_protocol.h"
#include "core/agent/protocol.h"
#include "core/agent/reach.h"
#include "core/agent/stop.h"
#include "core/agent/supervise.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace lockstep::worker {

namespace {

constexpr std::size_t kRequestLimit = 16 << 20;
constexpr int kRequestDeadlineMs = 30'000; ///< of silence

int reply(const std::string& line, int exitCode) {
    std::fwrite(line.data(), 1, line.size(), stdout);
    return std::fflush(stdout) == 0 ? exitCode : 1;
}

Result<std::string> readRequest() {
    std::string text;
    for (;;) {
        if (const std::size_t end = text.find('\n'); end != std::string::npos)
            return text.substr(0, end);
        if (text.size() > kRequestLimit)
            return Error{Code::InvalidArgument, "The request is longer than 16 MiB.", "request"};
        pollfd waiting{STDIN_FILENO, POLLIN, 0};
        const int ready = ::poll(&waiting, 1, kRequestDeadlineMs);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready == 0)
            return Error{Code::TimedOut, "No request came on standard input for 30 s.", "request"};
        char block[1 << 16];
        const ssize_t got = ::read(STDIN_FILENO, block, sizeof block);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0 && text.empty())
            return Error{Code::InvalidArgument,
                         "Standard input is empty; expected one line of JSON.", "request"};
        if (got <= 0)
            return text;
        text.append(block, static_cast<std::size_t>(got));
    }
}

/// Reads the request, runs `serve` on it, and says on standard output why it was refused.
template <class Decode, class Serve>
int answer(const char* name, const Arguments& arguments, Decode decode, Serve serve) {
    if (!arguments.empty())
        return usageError(std::string(name) + " takes no arguments; its request is read from "
                                              "standard input");
    const auto line = readRequest();
    if (!line)
        return reply(agent::encode(line.error()), 2);
    const auto request = decode(*line);
    if (!request)
        return reply(agent::encode(request.error()), 2);
    return serve(*request);
}

} // namespace

int supervise(const Arguments& arguments) {
    return answer("supervise", arguments, agent::decodeSuperviseRequest,
                  [](const agent::SuperviseRequest& request) {
                      const auto started = agent::supervise(request);
                      return started ? reply(agent::encode(*started), 0)
                                     : reply(agent::encode(started.error()), 1);
                  });
}

int follow(const Arguments& arguments) {
    return answer("follow", arguments, agent::decodeFollowRequest,
                  [](const agent::FollowRequest& request) {
                      const auto followed = agent::follow(request, STDIN_FILENO, STDOUT_FILENO);
                      return followed ? 0 : reply(agent::encode(followed.error()), 1);
                  });
}

int stop(const Arguments& arguments) {
    return answer("stop", arguments, agent::decodeStopRequest,
                  [](const agent::StopRequest& request) {
                      const agent::StopReply stopped = agent::stop(request);
                      return reply(agent::encode(stopped), stopped.ok() ? 0 : 1);
                  });
}

int place(const Arguments& arguments) {
    return answer("place", arguments, agent::decodePlaceRequest,
                  [](const agent::PlaceRequest& request) {
                      const auto placed = agent::place(request, agent::processEnvironment());
                      return placed ? reply(agent::encode(*placed), 0)
                                    : reply(agent::encode(placed.error()), 1);
                  });
}

int assemble(const Arguments& arguments) {
    return answer("assemble", arguments, agent::decodeAssembleRequest,
                  [](const agent::AssembleRequest& request) {
                      const auto made = agent::assemble(request);
                      return made ? reply(agent::encode(*made), 0)
                                  : reply(agent::encode(made.error()), 1);
                  });
}

int probe(const Arguments& arguments) {
    return answer("probe", arguments, agent::decodeProbeRequest,
                  [](const agent::ProbeRequest& request) {
                      return reply(agent::encode(agent::probe(request)), 0);
                  });
}

int listen(const Arguments& arguments) {
    return answer("listen", arguments, agent::decodeListenRequest,
                  [](const agent::ListenRequest& request) {
                      agent::listen(request, STDIN_FILENO, STDOUT_FILENO);
                      return 0;
                  });
}

int dial(const Arguments& arguments) {
    return answer(
        "dial", arguments, agent::decodeDialRequest, [](const agent::DialRequest& request) {
            agent::dial(request,
                        [](const agent::DialResult& result) { reply(agent::encode(result), 0); });
            return 0;
        });
}

} // namespace lockstep::worker
