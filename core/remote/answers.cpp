// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/remote/detail/answers.h"

#include "core/base/json.h"

namespace lockstep::remote::detail {

Result<HostFacts> readPlace(const QByteArray& text, const std::string& where) {
    auto value = json::parse(std::string_view(text.constData(), text.size()), "place");
    if (!value)
        return Error{Code::Corrupt, "The worker program gave an answer that is no JSON.", where};
    const auto textAt = [&](const char* key) {
        const json::Value* member = value->find(key);
        return member && member->isString() ? member->toString() : std::string();
    };
    if (textAt("base").empty() || textAt("machine").empty())
        return Error{codeFromName(textAt("code")),
                     textAt("message").empty() ? "The worker program found no folder to use."
                                               : textAt("message"),
                     textAt("where")};
    HostFacts facts;
    facts.base = QString::fromStdString(textAt("base"));
    facts.machineFolder = QString::fromStdString(textAt("machine"));
    if (const json::Value* refused = value->find("refused"); refused && refused->isObject())
        for (const json::Member& member : refused->members())
            if (member.value.isString())
                facts.notes += QString::fromStdString(
                    member.key + " was passed over: " + member.value.toString());
    return facts;
}

Result<QString> readVersion(const Output& output, const std::string& where) {
    const QByteArray prefix = "lockstep-worker ";
    const QByteArray said = output.out.trimmed();
    if (!output.exit.isSuccess() || !said.startsWith(prefix))
        return Error{Code::Unsupported,
                     "This is not Lockstep's worker program: it did not answer --version as one" +
                         (output.err.isEmpty()
                              ? std::string(".")
                              : ": " + output.err.trimmed().left(500).toStdString()),
                     where};
    return QString::fromUtf8(said.mid(prefix.size()));
}

} // namespace lockstep::remote::detail
