// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Whether this build carries a sanitizer: everything is slower then, and the helper for hosts is
// not static, so that it runs beside this machine's libraries alone.

namespace lockstep::support {

#if defined(__SANITIZE_ADDRESS__) || defined(LOCKSTEP_TSAN)
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif

} // namespace lockstep::support
