// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/nn/detail/keras_object.h"

#include <algorithm>

namespace lockstep::nn::detail {

namespace {

bool isUsed(const json::Value& value) {
    switch (value.kind()) {
    case json::Kind::Null:
        return false;
    case json::Kind::Bool:
        return value.toBool();
    case json::Kind::String:
        return !value.toString().empty();
    case json::Kind::Array:
    case json::Kind::Object:
        return value.size() > 0;
    default:
        return true;
    }
}

} // namespace

std::optional<KerasObject> readObject(const json::Reader& reader, const std::string& what) {
    if (reader.isAbsent())
        return std::nullopt;
    if (reader.value()->isString())
        return KerasObject{reader.value()->toString(), json::Reader(nullptr, "", "", nullptr)};
    if (!reader.value()->isObject()) {
        reader.error(what + " cannot be " + json::nameOf(*reader.value()) + ".",
                     "a name, or an object with class_name and config");
        return std::nullopt;
    }
    const auto name = reader.require("class_name", "the name of Keras' class").string();
    if (!name)
        return std::nullopt;
    const json::Reader registered = reader.at("registered_name");
    if (!registered.isAbsent() && registered.value()->isString() &&
        registered.value()->toString().find('>') != std::string::npos) {
        registered.error(what + " " + registered.value()->toString() + " is a class of your own.",
                         "a class of Keras",
                         "Only Keras' built-in classes can be trained by the engine.");
        return std::nullopt;
    }
    json::Reader config = reader.at("config");
    if (*name == "function") {
        const auto function = config.string();
        if (!function)
            return std::nullopt;
        return KerasObject{*function, json::Reader(nullptr, "", "", nullptr)};
    }
    if (!config.isAbsent() && !config.isObject())
        return std::nullopt;
    return KerasObject{*name, config};
}

void refuseUnknown(const json::Reader& object, const std::vector<std::string>& known) {
    for (const auto& [key, member] : object.members()) {
        if (member.isAbsent() || std::find(known.begin(), known.end(), key) != known.end())
            continue;
        const std::string near = json::nearest(key, known);
        member.error("The option \"" + key + "\" is not known here.",
                     near.empty() ? "one of " + json::listOr(known) : "\"" + near + "\"",
                     near.empty() ? "Remove it." : "Correct its name, or remove it.");
    }
}

void refuseUsed(const json::Reader& object, const std::vector<std::string>& keys) {
    for (const std::string& key : keys) {
        const json::Reader member = object.at(key);
        if (member.exists() && isUsed(*member.value()))
            member.error("The option \"" + key + "\" is not supported.", "null, or left out",
                         "Remove it, if the model may be trained without it.");
    }
}

void readDType(const json::Reader& dtype) {
    if (dtype.isAbsent())
        return;
    const json::Reader name =
        dtype.value()->isObject() ? dtype.at("config").require("name", "\"float32\"") : dtype;
    const auto text = name.string();
    if (text && *text != "float32")
        name.error("The data type \"" + *text + "\" is not supported.", "\"float32\"",
                   "Build the model with dtype float32.");
}

std::size_t ErrorWatch::count() const {
    return static_cast<std::size_t>(
        std::count_if(m_problems->begin(), m_problems->end(),
                      [](const Problem& p) { return p.severity == Severity::Error; }));
}

} // namespace lockstep::nn::detail
