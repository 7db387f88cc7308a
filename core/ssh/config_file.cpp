// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/ssh/detail/config_file.h"

#include "core/base/files.h"

#include <QFileInfo>

#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lockstep::ssh::detail {

namespace {

constexpr std::size_t kLargestFile = 4 << 20;

bool isSpace(QChar c) {
    return c == u' ' || c == u'\t' || c == u'\r' || c == u'\n' || c == u'\f';
}

qsizetype skipSpace(const QString& text, qsizetype at) {
    while (at < text.size() && isSpace(text[at]))
        ++at;
    return at;
}

/// Past the spaces after a word, and past one "=" among them.
qsizetype skipDelimiter(const QString& text, qsizetype at) {
    at = skipSpace(text, at);
    return at < text.size() && text[at] == u'=' ? skipSpace(text, at + 1) : at;
}

ConfigLine parseLine(const QString& text) {
    ConfigLine line;
    qsizetype end = 0;
    while (end < text.size() && !isSpace(text[end]) && text[end] != u'=' && text[end] != u'"')
        ++end;
    line.keyword = text.left(end).toLower();
    line.rest = text.mid(skipDelimiter(text, end));
    return line;
}

Status checkOwnership(const QString& path) {
    struct stat info {};
    if (::stat(path.toLocal8Bit().constData(), &info) != 0)
        return {};
    const bool isForeign = info.st_uid != 0 && info.st_uid != ::getuid();
    if (!isForeign && (info.st_mode & 022) == 0)
        return {};
    return Error{Code::PermissionDenied,
                 isForeign ? "This SSH configuration belongs to somebody else, so ssh refuses it. "
                             "Make it yours with chown."
                           : "Others may write this SSH configuration, so ssh refuses it. Run "
                             "chmod go-w on it.",
                 path.toStdString()};
}

} // namespace

Error ConfigLine::error(const QString& message) const {
    return {Code::InvalidArgument, message.toStdString(),
            file.toStdString() + ":" + std::to_string(number)};
}

Result<std::optional<QList<ConfigLine>>> readConfigFile(const QString& path, Ownership ownership) {
    if (!QFileInfo::exists(path) || QFileInfo(path).isDir())
        return std::optional<QList<ConfigLine>>();
    if (ownership == Ownership::Checked)
        LOCKSTEP_TRY(checkOwnership(path));
    const auto bytes = files::read(path.toStdString(), kLargestFile);
    if (!bytes)
        return bytes.error();
    QList<ConfigLine> lines;
    int number = 0;
    for (const QString& text : QString::fromStdString(*bytes).split(u'\n')) {
        ++number;
        qsizetype end = text.size();
        while (end > 0 && isSpace(text[end - 1]))
            --end;
        const QString trimmed = text.left(end).mid(skipSpace(text, 0));
        if (trimmed.isEmpty() || trimmed.startsWith(u'#'))
            continue;
        lines += parseLine(trimmed);
        lines.back().file = path;
        lines.back().number = number;
    }
    return std::optional(std::move(lines));
}

Result<QStringList> splitWords(const ConfigLine& line) {
    const QString& text = line.rest;
    QStringList words;
    for (qsizetype i = skipSpace(text, 0); i < text.size() && text[i] != u'#';
         i = skipSpace(text, i)) {
        QString word;
        QChar quote;
        for (; i < text.size(); ++i) {
            const QChar c = text[i];
            const QChar next = i + 1 < text.size() ? text[i + 1] : QChar();
            if (c == u'\\' && (next == u'\'' || next == u'"' || next == u'\\' ||
                               (quote.isNull() && next == u' '))) {
                word += next;
                ++i;
            } else if (quote.isNull() && isSpace(c)) {
                break;
            } else if (quote.isNull() && (c == u'"' || c == u'\'')) {
                quote = c;
            } else if (!quote.isNull() && c == quote) {
                quote = QChar();
            } else {
                word += c;
            }
        }
        if (!quote.isNull())
            return line.error(QStringLiteral("A quote of %1 is not closed.").arg(line.keyword));
        words += word;
    }
    return words;
}

Result<QStringList> splitMatch(const ConfigLine& line) {
    const QString& text = line.rest;
    QStringList words;
    for (qsizetype i = skipSpace(text, 0); i < text.size() && text[i] != u'#';) {
        qsizetype end = i;
        if (text[i] == u'"') {
            end = text.indexOf(u'"', i + 1);
            if (end < 0)
                return line.error(QStringLiteral("A quote of Match is not closed."));
            words += text.mid(i + 1, end - i - 1);
            i = skipSpace(text, end + 1);
            continue;
        }
        while (end < text.size() && !isSpace(text[end]) && text[end] != u'=' && text[end] != u'"')
            ++end;
        words += text.mid(i, end - i);
        i = skipDelimiter(text, end);
    }
    return words;
}

Result<QStringList> includedFiles(const ConfigLine& line, const QString& pattern,
                                  ConfigOwner owner) {
    if (pattern.startsWith(u'~') && owner == ConfigOwner::System)
        return line.error(QStringLiteral("A system-wide configuration cannot include %1: ~ is "
                                         "nobody's home there.")
                              .arg(pattern));
    QString path = pattern;
    if (!path.startsWith(u'/') && !path.startsWith(u'~'))
        path.prepend(owner == ConfigOwner::User ? QStringLiteral("~/.ssh/")
                                                : QStringLiteral("/etc/ssh/"));
    glob_t found{};
    const int rc = ::glob(path.toLocal8Bit().constData(), GLOB_TILDE, nullptr, &found);
    QStringList files;
    for (std::size_t i = 0; rc == 0 && i < found.gl_pathc; ++i)
        files += QString::fromLocal8Bit(found.gl_pathv[i]);
    ::globfree(&found);
    if (rc != 0 && rc != GLOB_NOMATCH)
        return line.error(QStringLiteral("The files of Include %1 cannot be listed.").arg(pattern));
    return files;
}

} // namespace lockstep::ssh::detail
