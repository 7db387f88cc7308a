// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/ssh/known_hosts.h"

#include "core/base/files.h"

#include <QCryptographicHash>
#include <QFile>
#include <QFileInfo>
#include <QMessageAuthenticationCode>
#include <QRandomGenerator>
#include <QRegularExpression>

namespace lockstep::ssh {

namespace {

constexpr qint64 kLargestFile = 64 << 20;

/// OpenSSH's wildcards: * and ?, nothing else, without regard to case.
bool matchesPattern(QStringView text, QStringView pattern) {
    qsizetype t = 0, p = 0, star = -1, mark = 0;
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == u'*') {
            star = p++;
            mark = t;
        } else if (p < pattern.size() &&
                   (pattern[p] == u'?' || pattern[p].toLower() == text[t].toLower())) {
            ++p;
            ++t;
        } else if (star >= 0) {
            p = star + 1;
            t = ++mark;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == u'*')
        ++p;
    return p == pattern.size();
}

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
    bool found = false;
    for (QStringView pattern : QStringView(hosts).split(u',', Qt::SkipEmptyParts)) {
        const bool isNot = pattern.startsWith(u'!');
        if (!matchesPattern(name, isNot ? pattern.mid(1) : pattern))
            continue;
        if (isNot)
            return false;
        found = true;
    }
    return found;
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
    if (!blob)
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

} // namespace

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
    const QString wanted = knownHostsName(name, port);
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

QStringList KnownHosts::typesOf(const QString& name, int port) const {
    QStringList types;
    for (const KnownHostsLine& line : m_lines)
        if (line.marker == KnownHostsLine::Marker::None && !types.contains(line.key.type) &&
            names(line.hosts, knownHostsName(name, port)))
            types += line.key.type;
    return types;
}

Status addKnownHost(const QString& path, const QString& name, int port, const HostKey& key,
                    bool hashed) {
    const std::string file = path.toStdString();
    LOCKSTEP_TRY(files::makeFolders(QFileInfo(path).path().toStdString(), 0700));
    QFile old(path);
    QByteArray bytes;
    unsigned mode = 0600;
    if (old.exists()) {
        if (!old.open(QIODevice::ReadOnly))
            return Error{
                Code::PermissionDenied,
                "The list of known hosts cannot be read: " + old.errorString().toStdString() + ".",
                file};
        bytes = old.readAll();
        mode = old.permissions().testFlag(QFileDevice::ReadOther) ? 0644 : 0600;
        LOCKSTEP_TRY(files::writeAtomic(file + ".old", bytes.toStdString(),
                                        files::Durability::Synced, mode));
    }
    if (!bytes.isEmpty() && !bytes.endsWith('\n'))
        bytes += '\n';
    bytes += lineFor(knownHostsName(name, port), key, hashed);
    return files::writeAtomic(file, bytes.toStdString(), files::Durability::Synced, mode);
}

} // namespace lockstep::ssh
