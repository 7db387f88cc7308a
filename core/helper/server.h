// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The helper's end: serves requests until its input ends, then ends every program that a request
// started (what `supervise` detached lives on). One thread, one poll loop.

#include <string>

namespace lockstep::helper {

/// `hash` is the helper's own, said in Hello. Returns the exit code: 0 when the input ended.
int serve(int input, int output, const std::string& hash);

} // namespace lockstep::helper
