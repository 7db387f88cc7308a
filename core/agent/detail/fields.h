// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Reads the members of one JSON object between programs of ours. The first that does not fit is
// kept as the error; reading goes on with defaults, and status() tells at the end.

#include "core/base/json.h"
#include "core/base/result.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::agent::detail {

class Fields {
public:
    /// `value` must outlive this and what object() and objects() give.
    Fields(const json::Value& value, std::string where, Code code);

    bool has(const char* key) const; ///< present and not null
    void fail(const char* key, const std::string& expected);
    Status status() const;

    std::string string(const char* key);
    std::string nonEmpty(const char* key);
    std::string absolutePath(const char* key);
    std::string optionalString(const char* key); ///< "" where missing
    std::int64_t integer(const char* key, std::int64_t min = 0,
                         std::int64_t max = std::numeric_limits<std::int64_t>::max());
    double number(const char* key, double min = 0, double max = std::numeric_limits<double>::max());
    std::size_t choice(const char* key, const char* const* names, std::size_t count);
    template <std::size_t N>
    std::size_t choice(const char* key, const char* const (&names)[N]) {
        return choice(key, names, N);
    }
    // Each is empty where missing.
    std::vector<std::string> strings(const char* key);
    std::vector<std::pair<std::string, std::string>> pairs(const char* key);
    std::vector<std::pair<std::string, std::int64_t>> integers(const char* key, std::int64_t min);
    std::vector<Fields> objects(const char* key);
    Fields object(const char* key); ///< reports where it is missing

private:
    Fields(const json::Value& value, const Fields& parent, std::string prefix);
    const json::Value& get(const char* key) const;

    const json::Value* m_value;
    std::string m_where;
    Code m_code;
    std::string m_prefix;
    std::shared_ptr<Status> m_status; ///< shared with the objects inside
};

} // namespace lockstep::agent::detail
