// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/metrics/terminal.h"

#include <algorithm>
#include <charconv>

namespace lockstep::metrics {

namespace {

constexpr char32_t kReplacement = 0xFFFD;
constexpr std::size_t kLongestParameters = 64;
constexpr const char* kCutMark = " […cut]";

void appendUtf8(std::string& text, char32_t c) {
    const auto add = [&](char32_t bits) { text += static_cast<char>(bits); };
    if (c < 0x80) {
        add(c);
    } else if (c < 0x800) {
        add(0xC0 | c >> 6);
        add(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        add(0xE0 | c >> 12);
        add(0x80 | (c >> 6 & 0x3F));
        add(0x80 | (c & 0x3F));
    } else {
        add(0xF0 | c >> 18);
        add(0x80 | (c >> 12 & 0x3F));
        add(0x80 | (c >> 6 & 0x3F));
        add(0x80 | (c & 0x3F));
    }
}

/// Control characters, and those that turn or hide text that follows.
bool isUnprintable(char32_t c) {
    return c < 0x20 || (c >= 0x7F && c <= 0x9F) || c == 0x2028 || c == 0x2029 ||
           (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

} // namespace

std::vector<TerminalLines::Line> TerminalLines::add(std::string_view bytes) {
    std::vector<Line> lines;
    for (const char c : bytes) {
        ++m_position;
        // A line feed ends the line whatever came before: half a sequence must not swallow lines.
        if (c == '\n') {
            if (m_missing > 0)
                putBroken();
            lines.push_back({unfinished(), m_position});
            clear();
        } else {
            take(static_cast<unsigned char>(c));
        }
    }
    return lines;
}

std::string TerminalLines::unfinished() const {
    std::string text;
    std::size_t size = m_cells.size();
    // What a bar painted over with blanks is no text.
    while (size > 0 && m_cells[size - 1] == U' ')
        --size;
    text.reserve(size);
    for (std::size_t i = 0; i < size; ++i)
        appendUtf8(text, m_cells[i]);
    return m_isCut ? text + kCutMark : text;
}

void TerminalLines::clear() {
    // A huge line must not hold its memory for the rest of the run.
    if (m_cells.capacity() > (1 << 16))
        std::u32string().swap(m_cells);
    m_cells.clear();
    m_cursor = 0;
    m_isCut = false;
    m_mode = Mode::Text;
    m_missing = 0;
}

void TerminalLines::take(unsigned char byte) {
    switch (m_mode) {
    case Mode::Text:
        return takeText(byte);
    case Mode::Escape:
        m_parameters.clear();
        if (byte == '[')
            m_mode = Mode::Control;
        else if (byte == ']' || byte == 'P' || byte == '^' || byte == '_' || byte == 'X')
            m_mode = Mode::Command;
        else if (byte < 0x20 || byte > 0x2F) // intermediate bytes come before the last one
            m_mode = Mode::Text;
        return;
    case Mode::Control:
        return takeControl(byte);
    case Mode::Command:
        // A title or the like ends with BEL or ESC backslash.
        if (byte == 0x07)
            m_mode = Mode::Text;
        if (byte == 0x1B)
            m_mode = Mode::CommandEscape;
        return;
    case Mode::CommandEscape:
        m_mode = byte == '\\' ? Mode::Text : Mode::Command;
        return;
    }
}

void TerminalLines::takeText(unsigned char byte) {
    if (m_missing > 0) {
        if ((byte & 0xC0) == 0x80) {
            m_character = m_character << 6 | (byte & 0x3F);
            if (--m_missing > 0)
                return;
            const bool isWrong = m_character < m_least || m_character > 0x10FFFF ||
                                 (m_character >= 0xD800 && m_character <= 0xDFFF);
            return put(isWrong ? kReplacement : m_character);
        }
        putBroken();
    }
    if (byte < 0x80) {
        if (byte == '\r')
            m_cursor = 0;
        else if (byte == '\b')
            m_cursor -= m_cursor > 0 ? 1 : 0;
        else if (byte == 0x1B)
            m_mode = Mode::Escape;
        else
            put(byte);
    } else if (byte >= 0xC2 && byte <= 0xF4) {
        m_missing = byte >= 0xF0 ? 3 : byte >= 0xE0 ? 2 : 1;
        m_least = byte >= 0xF0 ? 0x10000 : byte >= 0xE0 ? 0x800 : 0x80;
        m_character = byte & (0x3Fu >> m_missing);
    } else {
        put(kReplacement);
    }
}

void TerminalLines::putBroken() {
    m_missing = 0;
    put(kReplacement);
}

void TerminalLines::put(char32_t character) {
    if (character != U'\t' && isUnprintable(character))
        return;
    if (m_cursor >= kLongestLine) {
        m_isCut = true;
        return;
    }
    if (m_cursor > m_cells.size())
        m_cells.resize(m_cursor, U' ');
    if (m_cursor == m_cells.size())
        m_cells += character;
    else
        m_cells[m_cursor] = character;
    ++m_cursor;
}

void TerminalLines::takeControl(unsigned char byte) {
    if (byte >= 0x20 && byte <= 0x3F) {
        if (m_parameters.size() < kLongestParameters)
            m_parameters += static_cast<char>(byte);
        return;
    }
    if (byte == 0x1B) {
        m_mode = Mode::Escape;
        return;
    }
    m_mode = Mode::Text;
    if (byte >= 0x40 && byte <= 0x7E)
        runControl(static_cast<char>(byte));
    else
        takeText(byte); // a broken sequence ends here
}

/// Only what changes this line; colours, other lines and modes are nothing to a log.
void TerminalLines::runControl(char name) {
    std::size_t number = 0;
    const char* end = m_parameters.data() + m_parameters.size();
    const bool isGiven = std::from_chars(m_parameters.data(), end, number).ec == std::errc();
    const std::size_t count = std::min(isGiven && number > 0 ? number : 1, kLongestLine);
    const std::size_t size = m_cells.size();
    switch (name) {
    case 'K':
        if (number == 0)
            erase(m_cursor, size);
        else
            erase(0, number == 1 ? m_cursor + 1 : size);
        return;
    case 'C':
        // Not far beyond the text: a few bytes must not fill the memory with blanks.
        m_cursor = std::min(m_cursor + count, std::max(m_cursor, size + 1024));
        return;
    case 'D':
        m_cursor -= std::min(m_cursor, count);
        return;
    case 'G':
        m_cursor = std::min(count - 1, size + 1024);
        return;
    case 'P': // deletes characters
        if (m_cursor < size)
            m_cells.erase(m_cursor, count);
        return;
    default:
        return;
    }
}

void TerminalLines::erase(std::size_t from, std::size_t to) {
    if (from >= m_cells.size())
        return;
    if (to >= m_cells.size())
        m_cells.resize(from);
    else
        std::fill(m_cells.begin() + static_cast<std::ptrdiff_t>(from),
                  m_cells.begin() + static_cast<std::ptrdiff_t>(to), U' ');
}

std::vector<std::string> printableLines(std::string_view text) {
    TerminalLines terminal;
    std::vector<std::string> lines;
    for (TerminalLines::Line& line : terminal.add(text))
        lines.push_back(std::move(line.text));
    if (!text.empty() && text.back() != '\n')
        lines.push_back(terminal.unfinished());
    return lines;
}

} // namespace lockstep::metrics
