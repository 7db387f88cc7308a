// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The forms in which Keras' JSON names a thing: "relu", or {"class_name": ..., "config": {...}}.

#include "core/base/json_reader.h"

#include <optional>
#include <string>
#include <vector>

namespace lockstep::nn::detail {

struct KerasObject {
    std::string name;    ///< class or function, as written
    json::Reader config; ///< missing where only a name was given
};

/// Reads either form, and a serialized function ({"class_name": "function", "config": "relu"}).
/// Reports anything else, and classes of the user's own. Nothing for a missing or null value.
std::optional<KerasObject> readObject(const json::Reader& reader, const std::string& what);

/// Refuses each member that is not in `known`, unless it is null.
void refuseUnknown(const json::Reader& object, const std::vector<std::string>& known);

/// Refuses the members `keys` where they ask for something: anything but null, false, "" or [].
void refuseUsed(const json::Reader& object, const std::vector<std::string>& keys);

/// Refuses any data type but float32 ("float32" or a DTypePolicy of that name).
void readDType(const json::Reader& dtype);

/// Whether `reader` has reported an error since this was made: readers return nothing then.
class ErrorWatch {
public:
    explicit ErrorWatch(const json::Reader& reader)
        : m_problems(reader.problems())
        , m_before(count()) {}
    bool failed() const { return count() > m_before; }

private:
    std::size_t count() const;
    const Problems* m_problems;
    std::size_t m_before;
};

} // namespace lockstep::nn::detail
