// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Where a task listens and is dialled: host, zone and port. The one reader and printer of
// "host:port" in this project. Nothing here resolves a name or opens a socket.

#include "core/base/result.h"

#include <string>
#include <string_view>
#include <variant>

namespace lockstep::cluster {

struct Address {
    std::string host; ///< name or number as written, without brackets and zone: "n0", "fd00::1"
    std::string zone; ///< interface of an IPv6 address ("eth0"), else empty
    int port = 0;     ///< 1 to 65535; 0 in an Address that was never read

    /// Reads "n0:2222", "10.0.0.1:2222", "[fd00::1]:2222", "[fe80::1%eth0]:2222". A port has no
    /// leading zero; IPv6 needs its brackets.
    static Result<Address> parse(std::string_view text);

    /// What parse() reads, the same bytes again.
    std::string text() const;

    bool isIpv4() const;
    bool isIpv6() const;
    bool isName() const { return !isIpv4() && !isIpv6(); }
    /// 127.0.0.0/8, ::1, localhost and its other spellings: a machine's own address for itself.
    bool isLoopback() const;
    /// 0.0.0.0 or ::, which peers cannot dial.
    bool isWildcard() const;

    /// The same for two spellings of one host: names in lower case without a final dot, IPv6 in its
    /// shortest form, IPv4 mapped into IPv6 as IPv4; a zone is kept.
    std::string hostKey() const;

    bool operator==(const Address&) const = default;
};

/// Why a text is no address, in the parts of a Problem.
struct AddressFault {
    std::string message;
    std::string expected;
    std::string hint;
    std::size_t at = 0; ///< byte offset in the text
    std::string host;   ///< what stood for the host, where that much could be read
};

/// As Address::parse, with the fault in its parts.
std::variant<Address, AddressFault> readAddress(std::string_view text);

/// hostKey() of a bare host or number without port, for comparing what a resolver returns.
std::string hostKeyOf(std::string_view host);

} // namespace lockstep::cluster
