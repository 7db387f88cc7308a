// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/cluster/address.h"

#include <arpa/inet.h> // only the reading and printing of numbers

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <optional>
#include <vector>

namespace lockstep::cluster {

namespace {

using Ipv6 = std::array<std::uint8_t, 16>;

bool isDigit(char c) {
    return c >= '0' && c <= '9';
}

bool isAlphanumeric(char c) {
    return isDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Four decimal parts without leading zeros. "127.1" and octal forms are read differently by
/// different programs, so they are no addresses here.
std::optional<std::array<std::uint8_t, 4>> ipv4Of(std::string_view host) {
    std::array<std::uint8_t, 4> bytes{};
    const std::string text(host);
    if (inet_pton(AF_INET, text.c_str(), bytes.data()) != 1)
        return std::nullopt;
    return bytes;
}

std::optional<Ipv6> ipv6Of(std::string_view host) {
    Ipv6 bytes{};
    const std::string text(host);
    if (inet_pton(AF_INET6, text.c_str(), bytes.data()) != 1)
        return std::nullopt;
    return bytes;
}

/// The IPv4 address inside ::ffff:a.b.c.d.
std::optional<std::array<std::uint8_t, 4>> mappedIpv4(const Ipv6& bytes) {
    const bool isMapped =
        std::all_of(bytes.begin(), bytes.begin() + 10, [](std::uint8_t b) { return b == 0; }) &&
        bytes[10] == 0xff && bytes[11] == 0xff;
    if (!isMapped)
        return std::nullopt;
    return std::array<std::uint8_t, 4>{bytes[12], bytes[13], bytes[14], bytes[15]};
}

std::string ipv4Text(const std::array<std::uint8_t, 4>& bytes) {
    std::string text;
    for (const std::uint8_t byte : bytes)
        text += (text.empty() ? "" : ".") + std::to_string(byte);
    return text;
}

std::string lower(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return out;
}

std::string quoted(std::string_view text) {
    return "\"" + std::string(text) + "\"";
}

constexpr const char* kExpected = "host:port, with IPv6 in brackets, for example \"10.0.0.1:2222\" "
                                  "or \"[fd00::1]:2222\"";

/// What is wrong with a host name or IPv4 number; empty where it is fine.
std::string hostComplaint(std::string_view host) {
    if (host.empty())
        return "has no host";
    if (host.find('/') != std::string_view::npos)
        return "is not a plain host: it contains \"/\"";
    std::string_view rest = host;
    if (rest.ends_with('.'))
        rest.remove_suffix(1);
    std::string_view label;
    for (std::size_t from = 0; from <= rest.size();) {
        const std::size_t dot = std::min(rest.find('.', from), rest.size());
        label = rest.substr(from, dot - from);
        from = dot + 1;
        if (label.empty())
            return "has an empty part in its host name";
        for (const char c : label)
            if (!isAlphanumeric(c) && c != '-' && c != '_')
                return "has a character in its host name that no host name has";
        if (label.front() == '-' || label.back() == '-')
            return "has a part of its host name that begins or ends with \"-\"";
        if (label.size() > 63)
            return "has a part of its host name that is longer than 63 characters";
    }
    if (rest.size() > 253)
        return "has a host name that is longer than 253 characters";
    // A name whose last part is a number would be read as an IPv4 address by some programs.
    if (std::all_of(label.begin(), label.end(), isDigit) && !ipv4Of(host))
        return "is not a valid IPv4 address: four numbers from 0 to 255 without leading zeros";
    return {};
}

std::variant<int, AddressFault> readPort(std::string_view text, std::string_view digits) {
    AddressFault fault;
    fault.expected = "a port from 1 to 65535, in decimal without leading zeros";
    fault.at = text.size() - digits.size();
    if (digits.empty()) {
        fault.message = quoted(text) + " has no port after its colon.";
        return fault;
    }
    if (!std::all_of(digits.begin(), digits.end(), isDigit)) {
        fault.message = "The port " + quoted(digits) + " of " + quoted(text) + " is no number.";
        return fault;
    }
    if (digits.find_first_not_of('0') == std::string_view::npos) {
        fault.message = "Port " + std::string(digits) + " of " + quoted(text) +
                        " cannot be dialled by the other tasks.";
        return fault;
    }
    if (digits.front() == '0') {
        fault.message = "The port of " + quoted(text) + " has leading zeros.";
        const std::string_view plain = digits.substr(digits.find_first_not_of('0'));
        fault.hint = "Write " + std::string(plain) + ".";
        return fault;
    }
    if (digits.size() > 5 || std::stoi(std::string(digits)) > 65535) {
        fault.message = "Port " + std::string(digits) + " of " + quoted(text) + " is out of range.";
        return fault;
    }
    return std::stoi(std::string(digits));
}

std::variant<Address, AddressFault> withPort(Address address, std::string_view text,
                                             std::string_view digits) {
    auto port = readPort(text, digits);
    if (auto* fault = std::get_if<AddressFault>(&port)) {
        fault->host = address.host;
        return std::move(*fault);
    }
    address.port = std::get<int>(port);
    return address;
}

/// Reads what follows the "%" of a bracketed address; a link-local one needs it.
std::optional<AddressFault> readZone(std::string_view text, std::string_view inside,
                                     std::size_t percent, Address& address) {
    AddressFault fault;
    fault.expected = kExpected;
    fault.host = address.host;
    if (percent < inside.size()) {
        address.zone = inside.substr(percent + 1);
        const bool isZone = !address.zone.empty() &&
                            std::all_of(address.zone.begin(), address.zone.end(), [](char c) {
                                return isAlphanumeric(c) || c == '-' || c == '_' || c == '.';
                            });
        if (isZone)
            return std::nullopt;
        fault.message = quoted(text) + " has no interface name after its \"%\".";
        fault.at = 1 + percent;
        fault.hint = "Write the interface, for example [fe80::1%eth0]:2222.";
        return fault;
    }
    const auto bytes = ipv6Of(address.host);
    if ((*bytes)[0] != 0xfe || ((*bytes)[1] & 0xc0) != 0x80)
        return std::nullopt;
    fault.message = quoted(text) + " is a link-local address without its interface.";
    fault.at = 1;
    fault.hint = "Name the interface, for example [" + address.host +
                 "%eth0]:2222, or use an address that is not link-local.";
    return fault;
}

std::variant<Address, AddressFault> readBracketed(std::string_view text) {
    AddressFault fault;
    fault.expected = kExpected;
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) {
        fault.message = quoted(text) + " opens a bracket and does not close it.";
        fault.at = text.size();
        return fault;
    }
    Address address;
    const std::string_view inside = text.substr(1, close - 1);
    const std::size_t percent = std::min(inside.find('%'), inside.size());
    address.host = inside.substr(0, percent);
    if (!ipv6Of(address.host)) {
        fault.message = quoted(address.host) + " in brackets is no IPv6 address.";
        fault.at = 1;
        fault.hint = "Brackets are for IPv6 only; names and IPv4 stand without them.";
        return fault;
    }
    fault.host = address.host;
    if (auto zoneFault = readZone(text, inside, percent, address))
        return std::move(*zoneFault);
    const std::string_view rest = text.substr(close + 1);
    if (rest.empty()) {
        fault.message = quoted(text) + " has no port.";
        fault.at = text.size();
        fault.hint =
            "Write the port after the bracket, for example " + std::string(text) + ":2222.";
        return fault;
    }
    if (rest.front() != ':') {
        fault.message = quoted(text) + " has something other than \":\" after its bracket.";
        fault.at = close + 1;
        return fault;
    }
    return withPort(std::move(address), text, rest.substr(1));
}

/// More than one colon outside of brackets: IPv6 that asks for brackets, or two ports.
AddressFault manyColons(std::string_view text, std::string_view host) {
    AddressFault fault;
    fault.expected = kExpected;
    fault.at = text.find(':');
    if (!ipv6Of(host) && !ipv6Of(text)) {
        fault.message = quoted(text) + " has more than one colon.";
        return fault;
    }
    fault.message = quoted(text) + " is ambiguous: an IPv6 address has no brackets, so its port "
                                   "cannot be told from its last part.";
    const std::string whole(text);
    const std::string last = whole.substr(host.size() + 1);
    fault.hint = ipv6Of(host)
                     ? "If " + last + " is the port, write [" + std::string(host) + "]:" + last +
                           "; if it belongs to the address, write [" + whole + "]:PORT."
                     : "Write [" + whole + "]:PORT.";
    return fault;
}

} // namespace

std::variant<Address, AddressFault> readAddress(std::string_view text) {
    AddressFault fault;
    fault.expected = kExpected;
    if (text.empty()) {
        fault.message = "The address is empty.";
        return fault;
    }
    const auto blank = std::find_if(text.begin(), text.end(),
                                    [](unsigned char c) { return c <= ' ' || c == 0x7f; });
    if (blank != text.end()) {
        fault.message = quoted(text) + " contains a blank.";
        fault.at = static_cast<std::size_t>(blank - text.begin());
        fault.hint = "Remove it; two addresses are two entries.";
        return fault;
    }
    if (text.front() == '[')
        return readBracketed(text);
    if (const std::size_t scheme = text.find("://"); scheme != std::string_view::npos) {
        fault.message = quoted(text) + " is a URL.";
        fault.hint =
            "Leave out " + quoted(text.substr(0, scheme + 3)) + " and everything after the port.";
        return fault;
    }
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) {
        fault.message = quoted(text) + " has no port.";
        fault.at = text.size();
        fault.host = text;
        fault.hint = "Write the port after a colon, for example " + std::string(text) + ":2222.";
        return fault;
    }
    const std::string_view host = text.substr(0, colon);
    if (host.find(':') != std::string_view::npos)
        return manyColons(text, host);
    if (const std::string complaint = hostComplaint(host); !complaint.empty()) {
        fault.message = quoted(text) + " " + complaint + ".";
        return fault;
    }
    return withPort({std::string(host), {}, 0}, text, text.substr(colon + 1));
}

