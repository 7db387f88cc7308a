// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// What the control side and lockstep-helper say to each other over one pair of pipes: frames, each
// of a request that the control side numbers. Many requests are under way at a time. Plain data: no
// thread rules.
//
// A frame is 9 bytes and a payload: its size (32 bit, little endian), the kind, the request's
// number (32 bit, little endian). Payloads are JSON objects unless said otherwise; paths in them
// are data, no shell reads them.

#include "core/base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep::helper {

inline constexpr int kVersion = 1;
inline constexpr std::size_t kLargestPayload = 4u << 20;
inline constexpr std::size_t kPiece = 256u << 10; ///< of streamed bytes

/// The control side says something that often, and the helper ends after so much silence.
inline constexpr int kPingSeconds = 5;
inline constexpr int kSilenceSeconds = 90;

enum class Kind : std::uint8_t {
    // To the helper
    Run = 1,        ///< {"program","args":[…],"env":{…},"cwd"}: → Output, ErrorOutput, Exited
    Input = 2,      ///< bytes: standard input of Run, contents of Put and Unpack
    InputEnd = 3,   ///< no more Input
    Cancel = 4,     ///< ends the request without an answer; nothing of it is left
    MakeFolder = 5, ///< {"path","mode"}: → Done
    Info = 6,       ///< {"path"}: → Done {"kind":"none|file|folder|other","size","mode"}
    Put = 7,        ///< {"path","mode"}, then Input: → Done once the file has its name
    Fetch = 8,      ///< {"path"}: → Size, Output…, Done
    Place = 9,      ///< {"base"}: → Done, the agent's place reply
    /// {"folder","hash","packed","size"}: → Done where it is there; else Offset, then Input: → Done
    Unpack = 10,
    Remove = 11, ///< {"path"}: a folder below "…/runs/" and all in it: → Done
    Ping = 12,   ///< request 0: → Pong; so each side knows that the other is there

    // From the helper
    Hello = 64,       ///< request 0: {"version","hash"}
    Output = 65,      ///< bytes
    ErrorOutput = 66, ///< bytes
    Exited = 67,      ///< {"exit_code"} or {"signal"}: last answer to Run
    Done = 68,        ///< last answer
    Failed = 69,      ///< {"code","message","where"}: last answer
    Size = 70,        ///< {"size"}
    Offset = 71,      ///< {"offset"}: bytes that are there already of the packed file
    Pong = 72,
};

struct Frame {
    Kind kind{};
    std::uint32_t request = 0;
    std::string payload;
};

/// Appends the bytes of a frame to `out`.
void append(std::string& out, Kind kind, std::uint32_t request, std::string_view payload);

/// Cuts a stream of bytes into frames.
class FrameReader {
public:
    void add(std::string_view bytes) { m_bytes.append(bytes); }
    /// The next whole frame, nothing yet, or Corrupt where the bytes are no frames.
    Result<std::optional<Frame>> next();

private:
    std::string m_bytes;
    std::size_t m_at = 0;
};

/// The payload of Failed, and back.
std::string encodeError(const Error& error);
Error decodeError(std::string_view payload);

} // namespace lockstep::helper
