// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// One rank as a process of its own, for the tests that kill, freeze or cut it off.
// peer RANK HOST:PORT,HOST:PORT,… [attempt=N] [steps=N] [hold=MS] [join=MS] [pause=MS]
// It prints one line per happening and ends with 0 after the exit barrier, 1 after a failure.
#include "core/base/failure.h"
#include "core/collective/join.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

using namespace lockstep;
using namespace lockstep::collective;

namespace {

std::vector<Member> parseMembers(const std::string& list) {
    std::vector<Member> members;
    std::istringstream entries(list);
    for (std::string entry; std::getline(entries, entry, ',');) {
        const auto colon = entry.rfind(':');
        members.push_back(Member{"worker:" + std::to_string(members.size()), entry.substr(0, colon),
                                 static_cast<std::uint16_t>(std::stoi(entry.substr(colon + 1)))});
    }
    return members;
}

void say(const std::string& line) {
    std::puts(line.c_str());
    std::fflush(stdout);
}

void train(Group& group, int steps, std::chrono::milliseconds pause) {
    std::vector<float> values(20'000);
    for (int step = 1; steps == 0 || step <= steps; ++step) {
        std::fill(values.begin(), values.end(), 1.0f);
        group.allReduceSum(std::span(values)).wait();
        if (values.back() != static_cast<float>(group.size()))
            throw Failure(Code::Internal, "wrong sum");
        if (step <= 3 || step % 100 == 0)
            say("step " + std::to_string(step));
        std::this_thread::sleep_for(pause); // the computing between two sums
    }
}

} // namespace

int main(int argc, char** argv) {
    if (argc < 3)
        return 2;
    std::map<std::string, int> given{
        {"attempt", 1}, {"steps", 0}, {"hold", 0}, {"join", 20'000}, {"pause", 2}};
    for (int i = 3; i < argc; ++i) {
        const std::string word = argv[i];
        given[word.substr(0, word.find('='))] = std::stoi(word.substr(word.find('=') + 1));
    }
    using Ms = std::chrono::milliseconds;
    JoinOptions options;
    options.rank = std::atoi(argv[1]);
    options.members = parseMembers(argv[2]);
    options.runId = "20260131T081403Z-test";
    options.attempt = given["attempt"];
    options.clusterHash = "c1";
    options.joinTimeout = Ms(given["join"]);
    options.onWaiting = [](const std::vector<Missing>& missing, double) {
        for (const Missing& entry : missing)
            say("waiting " + entry.task + " " + entry.reason);
    };
    std::unique_ptr<Group> group;
    int status = 0;
    try {
        group = join(options);
        say("joined");
        train(*group, given["steps"], Ms(given["pause"]));
        std::this_thread::sleep_for(Ms(given["hold"])); // work that only this rank has
        group->leave();
        say("left");
    } catch (const Failure& failure) {
        say("error " + describe(failure.error()));
        status = 1;
    }
    if (group)
        if (const auto verdict = group->verdict())
            say(std::string("verdict ") + kindName(verdict->kind) + " " + verdict->task + " by " +
                std::to_string(verdict->foundBy));
    return status;
}
