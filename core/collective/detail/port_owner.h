// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Which process of this host listens on a port, as far as /proc shows it to us.

#include <cstdint>
#include <string>

namespace lockstep::collective::detail {

/// "pid 4711 (alice): python3 -m http.server 2222", "a process of user bob" where only the user can
/// be seen, or empty.
std::string portOwner(std::uint16_t port);
std::string userNameOf(unsigned uid);

} // namespace lockstep::collective::detail
