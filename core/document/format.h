// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Files that say their format and version: the header is read first, a newer version is refused by
// name, an older one is brought up to date in single steps.

#include "core/base/json.h"
#include "core/base/result.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::document {

/// One step from a version to the next. `apply` changes the document but for its "version", and
/// adds a sentence to `notes` for whatever a person should know.
struct Migration {
    int from = 1;
    int to = 2; ///< from + 1
    std::function<Status(json::Value& document, std::vector<std::string>& notes)> apply;
};

struct Format {
    std::string name;                  ///< "lockstep-cluster"
    int version = 1;                   ///< the newest that this program reads, and what it writes
    std::vector<Migration> migrations; ///< one per older version that it still reads
};

const Format& clusterFormat();
const Format& jobFormat();

/// A document after its header was accepted.
struct Opened {
    json::Value document; ///< of the format's newest version
    int readVersion = 1;  ///< what the file had
    std::vector<std::string> notes;
};

/// Reads a document of `format`. Errors: InvalidArgument (no JSON; no or another format, which is
/// named), NewerFormat (naming both versions), Unsupported (too old). `where` is the file's name.
Result<Opened> open(std::string_view text, const std::string& where, const Format& format);

} // namespace lockstep::document
