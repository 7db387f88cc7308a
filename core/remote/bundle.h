// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The worker's bundle and the helper, as files of this machine: what app/helper/pack.cpp wrote.

#include "core/base/result.h"

#include <QString>

#include <cstdint>

namespace lockstep::remote {

struct Bundle {
    QString architecture; ///< "x86_64", as uname -m says
    QString loader;       ///< name of the loader within it
    QString hash;         ///< SHA-256 of its manifest: its folder's name on a host
    QString packedHash;   ///< SHA-256 of packedFile
    QString packedFile;
    std::int64_t packedSize = 0;
    QString helperFile;
    QString helperHash;
};

/// Reads `bundle.json` of the folder; the helper stands beside that folder. NotFound, Corrupt.
Result<Bundle> readBundle(const QString& folder);

/// $LOCKSTEP_BUNDLE, else "bundle" beside the running program.
QString defaultBundleFolder();

} // namespace lockstep::remote
