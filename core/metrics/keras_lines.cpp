// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/metrics/keras_lines.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace lockstep::metrics {

namespace {

constexpr std::size_t kLongestSegment = 8192; ///< Keras' own are a few hundred bytes
constexpr std::size_t kMostRedraws = 4096;

bool isDigit(char c) {
    return c >= '0' && c <= '9';
}

/// Reads from the front of a text.
class Cursor {
public:
    explicit Cursor(std::string_view text)
        : m_text(text) {}

    bool isAtEnd() const { return m_text.empty(); }
    std::string_view rest() const { return m_text; }
    void skipSpaces() { m_text.remove_prefix(std::min(m_text.find_first_not_of(' '), size())); }
    bool take(std::string_view word) {
        if (!m_text.starts_with(word))
            return false;
        m_text.remove_prefix(word.size());
        return true;
    }
    std::optional<std::int64_t> integer() {
        std::int64_t value = 0;
        if (m_text.empty() || !isDigit(m_text.front()))
            return std::nullopt;
        const auto end = std::from_chars(m_text.data(), m_text.data() + size(), value);
        if (end.ec != std::errc())
            return std::nullopt;
        m_text.remove_prefix(static_cast<std::size_t>(end.ptr - m_text.data()));
        return value;
    }
    /// Up to `separator`, which is taken too; all where there is none.
    std::string_view until(std::string_view separator) {
        const std::size_t end = m_text.find(separator);
        const std::string_view part = m_text.substr(0, end);
        m_text.remove_prefix(end == m_text.npos ? size() : end + separator.size());
        return part;
    }

private:
    std::size_t size() const { return m_text.size(); }
    std::string_view m_text;
};

std::string withoutEscapes(std::string_view text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\x1b') {
            plain += text[i];
            continue;
        }
        if (i + 1 < text.size() && text[i + 1] == '[')
            for (i += 2; i < text.size() && (text[i] < '@' || text[i] > '~');)
                ++i;
        else
            ++i;
    }
    return plain;
}

std::string_view trimmed(std::string_view text) {
    const std::size_t from = text.find_first_not_of(' ');
    if (from == text.npos)
        return {};
    return text.substr(from, text.find_last_not_of(' ') - from + 1);
}

/// As Python prints a number: 0.1234, -1.5000e+00, nan, inf.
std::optional<double> numberOf(std::string_view text) {
    const bool isSigned = text.starts_with('-') || text.starts_with('+');
    const std::string_view bare = text.substr(isSigned ? 1 : 0);
    const double sign = text.starts_with('-') ? -1 : 1;
    if (bare == "nan")
        return std::numeric_limits<double>::quiet_NaN();
    if (bare == "inf")
        return sign * std::numeric_limits<double>::infinity();
    double value = 0;
    const char* end = bare.data() + bare.size();
    if (bare.empty() || !isDigit(bare.front()))
        return std::nullopt;
    const auto read = std::from_chars(bare.data(), end, value);
    if (read.ec == std::errc::result_out_of_range)
        return sign * (bare.find("e-") != bare.npos ? 0 : std::numeric_limits<double>::infinity());
    if (read.ec != std::errc() || read.ptr != end)
        return std::nullopt;
    return sign * value;
}

/// "18ms" and the like, in ms.
std::optional<double> millisecondsOf(std::string_view text) {
    Cursor cursor(text);
    const auto count = cursor.integer();
    const std::string_view unit = cursor.rest();
    if (!count || (unit != "us" && unit != "ms" && unit != "s"))
        return std::nullopt;
    return static_cast<double>(*count) * (unit == "us" ? 0.001 : unit == "s" ? 1000 : 1);
}

/// "75s", "1:15" or "1:01:15", in seconds.
std::optional<double> secondsOf(std::string_view text) {
    Cursor cursor(text);
    double seconds = 0;
    for (bool isFirst = true;; isFirst = false) {
        const auto part = cursor.integer();
        if (!part)
            return std::nullopt;
        seconds = seconds * 60 + static_cast<double>(*part);
        if (isFirst && cursor.rest() == "s")
            return seconds;
        if (!isFirst && cursor.isAtEnd())
            return seconds;
        if (!cursor.take(":"))
            return std::nullopt;
    }
}

