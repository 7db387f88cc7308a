// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/collective/join.h"

#include "core/base/failure.h"
#include "core/collective/detail/rendezvous.h"
#include "core/collective/detail/ring_group.h"

namespace lockstep::collective {

namespace {

void checkOptions(const JoinOptions& options) {
    const auto refuse = [](const std::string& message) {
        throw Failure(Code::InvalidArgument, "[join] " + message);
    };
    const auto size = static_cast<int>(options.members.size());
    if (size < 1 || size > 0xffff)
        refuse("a group has 1 to 65535 members, got " + std::to_string(size));
    if (options.rank < 0 || options.rank >= size)
        refuse("rank " + std::to_string(options.rank) + " is not below the " +
               std::to_string(size) + " members");
    for (const Member& member : options.members)
        if (size > 1 && (member.port == 0 || member.host.empty()))
            refuse(member.task + " has no address");
    for (const auto& [name, time] :
         {std::pair{"join_timeout_seconds", options.joinTimeout},
          std::pair{"heartbeat_timeout_seconds", options.heartbeatTimeout},
          std::pair{"timeout_seconds", options.collectiveTimeout}})
        if (time.count() <= 0)
            refuse(std::string(name) + " must be above 0");
}

} // namespace

std::unique_ptr<Group> join(const JoinOptions& options) {
    checkOptions(options);
    if (options.members.size() == 1)
        return detail::makeSoloGroup(options.members.front());
    return detail::makeRingGroup(options, detail::Rendezvous(options).run());
}

} // namespace lockstep::collective
