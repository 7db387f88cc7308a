// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/result.h"

#include <array>

namespace lockstep {

namespace {

constexpr std::array<std::pair<Code, const char*>, 16> kCodeNames{{
    {Code::InvalidArgument, "invalid_argument"},
    {Code::NotFound, "not_found"},
    {Code::AlreadyExists, "already_exists"},
    {Code::Unauthenticated, "unauthenticated"},
    {Code::HostKeyChanged, "host_key_changed"},
    {Code::HostKeyUnknown, "host_key_unknown"},
    {Code::Unreachable, "unreachable"},
    {Code::TimedOut, "timed_out"},
    {Code::PeerLost, "peer_lost"},
    {Code::Cancelled, "cancelled"},
    {Code::Corrupt, "corrupt"},
    {Code::NewerFormat, "newer_format"},
    {Code::Unsupported, "unsupported"},
    {Code::OutOfMemory, "out_of_memory"},
    {Code::PermissionDenied, "permission_denied"},
    {Code::Internal, "internal"},
}};

} // namespace

const char* codeName(Code code) {
    for (const auto& [candidate, name] : kCodeNames)
        if (candidate == code)
            return name;
    return "internal";
}

Code codeFromName(const std::string& name) {
    for (const auto& [code, candidate] : kCodeNames)
        if (name == candidate)
            return code;
    return Code::Internal;
}

std::string describe(const Error& error) {
    return error.where.empty() ? error.message : error.where + ": " + error.message;
}

} // namespace lockstep