/// One time of a line: "1s", "18ms/step", "2s/epoch", "ETA: 8s".
bool takeTime(std::string_view word, KerasLine& line) {
    if (word.ends_with("/step")) {
        const auto ms = millisecondsOf(word.substr(0, word.size() - 5));
        line.stepMs = ms.value_or(kNotPrinted);
        return ms.has_value();
    }
    if (word.ends_with("/epoch")) { // finer than the whole seconds in front
        const auto ms = millisecondsOf(word.substr(0, word.size() - 6));
        line.seconds = ms ? *ms / 1000 : kNotPrinted;
        return ms.has_value();
    }
    const auto seconds = secondsOf(word);
    line.seconds = seconds.value_or(kNotPrinted);
    return seconds.has_value();
}

/// What stands between two " - ".
bool takePart(std::string_view part, KerasLine& line) {
    if (part.starts_with("ETA: ")) {
        line.isRunning = true;
        return secondsOf(trimmed(part.substr(5))).has_value();
    }
    const std::size_t colon = part.rfind(": ");
    if (colon != part.npos && colon > 0) {
        const std::string_view name = part.substr(0, colon);
        const auto value = numberOf(trimmed(part.substr(colon + 2)));
        if (!value || name.find(':') != name.npos)
            return false;
        line.values.emplace_back(std::string(name), *value);
        return true;
    }
    Cursor words(part);
    while (!words.isAtEnd())
        if (!takeTime(words.until(" "), line))
            return false;
    return true;
}

void skipBar(Cursor& cursor, KerasLine& line) {
    if (cursor.take("[")) {
        while (cursor.take("=") || cursor.take(">") || cursor.take(".")) {
        }
        line.hasBracketBar = cursor.take("]");
        return;
    }
    while (cursor.take("\u2501") || cursor.take("=") || cursor.take("?")) {
    }
}

std::vector<std::string> namesOf(const KerasLine& line) {
    std::vector<std::string> names;
    for (const auto& [name, value] : line.values)
        names.push_back(name);
    std::sort(names.begin(), names.end());
    return names;
}

} // namespace

std::optional<KerasLine> parseKerasLine(std::string_view text) {
    const std::string plain = withoutEscapes(text);
    Cursor cursor(plain);
    KerasLine line;
    cursor.skipSpaces();
    const auto step = cursor.integer();
    if (!step || !cursor.take("/"))
        return std::nullopt;
    line.step = *step;
    const auto steps = cursor.integer();
    if (!steps && !cursor.take("Unknown"))
        return std::nullopt;
    line.steps = steps.value_or(0);
    if (!cursor.take(" "))
        return std::nullopt;
    cursor.skipSpaces();
    skipBar(cursor, line);
    cursor.skipSpaces();
    if (!cursor.take("- ") && cursor.isAtEnd())
        return std::nullopt;
    while (!cursor.isAtEnd())
        if (!takePart(trimmed(cursor.until(" - ")), line))
            return std::nullopt;
    const bool hasTime = line.isRunning || !std::isnan(line.stepMs) || !std::isnan(line.seconds);
    return hasTime ? std::optional(line) : std::nullopt;
}

double Progress::value(std::string_view name) const {
    for (const auto& [known, value] : values)
        if (known == name)
            return value;
    return kNotPrinted;
}

std::vector<Progress> KerasReader::add(std::string_view bytes) {
    m_found.clear();
    for (const char c : bytes) {
        ++m_position;
        if (c == '\n' || c == '\r' || c == '\b')
            endSegment(c == '\n');
        else if (m_segment.size() < kLongestSegment)
            m_segment += c;
        else
            m_isOverlong = true;
    }
    return std::move(m_found);
}

