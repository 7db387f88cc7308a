// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// What all kinds of documents share when they are opened and saved.

#include "core/document/documents.h"
#include "core/document/format.h"

namespace lockstep::document::detail {

/// What was opened, as the origin. A migrated document counts as it was before the migration, so
/// that it is modified until it is saved.
Result<Origin> originOf(std::string_view text, const std::string& path, const Opened& opened,
                        const Format& format);

/// Writes `document` and makes it the origin; its lines are then those of the file.
Status save(Origin& origin, json::Value& document, const std::string& path, const Format& format);

} // namespace lockstep::document::detail
