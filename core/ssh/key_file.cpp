// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/ssh/key_file.h"

#include "core/base/files.h"
#include "core/ssh/known_hosts.h"

#include <QFile>

#include <sys/stat.h>
#include <unistd.h>

#include <optional>

namespace lockstep::ssh {

namespace {

constexpr std::size_t kLargestFile = 1 << 20;

/// A walk over the strings and numbers of SSH's wire format (RFC 4251, section 5).
class WireReader {
public:
    explicit WireReader(QByteArray bytes)
        : m_bytes(std::move(bytes)) {}

    bool skip(const QByteArray& expected) {
        if (m_bytes.mid(m_at, expected.size()) != expected)
            return false;
        m_at += expected.size();
        return true;
    }
    std::optional<quint32> number() {
        if (m_bytes.size() - m_at < 4)
            return std::nullopt;
        quint32 value = 0;
        for (const char byte : m_bytes.mid(m_at, 4))
            value = value << 8 | static_cast<quint8>(byte);
        m_at += 4;
        return value;
    }
    std::optional<QByteArray> string() {
        const auto size = number();
        if (!size || *size > static_cast<quint32>(m_bytes.size() - m_at))
            return std::nullopt;
        m_at += static_cast<qsizetype>(*size);
        return m_bytes.mid(m_at - static_cast<qsizetype>(*size), static_cast<qsizetype>(*size));
    }

private:
    QByteArray m_bytes;
    qsizetype m_at = 0;
};

/// The armour around a key: its label, its header lines, its bytes.
struct Armour {
    QByteArray label;
    QByteArray headers;
    QByteArray bytes;
};

std::optional<Armour> readArmour(const QByteArray& text) {
    static const QByteArray begin("-----BEGIN ");
    const qsizetype start = text.indexOf(begin);
    const qsizetype labelEnd = start < 0 ? -1 : text.indexOf("-----", start + begin.size());
    if (labelEnd < 0)
        return std::nullopt;
    Armour armour;
    armour.label = text.mid(start + begin.size(), labelEnd - start - begin.size());
    const qsizetype end = text.indexOf("-----END " + armour.label, labelEnd);
    if (end < 0)
        return std::nullopt;
    QByteArray base64;
    for (const QByteArray& line : text.mid(labelEnd + 5, end - labelEnd - 5).split('\n')) {
        if (line.contains(':'))
            armour.headers += line.trimmed() + '\n';
        else
            base64 += line.trimmed();
    }
    armour.bytes = QByteArray::fromBase64(base64);
    return armour;
}

/// "ssh-ed25519 AAAA… comment", a line of options before it not counted.
std::optional<QByteArray> readPublicLine(const QByteArray& text) {
    for (const QByteArray& line : text.split('\n')) {
        const QList<QByteArray> words = line.simplified().split(' ');
        if (words.size() < 2 || words[0].startsWith('#'))
            continue;
        const QByteArray blob = QByteArray::fromBase64(words[1]);
        if (!words[0].isEmpty() && typeOfKey(blob).toLatin1() == words[0])
            return blob;
    }
    return std::nullopt;
}

/// PROTOCOL.key: magic, cipher, kdf, kdf options, number of keys, public key, private part.
void readOpenSsh(const QByteArray& bytes, KeyFile& key) {
    WireReader reader(bytes);
    if (!reader.skip(QByteArray("openssh-key-v1\0", 15)))
        return;
    const auto cipher = reader.string();
    const auto kdf = reader.string();
    const auto options = reader.string();
    const auto count = reader.number();
    const auto blob = reader.string();
    if (!cipher || !kdf || !options || count != 1U || !blob || typeOfKey(*blob).isEmpty())
        return;
    key.format = KeyFile::Format::OpenSsh;
    key.isEncrypted = *cipher != "none";
    key.publicBlob = *blob;
    key.type = typeOfKey(*blob);
}

/// The named curves and algorithms as DER writes their object identifiers.
QString typeOfDer(const QByteArray& der) {
    static const std::pair<QByteArray, QString> names[] = {
        {QByteArray::fromHex("06082a8648ce3d030107"), QStringLiteral("ecdsa-sha2-nistp256")},
        {QByteArray::fromHex("06052b81040022"), QStringLiteral("ecdsa-sha2-nistp384")},
        {QByteArray::fromHex("06052b81040023"), QStringLiteral("ecdsa-sha2-nistp521")},
        {QByteArray::fromHex("06032b6570"), QStringLiteral("ssh-ed25519")},
        {QByteArray::fromHex("06092a864886f70d010101"), QStringLiteral("ssh-rsa")}};
    for (const auto& [identifier, name] : names)
        if (der.contains(identifier))
            return name;
    return {};
}

void readPem(const Armour& armour, KeyFile& key) {
    key.isEncrypted = armour.headers.contains("ENCRYPTED");
    if (armour.label == "ENCRYPTED PRIVATE KEY" || armour.label == "PRIVATE KEY") {
        key.format = KeyFile::Format::Pkcs8;
        key.isEncrypted = armour.label.startsWith("ENCRYPTED");
    } else if (armour.label == "RSA PRIVATE KEY" || armour.label == "EC PRIVATE KEY" ||
               armour.label == "DSA PRIVATE KEY") {
        key.format = KeyFile::Format::Pem;
    } else {
        return;
    }
    if (armour.label.startsWith("RSA"))
        key.type = QStringLiteral("ssh-rsa");
    else if (armour.label.startsWith("DSA"))
        key.type = QStringLiteral("ssh-dss");
    else if (!key.isEncrypted)
        key.type = typeOfDer(armour.bytes);
}

void readPublicFile(KeyFile& key) {
    const auto text = files::read((key.path + QStringLiteral(".pub")).toStdString(), kLargestFile);
    if (!text)
        return;
    const auto blob = readPublicLine(QByteArray::fromStdString(*text));
    if (!blob)
        return;
    key.hasPublicFile = true;
    // A .pub of another key is no rare mistake: what the private file says goes first.
    if (key.publicBlob.isEmpty() && (key.type.isEmpty() || key.type == typeOfKey(*blob))) {
        key.publicBlob = *blob;
        key.type = typeOfKey(*blob);
    }
}

} // namespace

bool KeyFile::isSecurityKey() const {
    return type.startsWith(u"sk-");
}

bool KeyFile::canBeTried() const {
    const bool isPrivate =
        format == Format::OpenSsh || format == Format::Pem || format == Format::Pkcs8;
    return isPrivate && !isSecurityKey() && !isTooOpen && type != u"ssh-dss";
}

QStringList KeyFile::problems() const {
    QStringList told;
    if (format == Format::Other)
        told += QStringLiteral("%1 is no private key that OpenSSH knows. Name the file that "
                               "ssh-keygen wrote, without .pub.")
                    .arg(path);
    if (format == Format::Putty)
        told += QStringLiteral("%1 is a key of PuTTY. Convert it with: puttygen %1 -O "
                               "private-openssh -o newfile")
                    .arg(path);
    if (format == Format::PublicOnly)
        told += QStringLiteral("%1 is a public key. It can be used where the agent holds its "
                               "private half; else name the private key.")
                    .arg(path);
    if (isSecurityKey())
        told += QStringLiteral("%1 belongs to a security key, which only the agent can ask to "
                               "sign. Load it with: ssh-add %1")
                    .arg(path);
    if (type == u"ssh-dss")
        told += QStringLiteral("%1 is a DSA key, which hosts no longer take. Make a new one with: "
                               "ssh-keygen -t ed25519")
                    .arg(path);
    if (isTooOpen)
        told += QStringLiteral("Others may read %1 (mode %2), so ssh refuses it. Run: chmod 600 %1")
                    .arg(path)
                    .arg(mode, 4, 8, QLatin1Char('0'));
    return told;
}

Result<KeyFile> inspectKeyFile(const QString& path) {
    const auto text = files::read(path.toStdString(), kLargestFile);
    if (!text)
        return text.error();
    const QByteArray bytes = QByteArray::fromStdString(*text);
    KeyFile key;
    key.path = path;
    struct stat info {};
    if (::stat(QFile::encodeName(path).constData(), &info) == 0)
        key.mode = info.st_mode & 0777;
    if (const auto armour = readArmour(bytes)) {
        if (armour->label == "OPENSSH PRIVATE KEY")
            readOpenSsh(armour->bytes, key);
        else
            readPem(*armour, key);
    } else if (const auto blob = readPublicLine(bytes)) {
        key.format = KeyFile::Format::PublicOnly;
        key.publicBlob = *blob;
        key.type = typeOfKey(*blob);
        return key;
    } else if (bytes.startsWith("PuTTY-User-Key-File-")) {
        key.format = KeyFile::Format::Putty;
    }
    readPublicFile(key);
    // OpenSSH looks at files of one's own only: in others' the mode is their owner's business.
    key.isTooOpen =
        key.format != KeyFile::Format::Other && info.st_uid == ::getuid() && (key.mode & 077) != 0;
    return key;
}

} // namespace lockstep::ssh
