// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/ssh/known_hosts.h"

#include "core/base/files.h"
#include "core/ssh/detail/agent_relay.h"
#include "core/ssh/detail/patterns.h"

#include <QCryptographicHash>
#include <QFile>
#include <QFileInfo>
#include <QMessageAuthenticationCode>
#include <QRandomGenerator>
#include <QRegularExpression>

#include <sys/stat.h>

#include <cerrno>
#include <mutex>
#include <optional>

namespace lockstep::ssh {

namespace {

constexpr qint64 kLargestFile = 64 << 20;

QByteArray hashOf(const QString& name, const QByteArray& salt) {
    return QMessageAuthenticationCode::hash(name.toLower().toUtf8(), salt,
                                            QCryptographicHash::Sha1);
}

/// "|1|salt|hash"
bool matchesHash(const QString& name, QStringView field) {
    const auto parts = field.split(u'|');
    if (parts.size() != 4 || parts[1] != u"1")
        return false;
    const QByteArray salt = QByteArray::fromBase64(parts[2].toLatin1());
    return hashOf(name, salt) == QByteArray::fromBase64(parts[3].toLatin1());
}

/// The first field of a line: patterns by commas, ! takes back, or one hashed name.
bool names(const QString& hosts, const QString& name) {
    if (hosts.startsWith(u'|'))
        return matchesHash(name, hosts);
    return detail::matchPatternList(name, hosts, Qt::CaseInsensitive) == detail::ListMatch::Taken;
}

std::optional<KnownHostsLine> parseLine(const QString& text) {
    static const QRegularExpression space(QStringLiteral("[ \t]+"));
    QStringList fields = text.trimmed().split(space);
    KnownHostsLine line;
    if (fields.first().startsWith(u'@')) {
        const QString marker = fields.takeFirst();
        if (marker == u"@revoked")
            line.marker = KnownHostsLine::Marker::Revoked;
        else if (marker == u"@cert-authority")
            line.marker = KnownHostsLine::Marker::CertAuthority;
        else
            return std::nullopt;
    }
    if (fields.size() < 3)
        return std::nullopt;
    line.hosts = fields[0];
    line.key.type = fields[1];
    const auto blob = QByteArray::fromBase64Encoding(fields[2].toLatin1(),
                                                     QByteArray::AbortOnBase64DecodingErrors);
    if (!blob || typeOfKey(*blob) != line.key.type)
        return std::nullopt;
    line.key.blob = *blob;
    return line;
}

/// The line to write for a name.
QByteArray lineFor(const QString& name, const HostKey& key, bool hashed) {
    QByteArray field = name.toUtf8();
    if (hashed) {
        QByteArray salt(20, '\0');
        QRandomGenerator::system()->generate(salt.begin(), salt.end());
        field = "|1|" + salt.toBase64() + "|" + hashOf(name, salt).toBase64();
    }
    return field + ' ' + key.type.toUtf8() + ' ' + key.blob.toBase64() + '\n';
}

/// A name that would end the field or the line, or be read as a pattern, cannot be written down.
Status checkWritableName(const QString& name) {
    static const QRegularExpression wrong(QStringLiteral("^[@#|!]|[\\s,*?\\x00-\\x1f]|^$"));
    if (!wrong.match(name).hasMatch())
        return {};
    return Error{Code::InvalidArgument,
                 "This host name cannot be written into known_hosts; expected a name without "
                 "spaces, commas and wildcards.",
                 name.toStdString()};
}

struct OldFile {
    QByteArray bytes;
    unsigned mode = 0600;
};

/// What is there, after it was copied to ".old".
Result<OldFile> takeOldFile(const std::string& path) {
    OldFile old;
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0)
        return errno == ENOENT ? Result<OldFile>(old) : files::fromErrno(errno, "read", path);
    const auto bytes = files::read(path, kLargestFile);
    if (!bytes)
        return bytes.error();
    old.bytes = QByteArray::fromStdString(*bytes);
    old.mode = info.st_mode & 0777;
    if (!bytes->empty())
        LOCKSTEP_TRY(
            files::writeAtomic(path + ".old", *bytes, files::Durability::Synced, old.mode));
    return old;
}

} // namespace

QString typeOfKey(const QByteArray& blob) {
    return detail::typeOfBlob(blob);
}

QString fingerprint(const QByteArray& blob) {
    const QByteArray hash = QCryptographicHash::hash(blob, QCryptographicHash::Sha256);
    return QStringLiteral("SHA256:") +
           QString::fromLatin1(hash.toBase64(QByteArray::OmitTrailingEquals));
}

QString knownHostsName(const QString& name, int port) {
    return port == 22 ? name : QStringLiteral("[%1]:%2").arg(name).arg(port);
}

