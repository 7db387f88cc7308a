// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// `assemble`: a folder of the user's, made anew on this host from files that lie in a store by the
// hash of their content. What the store lacks is named in the answer, is sent, and then it is asked
// again; so an unchanged file is sent once, whatever run it belongs to.
// Thread: blocks. Calls for one target may come at once, from two hosts that are one machine.

#include "core/base/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::agent {

/// One entry of the folder, by its path below it.
struct FolderEntry {
    enum class Kind { File, Folder, Link };
    Kind kind = Kind::File;
    std::string path;   ///< "src/train.py": relative, without "." and ".."
    std::string sha256; ///< of a file, hex
    std::int64_t size = 0;
    bool isProgram = false; ///< a file with the x bit
    std::string target;     ///< of a link, relative and inside the folder
    bool operator==(const FolderEntry&) const = default;
};

struct AssembleRequest {
    std::string store;  ///< absolute; a file lies there under its hash
    std::string target; ///< absolute; stays as it is where it exists
    std::vector<FolderEntry> entries;
};
struct AssembleReply {
    std::vector<std::string> missing; ///< hashes that the store lacks; then nothing was made
    bool ok() const { return missing.empty(); }
};

/// Makes the folder, or says what is missing. Each file's bytes are hashed while they are copied; a
/// wrong one is thrown out of the store and is missing. Files that no run used for 30 days leave
/// the store.
Result<AssembleReply> assemble(const AssembleRequest& request);

/// Whether `path` stays inside the folder that it starts in.
bool isInside(std::string_view path);
/// Whether a link at `path` to `target` stays inside the folder.
bool isLinkInside(std::string_view path, std::string_view target);

std::string encode(const AssembleRequest& request);
std::string encode(const AssembleReply& reply);
Result<AssembleRequest> decodeAssembleRequest(std::string_view line);
Result<AssembleReply> decodeAssembleReply(std::string_view line);

} // namespace lockstep::agent
