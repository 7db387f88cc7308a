// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/document/format.h"

#include "core/job/job_spec.h"

#include <algorithm>
#include <cassert>

namespace lockstep::document {

namespace {

constexpr std::string_view kPrefix = "lockstep-";

/// "a cluster" for "lockstep-cluster".
std::string kindOf(const std::string& format) {
    if (!format.starts_with(kPrefix))
        return "a file of format \"" + format + "\"";
    return "a " + format.substr(kPrefix.size());
}

/// What a JSON file without our header most likely is.
std::string guess(const json::Value& document) {
    if (document.contains("class_name"))
        return " It looks like a Keras model: name it as \"model\" of a job.";
    if (document.contains("cluster"))
        return " It looks like a TF_CONFIG: import it instead of opening it.";
    return {};
}

std::string headerOf(const Format& format) {
    return "{\"format\": \"" + format.name + "\", \"version\": " + std::to_string(format.version) +
           ", ...}";
}

Status checkFormat(const json::Value& document, const std::string& where, const Format& format) {
    const std::string expected = "expected " + kindOf(format.name);
    if (!document.isObject())
        return Error{Code::InvalidArgument,
                     "This file holds " + json::nameOf(document) + "; " + expected + ", " +
                         headerOf(format) + ".",
                     where};
    const json::Value* name = document.find("format");
    if (!name || !name->isString())
        return Error{Code::InvalidArgument,
                     "This file does not say its format; " + expected + ", which begins with " +
                         headerOf(format) + "." + guess(document),
                     where};
    if (name->toString() != format.name)
        return Error{Code::InvalidArgument,
                     "This is " + kindOf(name->toString()) + ", " + expected + ".", where};
    return {};
}

Result<int> checkVersion(const json::Value& document, const std::string& where,
                         const Format& format) {
    const json::Value* version = document.find("version");
    if (!version || !version->isInteger() || version->toInteger() < 1)
        return Error{Code::InvalidArgument,
                     "The version of this file is " +
                         (version ? json::nameOf(*version) : std::string("missing")) +
                         "; expected a whole number from 1 to " + std::to_string(format.version) +
                         ".",
                     where};
    if (version->toInteger() > format.version)
        return Error{Code::NewerFormat,
                     "This file has version " + std::to_string(version->toInteger()) + " of \"" +
                         format.name + "\"; this program reads versions up to " +
                         std::to_string(format.version) + ". Update Lockstep to open it.",
                     where};
    return static_cast<int>(version->toInteger());
}

} // namespace

const Format& clusterFormat() {
    static const Format format{"lockstep-cluster", 1, {}};
    return format;
}

const Format& jobFormat() {
    static const Format format{job::kJobFormat, job::kJobVersion, {}};
    return format;
}

Result<Opened> open(std::string_view text, const std::string& where, const Format& format) {
    auto parsed = json::parse(text, where);
    if (!parsed)
        return parsed.error();
    Opened opened{std::move(*parsed), 1, {}};
    LOCKSTEP_TRY(checkFormat(opened.document, where, format));
    const auto version = checkVersion(opened.document, where, format);
    if (!version)
        return version.error();
    opened.readVersion = *version;
    for (int at = *version; at < format.version; ++at) {
        const auto step = std::find_if(format.migrations.begin(), format.migrations.end(),
                                       [&](const Migration& m) { return m.from == at; });
        if (step == format.migrations.end())
            return Error{Code::Unsupported,
                         "Version " + std::to_string(*version) + " of \"" + format.name +
                             "\" is too old for this program. Open and save it with an earlier "
                             "Lockstep first.",
                         where};
        assert(step->to == at + 1);
        if (const Status done = step->apply(opened.document, opened.notes); !done) {
            Error error = done.error();
            error.where = where;
            return error;
        }
        opened.document.set("version", step->to);
    }
    return opened;
}

} // namespace lockstep::document
