// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// OpenSSH's known_hosts files (sshd(8), "SSH_KNOWN_HOSTS FILE FORMAT"), read by us: libssh ignores
// the markers, so that a revoked key would pass. Blocking reads of small files; any thread.

#include "core/base/result.h"

#include <QByteArray>
#include <QList>
#include <QString>
#include <QStringList>

namespace lockstep::ssh {

struct HostKey {
    QString type;    ///< "ssh-ed25519"
    QByteArray blob; ///< the public key as on the wire
    bool operator==(const HostKey&) const = default;
};

/// The key's own name for its kind, as the blob begins with it; empty where it is none.
QString typeOfKey(const QByteArray& blob);

/// "SHA256:" and the unpadded base64 of the key's SHA-256, as ssh-keygen -l prints it.
QString fingerprint(const QByteArray& blob);

struct KnownHostsLine {
    enum class Marker { None, Revoked, CertAuthority };
    Marker marker = Marker::None;
    QString hosts; ///< the first field, as written
    HostKey key;
    QString file;
    int line = 0; ///< 1-based
};

struct HostKeyCheck {
    enum class Verdict {
        Match,
        Unknown, ///< no line for this host with this kind of key (it may be known with another)
        Changed, ///< the host is known with another key of the same kind
        Revoked,
    };
    Verdict verdict = Verdict::Unknown;
    KnownHostsLine line;    ///< Match, Changed, Revoked: the one that decided
    QStringList otherNames; ///< Unknown: names that have this very key (a clone, or an alias)
    QStringList otherTypes; ///< other kinds of key that this host is known with
    QList<KnownHostsLine> otherLines; ///< the lines of these, to be shown beside the offered key
    bool hasCertAuthority = false; ///< there is an @cert-authority line for it, which we cannot use
};

class KnownHosts {
public:
    /// Files that do not exist are empty; unreadable ones are an Error. Lines that are no lines are
    /// passed over, as OpenSSH does.
    static Result<KnownHosts> read(const QStringList& files);

    /// `name` is the host name, address or HostKeyAlias; `port` makes it "[name]:port" unless 22.
    /// As in OpenSSH, a key that is known for the name without a port is good at any port.
    HostKeyCheck check(const QString& name, int port, const HostKey& offered) const;
    /// Kinds of key that the host is known with, in the order of the files, so that those are asked
    /// for at the key exchange.
    QStringList typesOf(const QString& name, int port) const;
    /// Whether a line gives this key to a name as knownHostsName() spells it.
    bool has(const QString& name, const HostKey& key) const;

private:
    HostKeyCheck checkName(const QString& name, const HostKey& offered) const;

    QList<KnownHostsLine> m_lines;
};

/// The name that a line carries: "n0", or "[n0]:2222".
QString knownHostsName(const QString& name, int port);

/// Appends a line, writing the whole file anew under its name (the old one is kept as ".old", a
/// link is followed, the mode stays); makes ~/.ssh (0700) where missing. `hashed` hides the name as
/// HashKnownHosts asks. Nothing is added that is there already. Calls from many threads take turns.
Status addKnownHost(const QString& file, const QString& name, int port, const HostKey& key,
                    bool hashed);

} // namespace lockstep::ssh
