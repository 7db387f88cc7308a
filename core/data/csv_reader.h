// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Cuts CSV text into records. Source: RFC 4180, and what files really hold: a byte-order mark, line
// ends LF or CR, blank lines (left out), no line end at the end. Separator is the comma.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::data {

/// One thread at a time; reads in pieces, so memory is that of the longest record.
class CsvReader {
public:
    /// Fills the buffer with up to `size` bytes and says how many; 0 at the end.
    using Read = std::function<std::size_t(char* into, std::size_t size)>;
    explicit CsvReader(Read read);

    /// Leaves out `count` lines of text, whatever they hold; false where there are fewer.
    bool skipLines(std::int64_t count);
    /// The next record; false at the end. Throws Failure{Corrupt} (line() says where) for a quote
    /// that is not closed, text after a closing quote, UTF-16 and records over 64 MiB.
    bool next();

    /// Cells of the record, unquoted; valid until the next call.
    const std::vector<std::string_view>& cells() const { return m_cells; }
    /// 1-based line on which the record begins.
    std::int64_t line() const { return m_recordLine; }

private:
    static constexpr int kEnd = -1;
    int peek();
    int take();
    void takeLineEnd(int first);
    void readMark();
    void readCell();
    void readQuoted();
    void append(int byte);

    Read m_read;
    std::vector<char> m_chunk;
    std::size_t m_at = 0;
    std::size_t m_size = 0;
    bool m_ended = false;
    bool m_markRead = false;
    std::int64_t m_line = 1;
    std::int64_t m_recordLine = 1;
    std::string m_text;              ///< of the record's cells, one after the other
    std::vector<std::size_t> m_ends; ///< of each cell in m_text
    std::vector<std::string_view> m_cells;
};

} // namespace lockstep::data
