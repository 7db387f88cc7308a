// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Requests and replies as lines of JSON.

#include "core/agent/detail/fields.h"

#include <string>
#include <string_view>
#include <utility>

namespace lockstep::agent::detail {

std::string line(const json::Value& value);
/// A reply, or the Error that it carries.
Result<json::Value> parseReply(std::string_view text);

template <class Reply, class Decode>
Result<Reply> decodeReply(std::string_view text, Decode decode) {
    auto value = parseReply(text);
    if (!value)
        return std::move(value).error();
    Fields fields(*value, "reply of the agent", Code::Corrupt);
    Reply reply = decode(fields);
    LOCKSTEP_TRY(fields.status());
    return reply;
}

template <class Request, class Decode>
Result<Request> decodeRequest(std::string_view text, Decode decode) {
    auto value = json::parse(text, "request");
    if (!value)
        return std::move(value).error();
    Fields fields(*value, "request", Code::InvalidArgument);
    Request request = decode(fields);
    LOCKSTEP_TRY(fields.status());
    return request;
}

} // namespace lockstep::agent::detail
