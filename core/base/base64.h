// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Base64 of RFC 4648 (standard alphabet, with padding): bytes inside JSON lines.

#include "core/base/result.h"

#include <string>
#include <string_view>

namespace lockstep {

std::string toBase64(std::string_view bytes);
/// Corrupt where `text` is not exactly what toBase64() gives for some bytes.
Result<std::string> fromBase64(std::string_view text);

} // namespace lockstep
