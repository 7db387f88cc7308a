// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// What the tests of core/collective share: free ports, members on loopback, and N ranks as threads
// of this process that join over real sockets.

#include "core/base/failure.h"
#include "core/collective/join.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace lockstep::collective::test {

using Ms = std::chrono::milliseconds;

/// A socket bound to all interfaces at `port`; -1 where it is taken.
inline int bindPort(std::uint16_t port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int one = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    if (::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0)
        return fd;
    ::close(fd);
    return -1;
}

/// Below the range of ephemeral ports, so that no outgoing connection takes one meanwhile.
inline std::vector<std::uint16_t> freePorts(int count) {
    static std::mt19937 random(static_cast<unsigned>(::getpid()) * 2654435761u);
    std::uniform_int_distribution<int> pick(15000, 31999);
    std::set<std::uint16_t> ports;
    while (static_cast<int>(ports.size()) < count) {
        const auto port = static_cast<std::uint16_t>(pick(random));
        const int fd = bindPort(port);
        if (fd < 0)
            continue;
        ::close(fd);
        ports.insert(port);
    }
    return {ports.begin(), ports.end()};
}

inline std::vector<Member> loopbackMembers(int count) {
    std::vector<Member> members;
    for (const std::uint16_t port : freePorts(count))
        members.push_back(Member{"worker:" + std::to_string(members.size()), "127.0.0.1", port});
    return members;
}

inline JoinOptions optionsFor(int rank, std::vector<Member> members) {
    JoinOptions options;
    options.rank = rank;
    options.members = std::move(members);
    options.runId = "20260131T081403Z-test";
    options.clusterHash = "c1";
    options.secret.fill(7);
    options.joinTimeout = std::chrono::seconds(20);
    options.collectiveTimeout = std::chrono::seconds(20);
    return options;
}

/// What became of one rank.
struct Outcome {
    std::optional<Error> error;
    std::optional<Verdict> verdict;
    double seconds = 0; ///< that it took
};

/// Runs `body` once per entry of `options`, each in a thread: join, body, leave.
inline std::vector<Outcome> runRanks(const std::vector<JoinOptions>& options,
                                     const std::function<void(Group&)>& body) {
    std::vector<Outcome> outcomes(options.size());
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < options.size(); ++i)
        threads.emplace_back([&, i] {
            const auto start = Monotonic::now();
            std::unique_ptr<Group> group;
            try {
                group = join(options[i]);
                body(*group);
                if (!group->verdict())
                    group->leave(std::chrono::seconds(20));
            } catch (const Failure& failure) {
                outcomes[i].error = failure.error();
            }
            if (group)
                outcomes[i].verdict = group->verdict();
            group.reset();
            outcomes[i].seconds = std::chrono::duration<double>(Monotonic::now() - start).count();
        });
    threads.clear();
    return outcomes;
}

inline std::vector<JoinOptions> optionsForAll(int size) {
    std::vector<JoinOptions> all;
    const auto members = loopbackMembers(size);
    for (int rank = 0; rank < size; ++rank)
        all.push_back(optionsFor(rank, members));
    return all;
}

inline std::string firstError(const std::vector<Outcome>& outcomes) {
    for (const Outcome& outcome : outcomes)
        if (outcome.error)
            return describe(*outcome.error);
    return {};
}

} // namespace lockstep::collective::test
