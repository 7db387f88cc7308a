// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/data/detail/csv_source.h"

#include "core/base/failure.h"
#include "core/base/json_reader.h"
#include "core/data/csv_reader.h"
#include "core/data/detail/byte_file.h"

#include <charconv>
#include <cmath>

namespace lockstep::data::detail {

namespace {

constexpr std::size_t kNamedPlaces = 5;

std::string_view trimmed(std::string_view text) {
    const auto isSpace = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
    while (!text.empty() && isSpace(text.front()))
        text.remove_prefix(1);
    while (!text.empty() && isSpace(text.back()))
        text.remove_suffix(1);
    return text;
}

/// A decimal number in C notation, whatever the locale; what it is instead, where it is none.
std::optional<double> parseNumber(std::string_view cell, std::string& fault) {
    std::string_view text = trimmed(cell);
    if (text.empty()) {
        fault = "The cell is empty.";
        return std::nullopt;
    }
    const std::string shown = json::nameOf(json::Value(text)).substr(sizeof("the text ") - 1);
    if (text.size() > 1 && text.front() == '+' && text[1] != '-')
        text.remove_prefix(1);
    double value = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (end != text.data() + text.size() || status == std::errc::invalid_argument) {
        fault = shown + " is not a number.";
        return std::nullopt;
    }
    if (status == std::errc::result_out_of_range || !std::isfinite(value)) {
        fault = shown + " is not a finite number.";
        return std::nullopt;
    }
    return value;
}

class Loader {
public:
    Loader(const job::JobSpec& job, const job::CsvSource& source, std::string path,
           const std::string& folder, Problems& problems)
        : m_job(job)
        , m_source(source)
        , m_path(std::move(path))
        , m_problems(problems)
        , m_set(std::make_shared<Dataset>()) {
        m_set->path = m_path;
        m_set->file = job::resolvePath(folder, source.path);
    }

    std::shared_ptr<const Dataset> run();

private:
    void readAll(CsvReader& reader);
    bool readHeader(CsvReader& reader);
    bool findLabel();
    void readRow(const CsvReader& reader);
    void badPlace(std::int64_t line, std::size_t column, std::string message, std::string expected);
    void sourceProblem(const std::string& key, std::string message, std::string expected,
                       std::string hint = {});
    std::string firstRowHint() const;

