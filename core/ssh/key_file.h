// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// What can be told of a private key file without its passphrase, so that a person is asked for the
// right thing, or told why a file is of no use. Source of the format: OpenSSH's PROTOCOL.key.
// Blocking reads of small files; any thread.

#include "core/base/result.h"

#include <QByteArray>
#include <QString>
#include <QStringList>

namespace lockstep::ssh {

struct KeyFile {
    enum class Format {
        OpenSsh,    ///< "BEGIN OPENSSH PRIVATE KEY", ssh-keygen's usual one
        Pem,        ///< "BEGIN RSA PRIVATE KEY" and the like
        Pkcs8,      ///< "BEGIN PRIVATE KEY", "BEGIN ENCRYPTED PRIVATE KEY"
        PublicOnly, ///< a public key under the name that was given
        Putty,      ///< PuTTY's own, which OpenSSH and we do not read
        Other,      ///< no key that we know
    };
    QString path;
    Format format = Format::Other;
    bool isEncrypted = false;
    QString type;          ///< "ssh-ed25519"; empty where it cannot be told
    QByteArray publicBlob; ///< as on the wire; of the file, else of the ".pub" beside it; or empty
    bool hasPublicFile = false;
    bool isTooOpen = false; ///< others may read it: ssh refuses such a key
    unsigned mode = 0;      ///< permission bits

    /// The private half lies in a token (type sk-…): only an agent can sign with it.
    bool isSecurityKey() const;
    bool canBeTried() const;
    /// What a person should know, as sentences with what to do; none where all is well.
    QStringList problems() const;
};

/// NotFound, PermissionDenied or InvalidArgument (a folder, longer than 1 MiB). A file that is no
/// key is no error: its format is Other.
Result<KeyFile> inspectKeyFile(const QString& path);

} // namespace lockstep::ssh
