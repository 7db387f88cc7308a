// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/cluster/host_list.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

namespace lockstep::cluster {

namespace {

constexpr int kMostSlots = 64; // per host; a larger number after a colon is meant as a port

/// One entry with its blanks removed; each character knows where it came from.
struct Token {
    std::string text;
    int line = 1;
    std::vector<int> columns; ///< per byte of text, and one more for its end
    std::string slots;        ///< of "slots=2" behind the host
    int slotsColumn = 0;
};

bool isBlank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

/// Cuts a line into entries. Blanks around a colon belong to the entry, others end it.
class LineCutter {
public:
    LineCutter(std::string_view line, int number, std::vector<Token>& tokens)
        : m_line(line)
        , m_number(number)
        , m_tokens(tokens) {}

    void run() {
        while (m_at < m_line.size() && m_line[m_at] != '#') {
            const char c = m_line[m_at];
            if (isBlank(c) || c == ',' || c == ';' || c == '"' || c == '\'' || isListBracket())
                step();
            else
                takeEntry();
        }
    }

private:
    /// The brackets of a JSON list around quoted entries, not those of IPv6.
    bool isListBracket() const {
        const char c = m_line[m_at];
        if (c == ']')
            return true;
        return c == '[' && m_line.find_first_not_of(" \t", m_at + 1) != std::string_view::npos &&
               (m_line[m_line.find_first_not_of(" \t", m_at + 1)] == '"' ||
                m_line[m_line.find_first_not_of(" \t", m_at + 1)] == '\'');
    }

    void step() {
        if ((static_cast<unsigned char>(m_line[m_at]) & 0xc0) != 0x80)
            ++m_column;
        ++m_at;
    }

    void take(std::string& into, std::vector<int>* columns) {
        if (columns)
            columns->push_back(m_column);
        into += m_line[m_at];
        step();
    }

    void takeEntry() {
        Token token;
        token.line = m_number;
        bool inBrackets = false;
        while (m_at < m_line.size()) {
            const char c = m_line[m_at];
            if (c == ',' || c == ';' || c == '"' || c == '\'' || c == '#')
                break;
            if (isBlank(c)) {
                const std::size_t next = m_line.find_first_not_of(" \t\r", m_at);
                const bool joins = next != std::string_view::npos &&
                                   (m_line[next] == ':' || token.text.ends_with(':'));
                if (!joins)
                    break;
                while (m_at < next)
                    step();
                continue;
            }
            if (c == ']' && !inBrackets)
                break;
            inBrackets = c == '[' || (inBrackets && c != ']');
            take(token.text, &token.columns);
        }
        token.columns.push_back(m_column);
        if (!takeAsSlots(token))
            m_tokens.push_back(std::move(token));
    }

    /// "slots=2" and "max_slots=2" of a hostfile belong to the host before them on the line.
    bool takeAsSlots(const Token& token) {
        const std::size_t equals = token.text.find('=');
        const std::string key = token.text.substr(0, equals);
        if (equals == std::string::npos || (key != "slots" && key != "max_slots") ||
            m_tokens.empty() || m_tokens.back().line != m_number)
            return false;
        if (key == "slots") {
            m_tokens.back().slots = token.text.substr(equals + 1);
            m_tokens.back().slotsColumn = token.columns[equals + 1];
        }
        return true;
    }

    std::string_view m_line;
    int m_number;
    std::vector<Token>& m_tokens;
    std::size_t m_at = 0;
    int m_column = 1;
};

std::vector<Token> cut(std::string_view text) {
    std::vector<Token> tokens;
    int number = 1;
    for (std::size_t from = 0; from <= text.size(); ++number) {
        const std::size_t end = std::min(text.find('\n', from), text.size());
        LineCutter(text.substr(from, end - from), number, tokens).run();
        from = end + 1;
    }
    return tokens;
}

/// The number behind the last colon, where the host before it has no colon or stands in brackets.
std::optional<int> trailingNumber(const std::string& text) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos || (text.find(':') != colon && text[colon - 1] != ']'))
        return std::nullopt;
    int number = 0;
    const char* end = text.data() + text.size();
    const auto [stop, status] = std::from_chars(text.data() + colon + 1, end, number);
    return status == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

class ListReader {
public:
    ListReader(HostNumber number, int firstPort)
        : m_firstPort(firstPort) {
        m_list.number = number;
    }

