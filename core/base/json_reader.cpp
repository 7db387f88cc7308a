// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/json_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace lockstep::json {

namespace {

std::string childPath(const std::string& parent, const std::string& key) {
    return parent.empty() ? key : parent + "." + key;
}

std::string numberName(double value) {
    return dump(Value(value));
}

std::optional<std::size_t> arrayPlace(const std::string& part) {
    std::size_t place = 0;
    const auto [end, status] = std::from_chars(part.data(), part.data() + part.size(), place);
    if (status != std::errc() || end != part.data() + part.size())
        return std::nullopt;
    return place;
}

std::vector<std::string> splitPath(const std::string& path) {
    std::vector<std::string> parts;
    for (std::size_t from = 0; from <= path.size();) {
        const std::size_t dot = std::min(path.find('.', from), path.size());
        parts.push_back(path.substr(from, dot - from));
        from = dot + 1;
    }
    return parts;
}

} // namespace

Reader Reader::at(const std::string& key) const {
    Reader child(m_value ? m_value->find(key) : nullptr, childPath(m_path, key), m_file,
                 m_problems);
    child.m_parentLine = line();
    return child;
}

Reader Reader::require(const std::string& key, const std::string& expected) const {
    Reader child = at(key);
    if (!child.exists() && m_value && m_value->isObject())
        child.error("\"" + key + "\" is missing.", expected);
    return child;
}

std::vector<Reader> Reader::items() const {
    std::vector<Reader> readers;
    if (isAbsent())
        return readers;
    if (!m_value->isArray()) {
        wrongKind("an array");
        return readers;
    }
    for (std::size_t i = 0; i < m_value->size(); ++i)
        readers.emplace_back(&m_value->items()[i], childPath(m_path, std::to_string(i)), m_file,
                             m_problems);
    return readers;
}

std::vector<std::pair<std::string, Reader>> Reader::members() const {
    std::vector<std::pair<std::string, Reader>> readers;
    if (isAbsent() || !isObject())
        return readers;
    for (const Member& member : m_value->members())
        readers.emplace_back(member.key, at(member.key));
    return readers;
}

bool Reader::isObject() const {
    if (m_value && !m_value->isObject())
        wrongKind("an object");
    return m_value && m_value->isObject();
}

std::optional<bool> Reader::boolean() const {
    if (isAbsent())
        return std::nullopt;
    if (!m_value->isBool()) {
        wrongKind("true or false");
        return std::nullopt;
    }
    return m_value->toBool();
}

std::optional<std::int64_t> Reader::integer(std::int64_t min, std::int64_t max) const {
    if (isAbsent())
        return std::nullopt;
    std::string expected = "a whole number";
    if (min != std::numeric_limits<std::int64_t>::min() &&
        max != std::numeric_limits<std::int64_t>::max())
        expected += " from " + std::to_string(min) + " to " + std::to_string(max);
    else if (min != std::numeric_limits<std::int64_t>::min())
        expected += " of at least " + std::to_string(min);
    else if (max != std::numeric_limits<std::int64_t>::max())
        expected += " of at most " + std::to_string(max);
    if (!m_value->isInteger()) {
        wrongKind(expected);
        return std::nullopt;
    }
    const std::int64_t value = m_value->toInteger();
    if (value < min || value > max) {
        error(std::to_string(value) + " is out of range.", expected);
        return std::nullopt;
    }
    return value;
}

std::optional<double> Reader::number(double min, double max) const {
    if (isAbsent())
        return std::nullopt;
    std::string expected = "a number";
    const double limit = std::numeric_limits<double>::max();
    if (min != -limit && max != limit)
        expected += " from " + numberName(min) + " to " + numberName(max);
    else if (min != -limit)
        expected += " of at least " + numberName(min);
    else if (max != limit)
        expected += " of at most " + numberName(max);
    if (!m_value->isNumber()) {
        wrongKind(expected);
        return std::nullopt;
    }
    const double value = m_value->toNumber();
    if (!std::isfinite(value) || value < min || value > max) {
        error(numberName(value) + " is out of range.", expected);
        return std::nullopt;
    }
    return value;
}

std::optional<std::string> Reader::string() const {
    if (isAbsent())
        return std::nullopt;
    if (!m_value->isString()) {
        wrongKind("a text");
        return std::nullopt;
    }
    return m_value->toString();
}

