// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/agent/detail/fields.h"

#include <cstring>

namespace lockstep::agent::detail {

namespace {

const json::Value kNull;

}

Fields::Fields(const json::Value& value, std::string where, Code code)
    : m_value(&value)
    , m_where(std::move(where))
    , m_code(code)
    , m_status(std::make_shared<Status>()) {
    if (!value.isObject())
        *m_status = Error{m_code, "Got " + json::nameOf(value) + "; expected an object.", m_where};
}

Fields::Fields(const json::Value& value, const Fields& parent, std::string prefix)
    : m_value(&value)
    , m_where(parent.m_where)
    , m_code(parent.m_code)
    , m_prefix(std::move(prefix))
    , m_status(parent.m_status) {}

const json::Value& Fields::get(const char* key) const {
    const json::Value* member = m_value->find(key);
    return member ? *member : kNull;
}

bool Fields::has(const char* key) const {
    return !get(key).isNull();
}

Status Fields::status() const {
    return *m_status;
}

void Fields::fail(const char* key, const std::string& expected) {
    if (!m_status->ok())
        return;
    const json::Value& value = get(key);
    const std::string got = value.isNull() ? "is missing" : "is " + json::nameOf(value);
    *m_status = Error{m_code, m_prefix + key + " " + got + "; expected " + expected + ".", m_where};
}

std::string Fields::string(const char* key) {
    if (get(key).isString())
        return get(key).toString();
    fail(key, "a text");
    return {};
}

std::string Fields::nonEmpty(const char* key) {
    std::string text = string(key);
    if (text.empty())
        fail(key, "a text that is not empty");
    return text;
}

std::string Fields::absolutePath(const char* key) {
    std::string text = string(key);
    if (text.empty() || text[0] != '/')
        fail(key, "an absolute path");
    return text;
}

std::string Fields::optionalString(const char* key) {
    return has(key) ? string(key) : "";
}

std::int64_t Fields::integer(const char* key, std::int64_t min, std::int64_t max) {
    const json::Value& value = get(key);
    if (value.isInteger() && value.toInteger() >= min && value.toInteger() <= max)
        return value.toInteger();
    fail(key, "a whole number from " + std::to_string(min) +
                  (max == std::numeric_limits<std::int64_t>::max() ? std::string()
                                                                   : " to " + std::to_string(max)));
    return min;
}

double Fields::number(const char* key, double min, double max) {
    const json::Value& value = get(key);
    if (value.isNumber() && value.toNumber() >= min && value.toNumber() <= max)
        return value.toNumber();
    fail(key, "a number of at least " + json::dump(json::Value(min)));
    return min;
}

std::size_t Fields::choice(const char* key, const char* const* names, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        if (get(key).isString() && get(key).toString() == names[i])
            return i;
    fail(key, "a known word");
    return 0;
}

std::vector<std::string> Fields::strings(const char* key) {
    std::vector<std::string> result;
    if (!has(key))
        return result;
    if (!get(key).isArray()) {
        fail(key, "an array of texts");
        return result;
    }
    for (const json::Value& item : get(key).items()) {
        if (item.isString())
            result.push_back(item.toString());
        else
            fail(key, "an array of texts");
    }
    return result;
}

std::vector<std::pair<std::string, std::string>> Fields::pairs(const char* key) {
    std::vector<std::pair<std::string, std::string>> result;
    if (!has(key))
        return result;
    if (!get(key).isObject()) {
        fail(key, "an object of texts");
        return result;
    }
    for (const json::Member& member : get(key).members()) {
        if (member.value.isString())
            result.emplace_back(member.key, member.value.toString());
        else
            fail(key, "an object of texts");
    }
    return result;
}

std::vector<std::pair<std::string, std::int64_t>> Fields::integers(const char* key,
                                                                   std::int64_t min) {
    std::vector<std::pair<std::string, std::int64_t>> result;
    if (!has(key))
        return result;
    if (!get(key).isObject()) {
        fail(key, "an object of numbers");
        return result;
    }
    for (const json::Member& member : get(key).members()) {
        if (member.value.isInteger() && member.value.toInteger() >= min)
            result.emplace_back(member.key, member.value.toInteger());
        else
            fail(key, "an object of whole numbers from " + std::to_string(min));
    }
    return result;
}

std::vector<Fields> Fields::objects(const char* key) {
    std::vector<Fields> result;
    if (!has(key))
        return result;
    if (!get(key).isArray()) {
        fail(key, "an array of objects");
        return result;
    }
    for (const json::Value& item : get(key).items())
        result.push_back(Fields(item, *this, m_prefix + key + "."));
    return result;
}

Fields Fields::object(const char* key) {
    if (!get(key).isObject())
        fail(key, "an object");
    return Fields(get(key), *this, m_prefix + key + ".");
}

} // namespace lockstep::agent::detail
