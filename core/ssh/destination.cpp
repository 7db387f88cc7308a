// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/ssh/destination.h"

#include <algorithm>

namespace lockstep::ssh {

namespace {

Error notADestination(const QString& text, const std::string& why) {
    return {Code::InvalidArgument,
            why + " Expected a destination as ssh takes it: n0, alice@n0 or ssh://alice@n0:2222.",
            text.toStdString()};
}

bool hasControlOrSpace(const QString& text) {
    return std::any_of(text.begin(), text.end(),
                       [](QChar c) { return c.isSpace() || c.category() == QChar::Other_Control; });
}

/// "n0:2222", "[fd00::2]:2022", "[fd00::2]" of an ssh:// text.
Result<Destination> parseAuthority(const QString& text, const QString& authority) {
    Destination destination;
    QString port;
    if (authority.startsWith(u'[')) {
        const qsizetype end = authority.indexOf(u']');
        if (end < 0)
            return notADestination(text, "The ] of the IPv6 address is missing.");
        destination.host = authority.mid(1, end - 1);
        if (end + 1 < authority.size() && authority[end + 1] != u':')
            return notADestination(text, "After ] only :port may follow.");
        port = authority.mid(end + 2);
    } else {
        const qsizetype colon = authority.indexOf(u':');
        destination.host = authority.left(colon);
        if (colon >= 0)
            port = authority.mid(colon + 1);
        if (port.contains(u':'))
            return notADestination(text, "An IPv6 address in ssh:// needs brackets.");
    }
    if (!port.isEmpty()) {
        bool ok = false;
        destination.port = port.toInt(&ok);
        if (!ok || destination.port < 1 || destination.port > 65535)
            return notADestination(text, "The port is not a number from 1 to 65535.");
    }
    return destination;
}

} // namespace

QString Destination::text() const {
    const QString at = user.isEmpty() ? QString() : user + u'@';
    if (port == 0)
        return at + host;
    return at + (host.contains(u':') ? u'[' + host + u']' : host) + u':' + QString::number(port);
}

Result<Destination> parseDestination(const QString& text) {
    if (hasControlOrSpace(text))
        return notADestination(text, "There is a space or a control character in it.");
    const bool isUri = text.startsWith(u"ssh://");
    QString rest = isUri ? text.mid(6) : text;
    if (isUri && rest.endsWith(u'/'))
        rest.chop(1);
    const qsizetype at = rest.lastIndexOf(u'@');
    const QString user = at < 0 ? QString() : rest.left(at);
    const QString authority = rest.mid(at + 1);

    Destination destination;
    if (isUri) {
        auto parsed = parseAuthority(text, authority);
        if (!parsed)
            return parsed.error();
        destination = std::move(*parsed);
    } else {
        destination.host = authority;
    }
    destination.user = user;
    if (destination.host.isEmpty() || (at >= 0 && user.isEmpty()))
        return notADestination(text,
                               at == 0 ? "The user before @ is missing." : "The host is missing.");
    if (destination.host.startsWith(u'-') || user.startsWith(u'-'))
        return notADestination(text, "A destination cannot start with \"-\".");
    return destination;
}

} // namespace lockstep::ssh