std::optional<std::string> Reader::oneOf(const std::vector<std::string>& choices) const {
    if (isAbsent())
        return std::nullopt;
    const std::string expected = listOr(choices);
    if (!m_value->isString()) {
        wrongKind(expected);
        return std::nullopt;
    }
    const std::string& word = m_value->toString();
    if (std::find(choices.begin(), choices.end(), word) != choices.end())
        return word;
    const std::string near = nearest(word, choices);
    error("\"" + word + "\" is not known here.", expected,
          near.empty() ? std::string() : "Did you mean \"" + near + "\"?");
    return std::nullopt;
}

void Reader::warnUnknown(const std::vector<std::string>& known) const {
    if (!m_value || !m_value->isObject())
        return;
    for (const Member& member : m_value->members()) {
        if (std::find(known.begin(), known.end(), member.key) != known.end())
            continue;
        const std::string near = nearest(member.key, known);
        at(member.key)
            .warning("The key \"" + member.key + "\" is not known and is ignored.", {},
                     near.empty() ? std::string() : "Did you mean \"" + near + "\"?");
    }
}

void Reader::error(std::string message, std::string expected, std::string hint) const {
    report(Severity::Error, std::move(message), std::move(expected), std::move(hint));
}

void Reader::warning(std::string message, std::string expected, std::string hint) const {
    report(Severity::Warning, std::move(message), std::move(expected), std::move(hint));
}

void Reader::report(Severity severity, std::string message, std::string expected,
                    std::string hint) const {
    m_problems->push_back({severity, m_file, m_path, line(), std::move(message),
                           std::move(expected), std::move(hint)});
}

void Reader::wrongKind(const std::string& expected) const {
    std::string got = nameOf(*m_value);
    got[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(got[0])));
    error(got + " does not belong here.", expected);
}

std::string nearest(const std::string& word, const std::vector<std::string>& choices) {
    std::string best;
    std::size_t bestDistance = word.size() / 3 + 2;
    for (const std::string& choice : choices) {
        // Levenshtein distance, one row at a time; case counts half by comparing lower-cased.
        std::vector<std::size_t> row(choice.size() + 1);
        for (std::size_t j = 0; j <= choice.size(); ++j)
            row[j] = j;
        for (std::size_t i = 1; i <= word.size(); ++i) {
            std::size_t diagonal = row[0];
            row[0] = i;
            for (std::size_t j = 1; j <= choice.size(); ++j) {
                const bool same = std::tolower(static_cast<unsigned char>(word[i - 1])) ==
                                  std::tolower(static_cast<unsigned char>(choice[j - 1]));
                const std::size_t change = diagonal + (same ? 0 : 1);
                diagonal = row[j];
                row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
            }
        }
        const bool sharesNothing = row[choice.size()] >= std::max(word.size(), choice.size());
        if ((row[choice.size()] < bestDistance && !sharesNothing) ||
            (word.starts_with(choice) && best.empty())) {
            bestDistance = std::min(bestDistance, row[choice.size()]);
            best = choice;
        }
    }
    return best;
}

std::string listOr(const std::vector<std::string>& choices) {
    std::string text;
    for (std::size_t i = 0; i < choices.size(); ++i) {
        if (i > 0)
            text += i + 1 == choices.size() ? " or " : ", ";
        text += "\"" + choices[i] + "\"";
    }
    return text;
}

const Value* findPath(const Value& root, const std::string& path) {
    const Value* at = &root;
    for (const std::string& part : splitPath(path)) {
        if (at->isArray()) {
            const auto place = arrayPlace(part);
            at = place && *place < at->size() ? &at->items()[*place] : nullptr;
        } else {
            at = at->find(part);
        }
        if (!at)
            return nullptr;
    }
    return at;
}

Status setPath(Value& root, const std::string& path, Value value) {
    const std::vector<std::string> parts = splitPath(path);
    if (std::find(parts.begin(), parts.end(), "") != parts.end())
        return Error{Code::InvalidArgument,
                     "A part of this path is empty; expected parts joined by single dots.", path};
    Value* at = &root;
    std::string walked;
    for (const std::string& part : parts) {
        walked = childPath(walked, part);
        const auto refuse = [&](const std::string& why) {
            return Error{Code::InvalidArgument, why, walked};
        };
        if (at->isArray()) {
            const auto place = arrayPlace(part);
            if (!place || *place > at->size())
                return refuse("\"" + part +
                              "\" is no place in this array; expected a number from 0 to " +
                              std::to_string(at->size()) + ".");
            if (*place == at->size())
                at->append(Value());
            at = &at->items()[*place];
            continue;
        }
        if (!at->isObject() && !at->isNull())
            return refuse("The value above is " + nameOf(*at) + " and has no parts.");
        if (!at->find(part))
            at->set(part, Value());
        at = at->find(part);
    }
    *at = std::move(value);
    return {};
}

} // namespace lockstep::json
