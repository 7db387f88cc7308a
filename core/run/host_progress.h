// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// How far the host of a task is on its way to being ready, before its worker can speak for itself.
// Plain data: no thread rules.

#include "core/remote/host.h"

#include <cstdint>
#include <string>

namespace lockstep::run {

struct HostProgress {
    using Stage = remote::HostStage;

    std::string task;    ///< "worker:1"
    std::string host;    ///< for people
    std::string address; ///< where the worker will listen
    bool isRemote = false;
    Stage stage = Stage::Idle;
    std::int64_t done = 0; ///< bytes of the worker program, while Deploying
    std::int64_t total = 0;

    int percent() const { return total > 0 ? static_cast<int>(100 * done / total) : 0; }
    bool operator==(const HostProgress&) const = default;
};

} // namespace lockstep::run
