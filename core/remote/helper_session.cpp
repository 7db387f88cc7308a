// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/remote/detail/helper_session.h"

#include "core/base/hash.h"
#include "core/remote/detail/bootstrap.h"

#include <algorithm>

namespace lockstep::remote::detail {

namespace {

constexpr qsizetype kPiece = 256 * 1024;
constexpr qint64 kQueue = 1 << 20;
constexpr qsizetype kNoiseKept = 2048;

/// Control characters of a host's text made visible.
QString plain(const QByteArray& text) {
    QString out;
    for (const QChar c : QString::fromUtf8(text.left(kNoiseKept)))
        out += c == u'\n' ? QStringLiteral(" ") : c.isPrint() ? QString(c) : QStringLiteral("·");
    return out.trimmed();
}

} // namespace

HelperSession::HelperSession(ssh::Connection& connection, Bundle bundle)
    : m_connection(connection)
    , m_bundle(std::move(bundle))
    , m_helper(m_bundle.helperFile) {}

HelperSession::~HelperSession() {
    m_stage = Stage::Over;
}

void HelperSession::start() {
    m_words = "exec /bin/sh";
    openShell("serve");
}

void HelperSession::openShell(const QByteArray& mode) {
    m_stage = Stage::Asking;
    m_mode = QString::fromLatin1(mode);
    m_mark = QByteArray::fromStdString(randomHex(16));
    m_text.clear();
    m_errors.clear();
    if (m_channel) {
        m_channel->disconnect(this);
        m_channel.release()->deleteLater(); // it may be what calls us
    }
    m_channel = m_connection.exec(m_words);
    connect(m_channel.get(), &ssh::Channel::received, this, &HelperSession::received);
    connect(m_channel.get(), &ssh::Channel::errorReceived, this, [this](const QByteArray& bytes) {
        if (m_errors.size() < kNoiseKept)
            m_errors += bytes;
    });
    connect(m_channel.get(), &ssh::Channel::closed, this, &HelperSession::shellClosed);
    connect(m_channel.get(), &ssh::Channel::written, this, [this] {
        if (m_stage == Stage::Sending)
            sendHelper();
        Q_EMIT written();
    });
    QByteArray script(kBootstrap);
    script.replace("@MARK@", m_mark);
    script.replace("@HASH@", m_bundle.helperHash.toLatin1());
    script.replace("@MODE@", mode);
    m_channel->write(script);
}

void HelperSession::received(const QByteArray& bytes) {
    if (m_stage == Stage::Serving)
        return takeFrames(bytes);
    m_text += bytes;
    takeLines();
}

void HelperSession::takeLines() {
    while (m_stage == Stage::Asking || m_stage == Stage::Sending) {
        const qsizetype end = m_text.indexOf('\n');
        if (end < 0)
            return;
        const QByteArray line = m_text.left(end);
        m_text.remove(0, end + 1);
        // A start-up file may print without a line's end right before our mark.
        const qsizetype at = line.indexOf(m_mark + ' ');
        if (m_noise.size() < kNoiseKept)
            m_noise += at < 0 ? line + '\n' : line.left(at);
        if (at >= 0)
            takeLine(line.mid(at + m_mark.size() + 1));
    }
}

void HelperSession::takeLine(const QByteArray& line) {
    if (line == "serve") {
        m_stage = Stage::Serving;
        const QByteArray rest = std::exchange(m_text, {});
        if (!rest.isEmpty())
            takeFrames(rest);
    } else if (line.startsWith("missing ")) {
        const QString architecture = QString::fromUtf8(line.mid(8));
        if (architecture != m_bundle.architecture)
            return end({Code::Unsupported,
                        "This host is a " + architecture.toStdString() +
                            " machine; this Lockstep has the worker program for " +
                            m_bundle.architecture.toStdString() + " only.",
                        m_connection.name().toStdString()});
        if (m_wasHelperSent)
            return end({Code::Internal, "The helper was put there and is not found again.",
                        m_connection.name().toStdString()});
        m_wasHelperSent = true;
        openShell("receive");
    } else if (line == "send") {
        if (!m_helper.isOpen() && !m_helper.open(QIODevice::ReadOnly))
            return end({Code::NotFound,
                        "The helper program for hosts cannot be read; build Lockstep again.",
                        m_bundle.helperFile.toStdString()});
        m_stage = Stage::Sending;
        sendHelper();
    } else if (line.startsWith("passed ")) {
        m_passed += QString::fromUtf8(line.mid(7));
    } else if (line.startsWith("put ")) {
        m_isPut = true;
    } else if (line == "nowhere") {
        end({Code::PermissionDenied,
             "There is no folder on this host that Lockstep can write to and execute from: " +
                 m_passed.join(QStringLiteral("; ")).toStdString() + ".",
             m_connection.name().toStdString()});
    }
}

void HelperSession::sendHelper() {
    while (m_helper.isOpen() && m_channel->bytesToWrite() < kQueue) {
        const QByteArray piece = m_helper.read(kPiece);
        if (!piece.isEmpty()) {
            m_channel->write(piece);
            continue;
        }
        m_helper.close();
        m_channel->closeWrite();
    }
}

void HelperSession::shellClosed(const Result<ssh::Exit>& closed) {
    if (m_stage == Stage::Over)
        return;
    if (!closed)
        return end(closed.error());
    if (m_stage == Stage::Serving)
        return end({Code::Unreachable, "The helper on the host ended.",
                    m_connection.name().toStdString()});
    if (m_mode == u"receive" && m_isPut)
        return openShell("serve");
    if (m_mode == u"receive")
        return end({Code::PermissionDenied,
                    "The helper program could not be put on the host: " +
                        plain(m_errors + m_noise).toStdString(),
                    m_connection.name().toStdString()});
    // A restricted shell takes no path and no exec; the plain word it does.
    if (m_words != "sh") {
        m_words = "sh";
        return openShell("serve");
    }
    const std::string said = plain(m_errors + ' ' + m_noise).toStdString();
    end({Code::Unsupported,
         "This account has no shell that starts /bin/sh (exit code " +
             std::to_string(closed->exitCode) + ")" + (said.empty() ? "." : ": " + said) +
             " Lockstep needs an account that may run programs.",
         m_connection.name().toStdString()});
}

void HelperSession::takeFrames(const QByteArray& bytes) {
    m_frames.add(std::string_view(bytes.constData(), static_cast<std::size_t>(bytes.size())));
    while (m_stage == Stage::Serving) {
        auto next = m_frames.next();
        if (!next)
            return end(next.error());
        if (!*next)
            return;
        const helper::Frame& frame = **next;
        if (frame.kind == helper::Kind::Hello) {
            Q_EMIT serving();
            continue;
        }
        const auto at = m_handlers.constFind(frame.request);
        if (at == m_handlers.constEnd())
            continue; // cancelled
        const bool isLast = frame.kind == helper::Kind::Done ||
                            frame.kind == helper::Kind::Failed ||
                            frame.kind == helper::Kind::Exited;
        const Handler handler = *at;
        if (isLast)
            m_handlers.erase(at);
        handler(frame);
    }
}

std::uint32_t HelperSession::begin(helper::Kind kind, const QByteArray& payload, Handler handler) {
    const std::uint32_t request = ++m_lastRequest;
    m_handlers[request] = std::move(handler);
    send(request, kind, payload);
    return request;
}

void HelperSession::send(std::uint32_t request, helper::Kind kind, const QByteArray& payload) {
    if (m_stage != Stage::Serving)
        return;
    std::string bytes;
    helper::append(bytes, kind, request,
                   std::string_view(payload.constData(), static_cast<std::size_t>(payload.size())));
    m_channel->write(QByteArray::fromStdString(bytes));
}

void HelperSession::cancel(std::uint32_t request) {
    if (m_handlers.remove(request) > 0)
        send(request, helper::Kind::Cancel);
}

qint64 HelperSession::bytesToWrite() const {
    return m_channel ? m_channel->bytesToWrite() : 0;
}

QStringList HelperSession::notes() const {
    QStringList notes = m_passed;
    for (QString& note : notes)
        note = QStringLiteral("passed over ") + note;
    if (const QString noise = plain(m_noise); !noise.isEmpty())
        notes += QStringLiteral("The shell's start-up files print: %1").arg(noise.left(200));
    return notes;
}

void HelperSession::end(const Error& error) {
    if (m_stage == Stage::Over)
        return;
    m_stage = Stage::Over;
    if (m_channel)
        m_channel->close();
    const auto handlers = std::exchange(m_handlers, {});
    for (const Handler& handler : handlers)
        handler(error);
    Q_EMIT ended(error);
}

} // namespace lockstep::remote::detail