Result<KnownHosts> KnownHosts::read(const QStringList& files) {
    KnownHosts known;
    for (const QString& path : files) {
        QFile file(path);
        if (!file.exists())
            continue;
        if (!file.open(QIODevice::ReadOnly) || file.size() > kLargestFile)
            return Error{
                Code::PermissionDenied,
                "The list of known hosts cannot be read: " + file.errorString().toStdString() + ".",
                path.toStdString()};
        int number = 0;
        for (const QByteArray& bytes : file.readAll().split('\n')) {
            ++number;
            const QString text = QString::fromUtf8(bytes).trimmed();
            if (text.isEmpty() || text.startsWith(u'#'))
                continue;
            if (auto line = parseLine(text)) {
                line->file = path;
                line->line = number;
                known.m_lines += *line;
            }
        }
    }
    return known;
}

HostKeyCheck KnownHosts::check(const QString& name, int port, const HostKey& offered) const {
    const HostKeyCheck exact = checkName(knownHostsName(name, port), offered);
    if (exact.verdict != HostKeyCheck::Verdict::Unknown || port == 22)
        return exact;
    const HostKeyCheck plain = checkName(name, offered);
    const bool decides = plain.verdict == HostKeyCheck::Verdict::Match ||
                         plain.verdict == HostKeyCheck::Verdict::Revoked;
    return decides ? plain : exact;
}

/// For a name as it stands in the files.
HostKeyCheck KnownHosts::checkName(const QString& wanted, const HostKey& offered) const {
    HostKeyCheck result;
    const KnownHostsLine* match = nullptr;
    const KnownHostsLine* other = nullptr;
    for (const KnownHostsLine& line : m_lines) {
        const bool isOurs = names(line.hosts, wanted);
        const bool isSameKey = line.key.blob == offered.blob;
        if (line.marker == KnownHostsLine::Marker::CertAuthority) {
            result.hasCertAuthority = result.hasCertAuthority || isOurs;
        } else if (line.marker == KnownHostsLine::Marker::Revoked) {
            if (isOurs && isSameKey) {
                result.verdict = HostKeyCheck::Verdict::Revoked;
                result.line = line;
                return result; // nothing outweighs it
            }
        } else if (isOurs && isSameKey) {
            match = match ? match : &line;
        } else if (isOurs && line.key.type == offered.type) {
            other = other ? other : &line;
        } else if (isOurs) {
            result.otherLines += line;
            if (!result.otherTypes.contains(line.key.type))
                result.otherTypes += line.key.type;
        } else if (isSameKey) {
            result.otherNames +=
                line.hosts.startsWith(u'|')
                    ? QStringLiteral("a hidden name, %1:%2").arg(line.file).arg(line.line)
                    : line.hosts;
        }
    }
    if (match || other) {
        result.verdict = match ? HostKeyCheck::Verdict::Match : HostKeyCheck::Verdict::Changed;
        result.line = match ? *match : *other;
    }
    return result;
}

bool KnownHosts::has(const QString& wanted, const HostKey& key) const {
    return checkName(wanted, key).verdict == HostKeyCheck::Verdict::Match;
}

QStringList KnownHosts::typesOf(const QString& name, int port) const {
    const auto typesOfName = [&](const QString& wanted) {
        QStringList types;
        for (const KnownHostsLine& line : m_lines)
            if (line.marker == KnownHostsLine::Marker::None && !types.contains(line.key.type) &&
                names(line.hosts, wanted))
                types += line.key.type;
        return types;
    };
    const QStringList types = typesOfName(knownHostsName(name, port));
    return types.isEmpty() ? typesOfName(name) : types;
}

Status addKnownHost(const QString& path, const QString& name, int port, const HostKey& key,
                    bool hashed) {
    static std::mutex writing; // each session has a thread, and each writes the whole file
    const std::lock_guard lock(writing);
    LOCKSTEP_TRY(checkWritableName(name));
    const QFileInfo info(path);
    const std::string file =
        (info.exists() ? info.canonicalFilePath() : info.absoluteFilePath()).toStdString();
    LOCKSTEP_TRY(
        files::makeFolders(QFileInfo(QString::fromStdString(file)).path().toStdString(), 0700));
    const auto known = KnownHosts::read({path});
    if (!known)
        return known.error();
    if (known->has(knownHostsName(name, port), key))
        return {};
    auto old = takeOldFile(file);
    if (!old)
        return old.error();
    if (!old->bytes.isEmpty() && !old->bytes.endsWith('\n'))
        old->bytes += '\n';
    old->bytes += lineFor(knownHostsName(name, port), key, hashed);
    return files::writeAtomic(file, old->bytes.toStdString(), files::Durability::Synced, old->mode);
}

} // namespace lockstep::ssh
