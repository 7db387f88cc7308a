// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Reads a JSON value against expectations and collects every Problem on the way, so that a document
// is judged whole. A Reader is a view: the Value and the Problems must outlive it.

#include "core/base/json.h"
#include "core/base/problem.h"

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::json {

/// A place in a document. A missing member is a Reader too: exists() is false and reading it gives
/// nothing and reports nothing, unless require() asked for it.
class Reader {
public:
    Reader(const Value* value, std::string path, std::string file, Problems* problems)
        : m_value(value)
        , m_path(std::move(path))
        , m_file(std::move(file))
        , m_problems(problems) {}

    bool exists() const { return m_value != nullptr; }
    /// Missing, or null.
    bool isAbsent() const { return !m_value || m_value->isNull(); }
    const Value* value() const { return m_value; }
    const std::string& path() const { return m_path; }
    /// Where this reports.
    const Problems* problems() const { return m_problems; }
    int line() const { return m_value ? m_value->line() : m_parentLine; }

    /// The member `key` of this object; a missing Reader where there is none.
    Reader at(const std::string& key) const;
    /// The same, and a Problem where the member is missing. `expected` says what belongs there.
    Reader require(const std::string& key, const std::string& expected) const;
    /// The elements of this array; a Problem and nothing where this exists and is no array.
    std::vector<Reader> items() const;
    /// The members of this object, in order, as (key, Reader); a Problem where it is no object.
    std::vector<std::pair<std::string, Reader>> members() const;
    /// Reports where this exists and is not an object.
    bool isObject() const;

    // Each gives nothing for a missing or null value, and a Problem with nothing for a wrong one.
    std::optional<bool> boolean() const;
    std::optional<std::int64_t>
    integer(std::int64_t min = std::numeric_limits<std::int64_t>::min(),
            std::int64_t max = std::numeric_limits<std::int64_t>::max()) const;
    /// Any finite number; use the bounds for what the field allows (both included).
    std::optional<double> number(double min = -std::numeric_limits<double>::max(),
                                 double max = std::numeric_limits<double>::max()) const;
    std::optional<std::string> string() const;
    /// One of `choices`, compared exactly; a near miss is suggested.
    std::optional<std::string> oneOf(const std::vector<std::string>& choices) const;

    /// Reports each member whose key is not in `known` as a warning with the nearest known key.
    void warnUnknown(const std::vector<std::string>& known) const;

    void error(std::string message, std::string expected = {}, std::string hint = {}) const;
    void warning(std::string message, std::string expected = {}, std::string hint = {}) const;

    /// The error that what stands here is of the wrong kind: "The number 3 does not belong here."
    void wrongKind(const std::string& expected) const;

private:
    void report(Severity severity, std::string message, std::string expected,
                std::string hint) const;
    const Value* m_value;
    std::string m_path;
    std::string m_file;
    Problems* m_problems;
    int m_parentLine = 0;
};

/// The word of `choices` nearest to `word` by edit distance, where near enough to be meant; else
/// "".
std::string nearest(const std::string& word, const std::vector<std::string>& choices);

/// "a, b or c": choices for a sentence, each in quotes.
std::string listOr(const std::vector<std::string>& choices);

/// The value at a path of keys and array places joined by dots, or nullptr.
const Value* findPath(const Value& root, const std::string& path);
/// Sets the value at `path`, making objects on the way; arrays are indexed, never grown past their
/// end by more than one. InvalidArgument names the part that does not fit; `root` is then as it
/// was.
Status setPath(Value& root, const std::string& path, Value value);

} // namespace lockstep::json
