// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/json.h"

#include "core/base/files.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace lockstep::json {

// Not in the header: Member is complete only after Value, and clang wants it here.
Value::Value() = default;

Value::Value(std::nullptr_t) {}

Value::Value(bool value)
    : m_data(value) {}

Value::Value(int value)
    : m_data(static_cast<std::int64_t>(value)) {}

Value::Value(std::int64_t value)
    : m_data(value) {}

Value::Value(double value)
    : m_data(value) {}

Value::Value(const char* value)
    : m_data(std::string(value)) {}

Value::Value(std::string_view value)
    : m_data(std::string(value)) {}

Value::Value(std::string value)
    : m_data(std::move(value)) {}

Value::Value(std::uint64_t value) {
    if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        m_data = static_cast<std::int64_t>(value);
    else
        m_data = static_cast<double>(value);
}

Value::Value(Array value)
    : m_data(std::move(value)) {}

Value::Value(Object value)
    : m_data(std::move(value)) {}

Value Value::object(std::initializer_list<Member> members) {
    return Value(Object(members));
}

Value Value::array(std::initializer_list<Value> items) {
    return Value(Array(items));
}

Kind Value::kind() const {
    return static_cast<Kind>(m_data.index());
}

bool Value::toBool() const {
    return assert(isBool()), *std::get_if<bool>(&m_data);
}

std::int64_t Value::toInteger() const {
    return assert(isInteger()), *std::get_if<std::int64_t>(&m_data);
}

double Value::toNumber() const {
    assert(isNumber());
    return isInteger() ? static_cast<double>(toInteger()) : *std::get_if<double>(&m_data);
}

const std::string& Value::toString() const {
    return assert(isString()), *std::get_if<std::string>(&m_data);
}

const Array& Value::items() const {
    return assert(isArray()), *std::get_if<Array>(&m_data);
}
Array& Value::items() {
    return assert(isArray()), *std::get_if<Array>(&m_data);
}
const Object& Value::members() const {
    return assert(isObject()), *std::get_if<Object>(&m_data);
}
Object& Value::members() {
    return assert(isObject()), *std::get_if<Object>(&m_data);
}

const Value* Value::find(std::string_view key) const {
    return const_cast<Value*>(this)->find(key); // NOLINT: the non-const twin changes nothing
}

Value* Value::find(std::string_view key) {
    auto* object = std::get_if<Object>(&m_data);
    if (!object)
        return nullptr;
    const auto it =
        std::find_if(object->begin(), object->end(), [&](const Member& m) { return m.key == key; });
    return it == object->end() ? nullptr : &it->value;
}

void Value::set(std::string_view key, Value value) {
    if (isNull())
        m_data = Object{};
    if (Value* existing = find(key))
        *existing = std::move(value);
    else
        members().push_back({std::string(key), std::move(value)});
}

bool Value::remove(std::string_view key) {
    auto* object = std::get_if<Object>(&m_data);
    return object && std::erase_if(*object, [&](const Member& m) { return m.key == key; }) > 0;
}

void Value::append(Value value) {
    if (isNull())
        m_data = Array{};
    items().push_back(std::move(value));
}

std::size_t Value::size() const {
    if (isArray())
        return items().size();
    return isObject() ? members().size() : 0;
}

bool Value::operator==(const Value& other) const {
    return m_data == other.m_data;
}

namespace {

constexpr std::size_t kMaxDepth = 200; // Keras' nested models stay far below

/// Hands characters to the parser and counts lines, since the parser's callbacks carry no place.
struct Cursor {
    const char* at = nullptr;
    int line = 1;
    bool justAfterNewline = false;
};

class CountingIterator {
public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    CountingIterator(const char* at, Cursor* cursor)
        : m_at(at)
        , m_cursor(cursor) {}

