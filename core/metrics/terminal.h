// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// What a terminal would show of a program's output, line by line, from bytes in pieces of any size.
// A carriage return or backspace moves back and what follows overwrites, the erase sequences erase,
// the cursor moves inside its line. Colours, titles and all other escape sequences are dropped, so
// are control characters; bytes that are no UTF-8 become U+FFFD. One line is held in memory as it
// looks, not as it came: hours of redraws of a progress bar are one short line.
// Thread: none of its own; one owner.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::metrics {

class TerminalLines {
public:
    /// Characters kept of one line; what would stand behind them is left out and said so.
    static constexpr std::size_t kLongestLine = std::size_t{16} << 20;

    struct Line {
        std::string text;     ///< UTF-8, tabs and printable characters only
        std::int64_t end = 0; ///< place in the stream behind its LF
    };

    /// The lines that `bytes` complete.
    std::vector<Line> add(std::string_view bytes);
    /// The line that has no LF yet, as it looks now.
    std::string unfinished() const;
    /// Bytes taken in so far.
    std::int64_t position() const { return m_position; }

private:
    enum class Mode { Text, Escape, Control, Command, CommandEscape };

    void take(unsigned char byte);
    void takeText(unsigned char byte);
    void takeControl(unsigned char byte);
    void put(char32_t character);
    void putBroken();
    void runControl(char name);
    void erase(std::size_t from, std::size_t to);
    void clear();

    std::u32string m_cells;
    std::size_t m_cursor = 0;
    bool m_isCut = false;
    Mode m_mode = Mode::Text;
    std::string m_parameters; ///< of a control sequence
    std::uint32_t m_character = 0;
    std::uint32_t m_least = 0; ///< that a sequence of this length may encode
    int m_missing = 0;         ///< bytes of a UTF-8 sequence
    std::int64_t m_position = 0;
};

/// The lines of a whole text; a last one without LF too.
std::vector<std::string> printableLines(std::string_view text);

} // namespace lockstep::metrics
