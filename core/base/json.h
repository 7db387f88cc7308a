// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// JSON values that keep the order of keys and know the line they stood on, so that every later
// complaint can name it. Reading refuses duplicate keys; NaN and Infinity are read only where Keras
// may have written them. Values are plain data: copy freely, no thread rules.

#include "core/base/result.h"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace lockstep::json {

enum class Kind { Null, Bool, Integer, Number, String, Array, Object };

class Value;
using Array = std::vector<Value>;
struct Member;
using Object = std::vector<Member>; ///< in the document's order, keys unique

/// One JSON value. Integer holds what fits int64 and was written without point or exponent;
/// every other number is Number.
class Value {
public:
    Value();
    Value(std::nullptr_t);
    Value(bool value);
    Value(int value);
    Value(std::int64_t value);
    Value(std::uint64_t value);
    Value(double value);
    Value(const char* value);
    Value(std::string_view value);
    Value(std::string value);
    Value(Array value);
    Value(Object value);
    /// An object from pairs: Value::object({{"a", 1}, {"b", "x"}}).
    static Value object(std::initializer_list<Member> members = {});
    static Value array(std::initializer_list<Value> items = {});

    Kind kind() const;
    bool isNull() const { return kind() == Kind::Null; }
    bool isBool() const { return kind() == Kind::Bool; }
    bool isInteger() const { return kind() == Kind::Integer; }
    bool isNumber() const { return kind() == Kind::Integer || kind() == Kind::Number; }
    bool isString() const { return kind() == Kind::String; }
    bool isArray() const { return kind() == Kind::Array; }
    bool isObject() const { return kind() == Kind::Object; }

    // Each asserts its kind; toNumber also takes an Integer.
    bool toBool() const;
    std::int64_t toInteger() const;
    double toNumber() const;
    const std::string& toString() const;
    const Array& items() const;
    Array& items();
    const Object& members() const;
    Object& members();

    /// The member's value, or nullptr where this is no object or has no such key.
    const Value* find(std::string_view key) const;
    Value* find(std::string_view key);
    /// Replaces the member's value in place, or appends it. This becomes an object if it was null.
    void set(std::string_view key, Value value);
    /// Removes the member; false where there was none.
    bool remove(std::string_view key);
    void append(Value value);
    bool contains(std::string_view key) const { return find(key) != nullptr; }
    std::size_t size() const; ///< of an array or object, else 0

    int line() const { return m_line; } ///< 1-based; 0 for a value that was not read from text
    void setLine(int line) { m_line = line; }

    /// Same kind and content; lines are ignored, the order of keys counts.
    bool operator==(const Value& other) const;

private:
    std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> m_data;
    int m_line = 0;
};

struct Member {
    std::string key;
    Value value;
    bool operator==(const Member&) const = default;
};

enum class Dialect {
    Strict, ///< RFC 8259
    Keras,  ///< also NaN, Infinity and -Infinity
};

/// Reads one document. Errors are InvalidArgument with line, column and what was expected;
/// `where` is copied into the error (a file name, or "TF_CONFIG").
Result<Value> parse(std::string_view text, std::string_view where,
                    Dialect dialect = Dialect::Strict);
/// Reads a file of at most 64 MiB; NotFound, PermissionDenied, or as parse().
Result<Value> parseFile(const std::string& path, Dialect dialect = Dialect::Strict);

/// One line, no spaces. Non-finite numbers are written as NaN, Infinity, -Infinity (Keras' way).
std::string dump(const Value& value);
/// Indented by two spaces, short arrays and objects on one line, with a final LF: for files.
std::string dumpPretty(const Value& value);

/// "an object", "the text \"abc\"", "the number 3", "true", "null": what was got, for messages.
/// Long texts are shortened.
std::string nameOf(const Value& value);

} // namespace lockstep::json