    reference operator*() const { return *m_at; }
    CountingIterator& operator++() {
        m_cursor->justAfterNewline = *m_at == '\n';
        if (m_cursor->justAfterNewline)
            ++m_cursor->line;
        m_cursor->at = ++m_at;
        return *this;
    }
    CountingIterator operator++(int) {
        CountingIterator before = *this;
        ++*this;
        return before;
    }
    bool operator==(const CountingIterator& other) const { return m_at == other.m_at; }
    bool operator!=(const CountingIterator& other) const { return m_at != other.m_at; }

private:
    const char* m_at;
    Cursor* m_cursor;
};

// NaN and Infinity outside of strings become strings that no document can hold by itself: they
// begin with a private-use character and are turned into numbers in string().
constexpr std::string_view kNonFinitePrefix = "\xEE\x80\x80lockstep:";

std::string quoteNonFinite(std::string_view text) {
    std::string out;
    out.reserve(text.size() + 64);
    bool inString = false;
    for (std::size_t i = 0; i < text.size();) {
        const char c = text[i];
        if (inString) {
            if (c == '\\' && i + 1 < text.size())
                out += text[i++];
            else if (c == '"')
                inString = false;
            out += text[i++];
            continue;
        }
        bool replaced = false;
        for (std::string_view word : {"NaN", "Infinity", "-Infinity"}) {
            if (text.substr(i, word.size()) == word) {
                ((((out += '"') += kNonFinitePrefix) += word) += '"');
                i += word.size();
                replaced = true;
                break;
            }
        }
        if (replaced)
            continue;
        inString = c == '"';
        out += c;
        ++i;
    }
    return out;
}

class Builder : public nlohmann::json_sax<nlohmann::json> {
public:
    Builder(const Cursor& cursor, Dialect dialect)
        : m_cursor(cursor)
        , m_dialect(dialect) {}

    Value take() { return std::move(m_root); }
    const Error& error() const { return m_error; }

    bool null() override { return add(Value()); }
    bool boolean(bool value) override { return add(Value(value)); }
    bool number_integer(number_integer_t value) override { return add(Value(value), Ends::After); }
    bool number_unsigned(number_unsigned_t value) override {
        return add(Value(static_cast<std::uint64_t>(value)), Ends::After);
    }
    bool number_float(number_float_t value, const string_t&) override {
        return add(Value(value), Ends::After);
    }
    bool string(string_t& value) override {
        if (isNonFinite(value)) {
            const std::string word = value.substr(kNonFinitePrefix.size());
            const double infinity = std::numeric_limits<double>::infinity();
            return add(Value(word == "NaN"        ? std::numeric_limits<double>::quiet_NaN()
                             : word == "Infinity" ? infinity
                                                  : -infinity));
        }
        return add(Value(std::move(value)));
    }
    bool binary(binary_t&) override { return false; }
    bool start_object(std::size_t) override { return open(Value(Object{})); }
    bool start_array(std::size_t) override { return open(Value(Array{})); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }
    bool key(string_t& key) override {
        if (isNonFinite(key))
            return fail(m_cursor.line, key.substr(kNonFinitePrefix.size()) + " stands for a key",
                        "a key in double quotes");
        if (m_stack.back()->contains(key))
            return fail(m_cursor.line, "the key \"" + key + "\" appears twice in one object",
                        "each key once");
        m_stack.back()->members().push_back({std::move(key), Value()});
        return true;
    }
    bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& e) override {
        // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while …"
        std::string text = e.what();
        constexpr std::string_view kPlace = "parse error at ";
        if (const auto at = text.find(kPlace); at != std::string::npos)
            text = text.substr(at + kPlace.size());
        else if (e.id == 406) // "[json.exception.out_of_range.406] number overflow parsing '1e999'"
            return fail(lineOf(Ends::After), "a number is too large for 64 bits",
                        "a magnitude below 1.8e308");
        m_error = {Code::InvalidArgument, "This is not valid JSON at " + text + ".", {}};
        return false;
    }

private:
    enum class Ends { AtCursor, After };

    // Text of the Strict dialect may hold anything, also what quoteNonFinite() would have made.
    bool isNonFinite(const std::string& text) const {
        return m_dialect == Dialect::Keras && text.starts_with(kNonFinitePrefix);
    }

    // A number is known to end only once the character after it was read.
    int lineOf(Ends ends) const {
        return m_cursor.line - (ends == Ends::After && m_cursor.justAfterNewline ? 1 : 0);
    }

    Value* place(Value value) {
        if (m_stack.empty()) {
            m_root = std::move(value);
            return &m_root;
        }
        Value& parent = *m_stack.back();
        if (parent.isArray()) {
            parent.items().push_back(std::move(value));
            return &parent.items().back();
        }
        parent.members().back().value = std::move(value);
        return &parent.members().back().value;
    }

    bool add(Value value, Ends ends = Ends::AtCursor) {
        value.setLine(lineOf(ends));
        place(std::move(value));
        return true;
    }

    bool open(Value value) {
        if (m_stack.size() >= kMaxDepth)
            return fail(m_cursor.line, "values are nested too deeply", "at most 200 levels");
        value.setLine(m_cursor.line);
        m_stack.push_back(place(std::move(value)));
        return true;
    }

    bool close() {
        m_stack.pop_back();
        return true;
    }

    bool fail(int line, const std::string& what, const std::string& expected) {
        m_error = {Code::InvalidArgument,
                   "This is not valid JSON at line " + std::to_string(line) + ": " + what +
                       "; expected " + expected + ".",
                   {}};
        return false;
    }

