// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The group of one attempt over TCP, made by join().

#include "core/collective/join.h"

#include <memory>

namespace lockstep::collective::detail {

struct Joined;

std::unique_ptr<Group> makeRingGroup(const JoinOptions& options, Joined joined);
/// A group of one: every sum is its own operand.
std::unique_ptr<Group> makeSoloGroup(const Member& member);

} // namespace lockstep::collective::detail
