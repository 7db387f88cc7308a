// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Whether workers can talk to each other, tried with the real ports before a worker is started.
// listen() answers, dial() asks. Threads: listen() uses its caller's alone; dial() one per peer.

#include "core/agent/probe_protocol.h"

#include <functional>
#include <string>

namespace lockstep::agent {

/// Writes ListenReply lines to `output`, then serves until `input` ends, `output` is closed or the
/// request's time is over. As the engine does, ports are opened at all addresses of the machine.
void listen(const ListenRequest& request, int input, int output);

/// Calls `done` once per peer, from any thread but one at a time, and returns when all were called;
/// at the request's deadline those that are left are TimedOut. Threads that still wait for a name
/// server may live on: end the process soon.
void dial(const DialRequest& request, const std::function<void(const DialResult&)>& done);

} // namespace lockstep::agent