    const Cursor& m_cursor;
    const Dialect m_dialect;
    Value m_root;
    // Parents stay where they are while open: only the innermost one grows.
    std::vector<Value*> m_stack;
    Error m_error;
};

std::string numberText(double value) {
    if (std::isnan(value))
        return "NaN";
    if (std::isinf(value))
        return value > 0 ? "Infinity" : "-Infinity";
    return nlohmann::json(value).dump();
}

std::string stringText(const std::string& value) {
    return nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void writeCompact(const Value& value, std::string_view comma, std::string_view colon,
                  std::string& out) {
    switch (value.kind()) {
    case Kind::Null:
        out += "null";
        return;
    case Kind::Bool:
        out += value.toBool() ? "true" : "false";
        return;
    case Kind::Integer:
        out += std::to_string(value.toInteger());
        return;
    case Kind::Number:
        out += numberText(value.toNumber());
        return;
    case Kind::String:
        out += stringText(value.toString());
        return;
    case Kind::Array: {
        std::string_view separator;
        out += '[';
        for (const Value& item : value.items()) {
            out += separator;
            writeCompact(item, comma, colon, out);
            separator = comma;
        }
        out += ']';
        return;
    }
    case Kind::Object: {
        std::string_view separator;
        out += '{';
        for (const Member& member : value.members()) {
            out += separator;
            out += stringText(member.key);
            out += colon;
            writeCompact(member.value, comma, colon, out);
            separator = comma;
        }
        out += '}';
        return;
    }
    }
}

constexpr std::size_t kShortLine = 88;

void writePretty(const Value& value, std::size_t indent, std::string& out) {
    std::string oneLine;
    writeCompact(value, ", ", ": ", oneLine);
    if (value.size() == 0 || (indent > 0 && indent + oneLine.size() <= kShortLine)) {
        out += oneLine;
        return;
    }
    const std::string inner(indent + 2, ' ');
    const bool isArray = value.isArray();
    out += isArray ? '[' : '{';
    const char* separator = "\n";
    const auto line = [&](const Value& item, const std::string* key) {
        out += separator;
        out += inner;
        if (key) {
            out += stringText(*key);
            out += ": ";
        }
        writePretty(item, indent + 2, out);
        separator = ",\n";
    };
    if (isArray)
        for (const Value& item : value.items())
            line(item, nullptr);
    else
        for (const Member& member : value.members())
            line(member.value, &member.key);
    out += '\n';
    out.append(indent, ' ');
    out += isArray ? ']' : '}';
}

} // namespace

Result<Value> parse(std::string_view text, std::string_view where, Dialect dialect) {
    std::string quoted;
    if (dialect == Dialect::Keras) {
        quoted = quoteNonFinite(text);
        text = quoted;
    }
    if (text.starts_with("\xEF\xBB\xBF"))
        text.remove_prefix(3);
    if (std::all_of(text.begin(), text.end(),
                    [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }))
        return Error{Code::InvalidArgument, "This is empty; expected a JSON document.",
                     std::string(where)};
    Cursor cursor{text.data(), 1, false};
    Builder builder(cursor, dialect);
    const CountingIterator begin(text.data(), &cursor);
    const CountingIterator end(text.data() + text.size(), &cursor);
    if (!nlohmann::json::sax_parse(begin, end, &builder)) {
        Error error = builder.error();
        error.where = where;
        return error;
    }
    return builder.take();
}

Result<Value> parseFile(const std::string& path, Dialect dialect) {
    constexpr std::size_t kLimit = 64u << 20;
    auto text = files::read(path, kLimit);
    if (!text)
        return text.error();
    return parse(*text, path, dialect);
}

std::string dump(const Value& value) {
    std::string out;
    writeCompact(value, ",", ":", out);
    return out;
}

std::string dumpPretty(const Value& value) {
    std::string out;
    writePretty(value, 0, out);
    out += '\n';
    return out;
}

std::string nameOf(const Value& value) {
    constexpr std::size_t kLongest = 60;
    switch (value.kind()) {
    case Kind::Null:
        return "null";
    case Kind::Bool:
        return value.toBool() ? "true" : "false";
    case Kind::Integer:
    case Kind::Number:
        return "the number " + dump(value);
    case Kind::String: {
        std::string text = value.toString();
        if (text.size() > kLongest) {
            std::size_t end = kLongest;
            while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
                --end; // not inside of a character of several bytes
            text = text.substr(0, end) + "…";
        }
        return "the text " + stringText(text);
    }
    case Kind::Array:
        return value.size() == 0 ? "an empty array" : "an array";
    case Kind::Object:
        return "an object";
    }
    return {};
}

} // namespace lockstep::json
