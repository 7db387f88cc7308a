// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/remote/bundle.h"

#include "core/base/files.h"
#include "core/base/json.h"

#include <QCoreApplication>

namespace lockstep::remote {

QString defaultBundleFolder() {
    const QString named = qEnvironmentVariable("LOCKSTEP_BUNDLE");
    return named.isEmpty() ? QCoreApplication::applicationDirPath() + u"/bundle"_qs : named;
}

Result<Bundle> readBundle(const QString& folder) {
    const std::string path = folder.toStdString() + "/bundle.json";
    const auto bytes = files::read(path);
    if (!bytes)
        return Error{Code::NotFound,
                     "The worker program for hosts is missing; expected it beside this program, "
                     "or its folder in the variable LOCKSTEP_BUNDLE.",
                     path};
    const auto value = json::parse(*bytes, path);
    if (!value)
        return Error{Code::Corrupt, "The bundle's description is no JSON.", path};
    const auto text = [&](const char* key) {
        const json::Value* member = value->find(key);
        return member && member->isString() ? QString::fromStdString(member->toString())
                                            : QString();
    };
    Bundle bundle;
    bundle.architecture = text("architecture");
    bundle.loader = text("loader");
    bundle.hash = text("hash");
    bundle.packedHash = text("packed");
    bundle.packedFile = folder + u"/bundle.z"_qs;
    if (const json::Value* size = value->find("size"); size && size->isInteger())
        bundle.packedSize = size->toInteger();
    bundle.helperFile = folder + u"/../lockstep-helper"_qs;
    bundle.helperHash = text("helper");
    if (bundle.hash.isEmpty() || bundle.loader.isEmpty() || bundle.packedSize <= 0 ||
        bundle.helperHash.isEmpty())
        return Error{Code::Corrupt, "The bundle's description is not whole; build it again.", path};
    return bundle;
}

} // namespace lockstep::remote