    const job::JobSpec& m_job;
    const job::CsvSource& m_source;
    const std::string m_path;
    Problems& m_problems;
    std::shared_ptr<Dataset> m_set;
    std::vector<std::string> m_names; ///< of the header
    std::size_t m_width = 0;          ///< cells of every row; 0 before the first
    std::int64_t m_widthLine = 0;     ///< the line that decided it
    std::size_t m_label = 0;          ///< its place in a row
    std::size_t m_badPlaces = 0;
    bool m_unusable = false;
};

std::shared_ptr<const Dataset> Loader::run() {
    try {
        ByteFile file(m_set->file);
        CsvReader reader([&](char* into, std::size_t size) { return file.read(into, size); });
        try {
            readAll(reader);
        } catch (const Failure& failure) {
            m_unusable = true;
            m_problems.push_back({Severity::Error,
                                  m_set->file,
                                  {},
                                  static_cast<int>(reader.line()),
                                  failure.error().message,
                                  {},
                                  {}});
        }
        m_set->bytesRead = file.bytesRead();
    } catch (const Failure& failure) {
        sourceProblem("path", m_set->file + ": " + failure.error().message,
                      "a CSV file, plain or gzipped", "Paths start at the folder of the job file.");
        return nullptr;
    }
    if (m_badPlaces > kNamedPlaces)
        m_problems.push_back({Severity::Error,
                              m_set->file,
                              {},
                              0,
                              "There are " + std::to_string(m_badPlaces - kNamedPlaces) +
                                  " more bad places in this file.",
                              {},
                              {}});
    return m_unusable || m_badPlaces > 0 ? nullptr : m_set;
}

void Loader::readAll(CsvReader& reader) {
    if (!reader.skipLines(m_source.skipLines) && m_source.skipLines > 0) {
        m_unusable = true;
        sourceProblem("skip_lines", m_set->file + " has fewer lines than are to be skipped.",
                      "a file with rows after the first " + std::to_string(m_source.skipLines) +
                          " lines");
        return;
    }
    if (m_source.header && !readHeader(reader))
        return;
    while (reader.next()) {
        if (m_width == 0) {
            m_width = reader.cells().size();
            m_widthLine = reader.line();
            if (!findLabel())
                return;
        }
        readRow(reader);
    }
    if (m_set->rows == 0 && m_badPlaces == 0) {
        m_unusable = true;
        sourceProblem("path",
                      m_set->file +
                          (m_source.header ? " has a header but no rows." : " has no rows."),
                      "at least one row of data");
    }
}

bool Loader::readHeader(CsvReader& reader) {
    if (!reader.next()) {
        m_unusable = true;
        sourceProblem("path", m_set->file + " is empty; not even its header is there.",
                      "a header and at least one row of data");
        return false;
    }
    for (const std::string_view cell : reader.cells())
        m_names.emplace_back(trimmed(cell));
    m_width = m_names.size();
    m_widthLine = reader.line();
    return findLabel();
}

/// Where the label is, once the number of columns is known.
bool Loader::findLabel() {
    m_unusable = true;
    const auto width = static_cast<std::int64_t>(m_width);
    const std::string columns =
        m_set->file + " has " + std::to_string(width) + (width == 1 ? " column" : " columns");
    if (width < 2) {
        sourceProblem("path", columns + ".", "at least one feature and a label, parted by commas");
        return false;
    }
    if (const auto* name = std::get_if<std::string>(&m_source.label)) {
        std::vector<std::size_t> places;
        for (std::size_t i = 0; i < m_names.size(); ++i)
            if (m_names[i] == *name)
                places.push_back(i);
        if (places.size() != 1) {
            const std::string near = json::nearest(*name, m_names);
            sourceProblem(
                "label",
                places.empty()
                    ? "No column of " + m_set->file + " is named \"" + *name + "\"."
                    : "Several columns of " + m_set->file + " are named \"" + *name + "\".",
                "the name of one column, or its number from 0",
                near.empty() || !places.empty() ? std::string() : "Did you mean \"" + near + "\"?");
            return false;
        }
        m_label = places.front();
    } else {
        const std::int64_t given = std::get<std::int64_t>(m_source.label);
        const std::int64_t place = given < 0 ? given + width : given;
        if (place < 0 || place >= width) {
            sourceProblem(
                "label", columns + ", so there is no column " + std::to_string(given) + ".",
                "a number from " + std::to_string(-width) + " to " + std::to_string(width - 1));
            return false;
        }
        m_label = static_cast<std::size_t>(place);
    }
    m_unusable = false;
    m_set->features = width - 1;
    m_set->labels = 1;
    m_set->labelColumn = static_cast<std::int64_t>(m_label) + 1;
    for (std::size_t i = 0; i < m_names.size(); ++i)
        if (i != m_label)
            m_set->columnNames.push_back(m_names[i]);
    if (!m_names.empty())
        m_set->columnNames.push_back(m_names[m_label]);
    return true;
}

void Loader::readRow(const CsvReader& reader) {
    const auto& cells = reader.cells();
    if (cells.size() != m_width) {
        badPlace(reader.line(), std::min(cells.size(), m_width) + (cells.size() > m_width ? 1 : 0),
                 "The row has " + std::to_string(cells.size()) +
                     (cells.size() == 1 ? " cell." : " cells."),
                 std::to_string(m_width) + " as in line " + std::to_string(m_widthLine));
        return;
    }
    std::string fault;
    bool good = true;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const auto number = parseNumber(cells[i], fault);
        const auto value = static_cast<float>(!number        ? 0
                                              : i == m_label ? *number
                                                             : *number * m_source.scale);
        if (!number || !std::isfinite(value)) {
            if (number)
                fault = "The value is too large for a 32-bit float.";
            badPlace(reader.line(), i + 1,
                     fault + " It is in column " + std::to_string(i + 1) + ".", "a number");
            good = false;
            continue;
        }
        (i == m_label ? m_set->labelValues : m_set->featureValues).push_back(value);
    }
    if (!good)
        return;
    m_set->lines.push_back(reader.line());
    ++m_set->rows;
}

void Loader::badPlace(std::int64_t line, std::size_t column, std::string message,
                      std::string expected) {
    if (++m_badPlaces > kNamedPlaces)
        return;
    // Said once, at the first bad place, where it is in the first row or differs from it at once.
    const bool mayBeHeader = !m_source.header && m_set->rows == 0 && m_badPlaces == 1;
    m_problems.push_back({Severity::Error,
                          m_set->file,
                          {},
                          static_cast<int>(line),
                          std::move(message),
                          std::move(expected),
                          mayBeHeader ? firstRowHint() : std::string(),
                          static_cast<int>(column)});
}

std::string Loader::firstRowHint() const {
    return "If line " + std::to_string(m_widthLine) +
           " is no row of data, set \"header\": true (it holds names) or \"skip_lines\": " +
           std::to_string(m_source.skipLines + 1) + ".";
}

void Loader::sourceProblem(const std::string& key, std::string message, std::string expected,
                           std::string hint) {
    m_problems.push_back(job::problemAt(m_job, m_path + "." + key, std::move(message),
                                        std::move(expected), std::move(hint)));
}

} // namespace

std::shared_ptr<const Dataset> loadCsv(const job::JobSpec& job, const job::CsvSource& source,
                                       const std::string& path, const std::string& folder,
                                       Problems& problems) {
    return Loader(job, source, path, folder, problems).run();
}

} // namespace lockstep::data::detail
