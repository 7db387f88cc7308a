// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/document/detail/origin.h"

#include "core/base/files.h"

#include <filesystem>

namespace lockstep::document::detail {

namespace {

/// The file behind a symbolic link, so that saving does not replace the link by a file.
std::string target(const std::string& path) {
    std::error_code error;
    const auto real = std::filesystem::canonical(path, error);
    return error ? path : real.string();
}

/// The permission bits of the file that is replaced; a new one may be read by all.
unsigned modeOf(const std::string& path) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (error || !std::filesystem::exists(status))
        return 0644;
    return static_cast<unsigned>(status.permissions()) & 0777;
}

} // namespace

Status save(Origin& origin, json::Value& document, const std::string& path, const Format& format) {
    const bool isUnchanged =
        origin.version == format.version && !origin.text.empty() && document == origin.document;
    std::string text = isUnchanged ? origin.text : json::dumpPretty(document);
    auto reread = json::parse(text, path);
    if (!reread)
        return reread.error();
    const std::string file = target(path);
    const unsigned mode = modeOf(file);
    if (origin.version < format.version && path == origin.path) {
        const std::string backup = file + ".v" + std::to_string(origin.version);
        std::error_code error;
        if (!std::filesystem::exists(backup, error))
            LOCKSTEP_TRY(files::writeAtomic(backup, origin.text, files::Durability::Synced, mode));
    }
    LOCKSTEP_TRY(files::writeAtomic(file, text, files::Durability::Synced, mode));
    document = std::move(*reread);
    origin = {path, std::move(text), document, format.version, {}};
    return {};
}

Result<Origin> originOf(std::string_view text, const std::string& path, const Opened& opened,
                        const Format& format) {
    Origin origin{path, std::string(text), opened.document, opened.readVersion, opened.notes};
    if (opened.readVersion == format.version)
        return origin;
    auto before = json::parse(text, path);
    if (!before)
        return before.error();
    origin.document = std::move(*before);
    return origin;
}

} // namespace lockstep::document::detail
