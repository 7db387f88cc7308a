// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/agent/assemble.h"
#include "core/agent/detail/lines.h"

#include <algorithm>

namespace lockstep::agent {

namespace {

using detail::Fields;
using json::Value;

constexpr const char* kKinds[] = {"file", "folder", "link"};

bool isHash(const std::string& text) {
    return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
               return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
           });
}

Value fromEntry(const FolderEntry& entry) {
    Value value = Value::object(
        {{"kind", kKinds[static_cast<std::size_t>(entry.kind)]}, {"path", entry.path}});
    if (entry.kind == FolderEntry::Kind::Link)
        value.set("target", entry.target);
    if (entry.kind != FolderEntry::Kind::File)
        return value;
    value.set("sha256", entry.sha256);
    value.set("size", entry.size);
    if (entry.isProgram)
        value.set("program", 1);
    return value;
}

FolderEntry entryFrom(Fields& fields) {
    FolderEntry entry;
    entry.kind = static_cast<FolderEntry::Kind>(fields.choice("kind", kKinds));
    entry.path = fields.string("path");
    if (!isInside(entry.path))
        fields.fail("path", "a path inside the folder, without \"..\"");
    if (entry.kind == FolderEntry::Kind::Link) {
        entry.target = fields.string("target");
        if (!isLinkInside(entry.path, entry.target))
            fields.fail("target", "a relative path that stays inside the folder");
    }
    if (entry.kind != FolderEntry::Kind::File)
        return entry;
    entry.sha256 = fields.string("sha256");
    if (!isHash(entry.sha256))
        fields.fail("sha256", "64 hex digits");
    entry.size = fields.integer("size");
    entry.isProgram = fields.has("program");
    return entry;
}

} // namespace

std::string encode(const AssembleRequest& request) {
    Value entries = Value::array();
    for (const FolderEntry& entry : request.entries)
        entries.append(fromEntry(entry));
    return detail::line(Value::object(
        {{"store", request.store}, {"target", request.target}, {"entries", std::move(entries)}}));
}

std::string encode(const AssembleReply& reply) {
    return detail::line(Value::object(
        {{"ok", true},
         {"missing", Value(json::Array(reply.missing.begin(), reply.missing.end()))}}));
}

Result<AssembleRequest> decodeAssembleRequest(std::string_view line) {
    return detail::decodeRequest<AssembleRequest>(line, [](Fields& fields) {
        AssembleRequest request;
        request.store = fields.absolutePath("store");
        request.target = fields.absolutePath("target");
        for (Fields& entry : fields.objects("entries"))
            request.entries.push_back(entryFrom(entry));
        return request;
    });
}

Result<AssembleReply> decodeAssembleReply(std::string_view line) {
    return detail::decodeReply<AssembleReply>(
        line, [](Fields& fields) { return AssembleReply{fields.strings("missing")}; });
}

} // namespace lockstep::agent