    HostList run(std::string_view text) {
        std::vector<Token> tokens = cut(text);
        if (m_list.number == HostNumber::Guess)
            m_list.number = guess(tokens);
        for (const Token& token : tokens)
            readToken(token);
        if (tokens.empty())
            report({}, 0, "The list is empty.", "hosts, separated by commas, blanks or lines", {});
        return std::move(m_list);
    }

private:
    static HostNumber guess(const std::vector<Token>& tokens) {
        bool any = false;
        for (const Token& token : tokens) {
            const auto number = trailingNumber(token.text);
            if (number && *number > kMostSlots)
                return HostNumber::Port;
            any = any || number || !token.slots.empty();
        }
        return any ? HostNumber::Slots : HostNumber::Port;
    }

    void report(const Token& token, std::size_t at, std::string message, std::string expected,
                std::string hint) {
        const int column =
            token.columns.empty() ? 1 : token.columns[std::min(at, token.columns.size() - 1)];
        reportAt(token.line, column, std::move(message), std::move(expected), std::move(hint));
    }

    void reportAt(int line, int column, std::string message, std::string expected,
                  std::string hint) {
        m_list.problems.push_back({{Severity::Error,
                                    {},
                                    {},
                                    line,
                                    std::move(message),
                                    std::move(expected),
                                    std::move(hint)},
                                   column});
    }

    void readToken(const Token& token) {
        std::string user;
        std::string rest = token.text;
        if (const std::size_t at = rest.find('@'); at != std::string::npos) {
            user = rest.substr(0, at + 1);
            rest = rest.substr(at + 1);
        }
        const std::size_t offset = user.size();
        const auto number = trailingNumber(rest);
        int slots = 1;
        if (!token.slots.empty()) {
            const auto count = slotsOf(token.slots);
            if (!count) {
                badSlots(token.line, token.slotsColumn, token.slots);
                return;
            }
            slots = *count;
        } else if (number && m_list.number == HostNumber::Slots) {
            const std::size_t colon = rest.rfind(':');
            const auto count = slotsOf(rest.substr(colon + 1));
            if (!count) {
                badSlots(token.line, token.columns[offset + colon + 1], rest.substr(colon + 1));
                return;
            }
            slots = *count;
            rest = rest.substr(0, colon);
        }
        addWorkers(token, user, offset, rest, slots);
    }

    static std::optional<int> slotsOf(const std::string& text) {
        int slots = 0;
        const char* end = text.data() + text.size();
        const auto [stop, status] = std::from_chars(text.data(), end, slots);
        if (status != std::errc() || stop != end || slots < 1 || slots > kMostSlots)
            return std::nullopt;
        return slots;
    }

    void badSlots(int line, int column, const std::string& text) {
        reportAt(line, column, "\"" + text + "\" slots start no worker.",
                 "a number of workers from 1 to " + std::to_string(kMostSlots),
                 "Leave the host out, or write how many workers it gets.");
    }

    void addWorkers(const Token& token, const std::string& user, std::size_t offset,
                    const std::string& rest, int slots) {
        const bool hasPort = trailingNumber(rest).has_value();
        const bool isBare = !hasPort && (rest.find(':') == std::string::npos ||
                                         (rest.starts_with('[') && rest.ends_with(']')));
        // A bare host is read with a port that is then replaced.
        auto read = readAddress(isBare ? rest + ":1" : rest);
        if (const auto* fault = std::get_if<AddressFault>(&read)) {
            report(token, offset + fault->at, fault->message, fault->expected, fault->hint);
            return;
        }
        Address address = std::get<Address>(read);
        const std::string key = address.hostKey();
        for (int i = 0; i < slots; ++i) {
            if (isBare || i > 0)
                address.port = nextPort(key);
            if (address.port > 65535) {
                report(token, offset, "No port is left for " + address.host + ".",
                       "a first port that leaves room", "Begin with a lower port.");
                return;
            }
            m_used[{key, address.port}] = true;
            Worker worker;
            worker.address = address.text();
            if (!address.isLoopback())
                worker.ssh = user + address.host + (address.zone.empty() ? "" : "%" + address.zone);
            m_list.workers.push_back(std::move(worker));
        }
    }

    int nextPort(const std::string& key) const {
        int port = m_firstPort;
        while (m_used.contains({key, port}))
            ++port;
        return port;
    }

    HostList m_list;
    int m_firstPort;
    std::map<std::pair<std::string, int>, bool> m_used;
};

} // namespace

HostList readHostList(std::string_view text, HostNumber number, int firstPort) {
    return ListReader(number, firstPort).run(text);
}

} // namespace lockstep::cluster