Result<Address> Address::parse(std::string_view text) {
    auto read = readAddress(text);
    if (auto* address = std::get_if<Address>(&read))
        return std::move(*address);
    const AddressFault& fault = std::get<AddressFault>(read);
    return Error{Code::InvalidArgument,
                 fault.message + " Expected " + fault.expected + "." +
                     (fault.hint.empty() ? "" : " " + fault.hint),
                 {}};
}

std::string Address::text() const {
    if (!isIpv6())
        return host + ":" + std::to_string(port);
    return "[" + host + (zone.empty() ? "" : "%" + zone) + "]:" + std::to_string(port);
}

bool Address::isIpv4() const {
    return ipv4Of(host).has_value();
}

bool Address::isIpv6() const {
    return ipv6Of(host).has_value();
}

bool Address::isLoopback() const {
    const std::string key = hostKeyOf(host);
    if (const auto bytes = ipv4Of(key))
        return (*bytes)[0] == 127;
    return key == "::1" || key == "localhost" || key.ends_with(".localhost") ||
           key == "localhost.localdomain" || key == "localhost4" || key == "localhost6" ||
           key == "ip6-localhost" || key == "ip6-loopback";
}

bool Address::isWildcard() const {
    const std::string key = hostKeyOf(host);
    return key == "0.0.0.0" || key == "::";
}

std::string Address::hostKey() const {
    return hostKeyOf(host) + (zone.empty() ? "" : "%" + zone);
}

std::string hostKeyOf(std::string_view host) {
    const std::size_t percent = std::min(host.find('%'), host.size());
    if (const auto bytes = ipv6Of(host.substr(0, percent))) {
        if (const auto mapped = mappedIpv4(*bytes))
            return ipv4Text(*mapped);
        char text[INET6_ADDRSTRLEN] = {};
        inet_ntop(AF_INET6, bytes->data(), text, sizeof text);
        return text + std::string(host.substr(percent));
    }
    std::string key = lower(host);
    if (key.ends_with('.'))
        key.pop_back();
    return key;
}

} // namespace lockstep::cluster
