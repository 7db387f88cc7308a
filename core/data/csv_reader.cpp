// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/data/csv_reader.h"

#include "core/base/failure.h"

namespace lockstep::data {

namespace {

constexpr std::size_t kChunk = 64 * 1024;
constexpr std::size_t kLongestRecord = std::size_t{64} << 20;

} // namespace

CsvReader::CsvReader(Read read)
    : m_read(std::move(read))
    , m_chunk(kChunk) {}

int CsvReader::peek() {
    if (m_at == m_size) {
        if (m_ended)
            return kEnd;
        m_at = 0;
        m_size = m_read(m_chunk.data(), m_chunk.size());
        m_ended = m_size == 0;
        if (m_ended)
            return kEnd;
    }
    return static_cast<unsigned char>(m_chunk[m_at]);
}

int CsvReader::take() {
    const int byte = peek();
    if (byte != kEnd)
        ++m_at;
    return byte;
}

void CsvReader::takeLineEnd(int first) {
    if (first == '\r' && peek() == '\n')
        take();
    ++m_line;
}

void CsvReader::readMark() {
    m_markRead = true;
    while (m_size < 3 && !m_ended) {
        const std::size_t got = m_read(m_chunk.data() + m_size, m_chunk.size() - m_size);
        m_size += got;
        m_ended = got == 0;
    }
    const int first = peek();
    if (first == 0xFF || first == 0xFE)
        throw Failure(Code::Corrupt,
                      "The file is in UTF-16. Save it as UTF-8, the usual form of CSV.");
    if (first == 0xEF && m_size - m_at >= 3 && m_chunk[m_at + 1] == '\xBB' &&
        m_chunk[m_at + 2] == '\xBF')
        m_at += 3;
}

void CsvReader::append(int byte) {
    if (m_text.size() >= kLongestRecord)
        throw Failure(Code::Corrupt,
                      "The row that begins here is longer than 64 MiB; is a quote not closed?");
    m_text.push_back(static_cast<char>(byte));
}

void CsvReader::readQuoted() {
    take();
    for (;;) {
        const int byte = take();
        if (byte == kEnd)
            throw Failure(Code::Corrupt, "A quote that opens in this row is never closed.");
        if (byte == '"') {
            if (peek() != '"')
                break;
            take();
            append('"');
            continue;
        }
        append(byte);
        if (byte == '\n' || (byte == '\r' && peek() != '\n'))
            ++m_line;
    }
    const int after = peek();
    if (after != ',' && after != '\n' && after != '\r' && after != kEnd)
        throw Failure(Code::Corrupt, "There is text after the closing quote of cell " +
                                         std::to_string(m_ends.size() + 1) + " of this row.");
}

void CsvReader::readCell() {
    if (peek() == '"') {
        readQuoted();
    } else {
        for (int byte = peek(); byte != ',' && byte != '\n' && byte != '\r' && byte != kEnd;
             byte = peek())
            append(take());
    }
    m_ends.push_back(m_text.size());
}

bool CsvReader::skipLines(std::int64_t count) {
    if (!m_markRead)
        readMark();
    for (std::int64_t i = 0; i < count; ++i) {
        if (peek() == kEnd)
            return false;
        for (;;) {
            const int byte = take();
            if (byte == kEnd)
                break;
            if (byte == '\n' || byte == '\r') {
                takeLineEnd(byte);
                break;
            }
        }
    }
    return true;
}

bool CsvReader::next() {
    if (!m_markRead)
        readMark();
    m_text.clear();
    m_ends.clear();
    m_cells.clear();
    while (peek() == '\n' || peek() == '\r')
        takeLineEnd(take());
    m_recordLine = m_line;
    if (peek() == kEnd)
        return false;
    for (;;) {
        readCell();
        const int byte = take();
        if (byte == ',')
            continue;
        if (byte != kEnd)
            takeLineEnd(byte);
        break;
    }
    std::size_t begin = 0;
    for (const std::size_t end : m_ends) {
        m_cells.emplace_back(m_text.data() + begin, end - begin);
        begin = end;
    }
    return true;
}

} // namespace lockstep::data