void KerasReader::endSegment(bool isLineEnd) {
    // "…\r\n": what stood before the carriage return is the line.
    if (isLineEnd && m_segment.empty())
        m_segment = std::move(m_lastSegment);
    m_lastSegment.clear();
    const std::string segment = std::exchange(m_segment, {});
    if (std::exchange(m_isOverlong, false) || segment.empty())
        return;
    if (isLineEnd && segment.starts_with("Epoch ")) {
        Cursor cursor(segment);
        cursor.take("Epoch ");
        const auto epoch = cursor.integer();
        const bool hasSlash = cursor.take("/");
        const auto epochs = cursor.integer();
        if (epoch && hasSlash && epochs && trimmed(cursor.rest()).empty() && *epoch > 0 &&
            *epoch <= *epochs && *epochs < 1'000'000'000)
            takeHeader(static_cast<int>(*epoch), static_cast<int>(*epochs));
        return;
    }
    if (auto line = parseKerasLine(segment))
        takeLine(std::move(*line), isLineEnd);
    if (!isLineEnd)
        m_lastSegment = segment;
}

void KerasReader::begin(int epoch) {
    if (m_base && m_epoch > 0)
        m_base = *m_base + m_last;
    m_epoch = epoch;
    m_last = 0;
    m_lastLine.reset();
    m_redraws.clear();
    m_sawSmallerStep = false;
    m_isOpen = true;
}

void KerasReader::takeHeader(int epoch, int epochs) {
    // Something else was printed behind the last redraw, so that it did not end its line.
    if (m_isOpen && m_lastLine && m_lastLine->step == m_lastLine->steps)
        closeEpoch(progressOf(*m_lastLine), *m_lastLine);
    if (epoch <= m_headerEpoch)
        m_before = m_epoch;
    m_hasHeaders = true;
    m_headerEpoch = epoch;
    m_epochs = epochs;
    begin(m_before + epoch);
}

/// A line about the epoch that just ended, with validation's values added to it.
bool KerasReader::completesLastEpoch(const KerasLine& line) const {
    if (!m_lastEnd || m_sawSmallerStep || line.step != m_last || line.steps != line.step)
        return false;
    const auto had = namesOf(m_lastEndLine);
    const auto has = namesOf(line);
    return has.size() > had.size() && std::includes(has.begin(), has.end(), had.begin(), had.end());
}

bool KerasReader::repeatsFirstEpoch(const KerasLine& line) const {
    if (!m_firstEnd)
        return true;
    if (line.steps != m_firstEnd->steps)
        return false;
    const auto first = namesOf(*m_firstEnd);
    const auto names = namesOf(line);
    return std::includes(first.begin(), first.end(), names.begin(), names.end());
}

Progress KerasReader::progressOf(const KerasLine& line) const {
    Progress progress;
    progress.epoch = m_epoch;
    progress.epochs = m_epochs;
    progress.step = m_base.value_or(0) + line.step;
    progress.values = line.values;
    progress.stepMs = line.stepMs;
    progress.position = m_position;
    return progress;
}

void KerasReader::takeLine(KerasLine line, bool isLineEnd) {
    if (line.values.empty() || line.step <= 0) // predict()
        return;
    const bool isEnd = isLineEnd && !line.isRunning && line.step == line.steps;
    if (!m_isOpen && completesLastEpoch(line))
        return closeEpoch(progressOf(line), line);
    if (!m_isOpen) {
        m_sawSmallerStep = true;
        if (m_hasHeaders || !repeatsFirstEpoch(line))
            return; // evaluate()
        begin(m_epoch + 1);
    }
    if (line.step < m_last)
        return; // of another loop inside the epoch
    // A run that continues an earlier one begins at a later epoch.
    if (!m_base)
        m_base = line.steps * std::max(0, m_headerEpoch - 1);
    m_last = line.step;
    Progress progress = progressOf(line);
    if (isEnd)
        return closeEpoch(std::move(progress), line);
    m_lastLine = line;
    if (line.hasBracketBar && m_workers > 1) {
        if (m_factor == 1 && m_redraws.size() < kMostRedraws)
            m_redraws.push_back(progress);
        for (auto& [name, value] : progress.values)
            value /= m_factor;
    }
    m_found.push_back(std::move(progress));
}

void KerasReader::closeEpoch(Progress progress, const KerasLine& line) {
    progress.isEpochEnd = true;
    progress.seconds = line.isRunning ? kNotPrinted : line.seconds;
    if (m_factor == 1 && line.hasBracketBar && !line.isRunning)
        findFactor(progress);
    m_redraws.clear();
    if (line.hasBracketBar && line.isRunning)
        for (auto& [name, value] : progress.values)
            value /= m_factor;
    if (!m_firstEnd)
        m_firstEnd = line;
    m_lastEnd = progress;
    m_lastEndLine = line;
    m_isOpen = false;
    m_sawSmallerStep = false;
    m_found.push_back(std::move(progress));
}

/// Whether the redraws of this epoch were sums over the workers: then they come once more.
void KerasReader::findFactor(const Progress& end) {
    if (m_redraws.empty())
        return;
    // A running mean moves little from one of the last redraws to the end.
    const Progress& last = m_redraws.back();
    const double ratio = last.value("loss") / end.value("loss");
    const bool isSum = std::abs(ratio / m_workers - 1) < 0.5 / m_workers;
    if (!isSum || 2 * (last.step - m_base.value_or(0)) < m_last)
        return;
    m_factor = m_workers;
    for (Progress& redraw : m_redraws) {
        for (auto& [name, value] : redraw.values)
            value /= m_factor;
        m_found.push_back(std::move(redraw));
    }
}

} // namespace lockstep::metrics
