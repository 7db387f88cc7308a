// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// lockstep-lab-relay OUTER INNER MICROSECONDS PIDFILE: makes two TAP devices in its network
// namespace and hands every frame that enters one to the other after a fixed time, in order; for
// kernels without netem. Frames keep their virtio header, so that offloaded segments pass whole.
// The pid is written once both devices are there.

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

/// A link holds no more than this; what comes on top is dropped, as a full router does.
constexpr std::size_t kMostBytes = 256U << 20U;

struct Frame {
    Clock::time_point due;
    std::vector<char> bytes;
};

struct Direction {
    int from = -1;
    int to = -1;
    std::deque<Frame> waiting;
    std::size_t bytes = 0;
};

int openTap(const char* name) {
    const int descriptor = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    ifreq request{};
    request.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR;
    std::strncpy(request.ifr_name, name, IFNAMSIZ - 1);
    if (descriptor < 0 || ioctl(descriptor, TUNSETIFF, &request) < 0 ||
        ioctl(descriptor, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6) < 0) {
        std::fprintf(stderr, "relay: %s: %s\n", name, std::strerror(errno));
        std::exit(1);
    }
    return descriptor;
}

void take(Direction& direction, std::chrono::microseconds delay) {
    static std::array<char, 1U << 17U> buffer;
    for (;;) {
        const ssize_t size = read(direction.from, buffer.data(), buffer.size());
        if (size <= 0)
            return;
        const auto length = static_cast<std::size_t>(size);
        if (direction.bytes + length > kMostBytes)
            continue;
        direction.bytes += length;
        direction.waiting.push_back({Clock::now() + delay, {buffer.data(), buffer.data() + size}});
    }
}

void give(Direction& direction) {
    const auto now = Clock::now();
    while (!direction.waiting.empty() && direction.waiting.front().due <= now) {
        const Frame& frame = direction.waiting.front();
        // A device that is down refuses it: then the frame is lost, as on a wire.
        [[maybe_unused]] const ssize_t written =
            write(direction.to, frame.bytes.data(), frame.bytes.size());
        direction.bytes -= frame.bytes.size();
        direction.waiting.pop_front();
    }
}

void relay(std::array<Direction, 2>& directions, std::chrono::microseconds delay) {
    for (;;) {
        timespec wait{.tv_sec = 3600, .tv_nsec = 0};
        for (const Direction& direction : directions) {
            if (direction.waiting.empty())
                continue;
            const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(
                                  direction.waiting.front().due - Clock::now())
                                  .count();
            const long bounded = left < 0 ? 0 : left;
            if (wait.tv_sec * 1'000'000'000L + wait.tv_nsec > bounded)
                wait = {.tv_sec = bounded / 1'000'000'000L, .tv_nsec = bounded % 1'000'000'000L};
        }
        std::array<pollfd, 2> polled{pollfd{directions[0].from, POLLIN, 0},
                                     pollfd{directions[1].from, POLLIN, 0}};
        if (ppoll(polled.data(), polled.size(), &wait, nullptr) < 0 && errno != EINTR)
            std::exit(1);
        for (Direction& direction : directions) {
            take(direction, delay);
            give(direction);
        }
    }
}

} // namespace

int main(int count, char** arguments) {
    if (count != 5) {
        std::fprintf(stderr, "lockstep-lab-relay OUTER INNER MICROSECONDS PIDFILE\n");
        return 2;
    }
    const int outer = openTap(arguments[1]);
    const int inner = openTap(arguments[2]);
    const std::chrono::microseconds delay(std::strtol(arguments[3], nullptr, 10));
    const std::string partial = std::string(arguments[4]) + ".part";
    if (FILE* file = std::fopen(partial.c_str(), "w")) {
        std::fprintf(file, "%d\n", static_cast<int>(getpid()));
        std::fclose(file);
    }
    if (std::rename(partial.c_str(), arguments[4]) != 0)
        return 1;
    std::array<Direction, 2> directions;
    directions[0].from = directions[1].to = outer;
    directions[0].to = directions[1].from = inner;
    relay(directions, delay);
}
