// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// bootstrap.sh, compiled in (core/remote/CMakeLists.txt).

namespace lockstep::remote::detail {

extern const char* const kBootstrap;

} // namespace lockstep::remote::detail
