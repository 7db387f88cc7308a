// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/remote/detail/helper_session.h"

#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/remote/detail/bootstrap.h"

#include <QPointer>

#include <algorithm>
#include <chrono>

namespace lockstep::remote::detail {

namespace {

using namespace std::chrono_literals;

constexpr qsizetype kPiece = 256 * 1024;
constexpr qint64 kQueue = 1 << 20;
constexpr qsizetype kNoiseKept = 2048;
constexpr qsizetype kLongestLine = 64 * 1024;
constexpr std::chrono::milliseconds kSilence = 45s; ///< of a helper that serves
constexpr std::chrono::milliseconds kShellSilence =
    60s; ///< of a login shell and its start-up files

/// Control characters of a host's text made visible.
QString plain(const QByteArray& text) {
    QString out;
    for (const QChar c : QString::fromUtf8(text.left(kNoiseKept)))
        out += c == u'\n' ? QStringLiteral(" ") : c.isPrint() ? QString(c) : QStringLiteral("·");
    return out.trimmed();
}

} // namespace

HelperSession::HelperSession(ssh::Connection& connection, Bundle bundle, QString base)
    : m_connection(connection)
    , m_bundle(std::move(bundle))
    , m_base(std::move(base))
    , m_helper(m_bundle.helperFile) {
    m_ticks.setInterval(std::chrono::seconds(helper::kPingSeconds));
    connect(&m_ticks, &QTimer::timeout, this, &HelperSession::tick);
}

HelperSession::~HelperSession() {
    m_stage = Stage::Over;
}

std::string HelperSession::where() const {
    return m_connection.name().toStdString();
}

void HelperSession::start() {
    m_words = "exec /bin/sh";
    m_ticks.start();
    openShell(Mode::Serve);
}

void HelperSession::openShell(Mode mode) {
    m_stage = Stage::Asking;
    m_mode = mode;
    m_mark = QByteArray::fromStdString(randomHex(16));
    if (mode == Mode::Receive)
        m_partName = m_mark;
    m_text.clear();
    m_errors.clear();
    m_heard.start();
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
        m_heard.start();
        if (m_stage == Stage::Sending)
            sendHelper();
        Q_EMIT written();
    });
    QByteArray script(kBootstrap);
    script.replace("@MARK@", m_mark);
    script.replace("@PART@", m_partName);
    script.replace("@HASH@", m_bundle.helperHash.toLatin1());
    script.replace("@BASE@", m_base.isEmpty() ? "none" : "given");
    script.replace("@SKIP@", QByteArray::number(m_full));
    script.replace("@MODE@", mode == Mode::Serve     ? "serve"
                             : mode == Mode::Receive ? "receive"
                                                     : "finish");
    m_channel->write(script);
}

void HelperSession::received(const QByteArray& bytes) {
    m_heard.start();
    if (m_stage == Stage::Serving)
        return takeFrames(bytes);
    m_text += bytes;
    takeLines();
}

void HelperSession::takeLines() {
    while (m_stage == Stage::Asking || m_stage == Stage::Sending) {
        const qsizetype end = m_text.indexOf('\n');
        if (end < 0) {
            if (m_text.size() > kLongestLine)
                m_text = m_text.right(kLongestLine / 2);
            return;
        }
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
    if (line == "base") {
        m_channel->write(m_base.toUtf8() + '\n');
    } else if (line == "serve") {
        m_stage = Stage::Serving;
        const QByteArray rest = std::exchange(m_text, {});
        if (!rest.isEmpty())
            takeFrames(rest);
    } else if (line.startsWith("missing ") || line == "missing") {
        missing(QString::fromUtf8(line.mid(8)).trimmed());
    } else if (line == "send") {
        if (!m_helper.open(QIODevice::ReadOnly))
            return end({Code::NotFound,
                        "The helper program for hosts cannot be read; build Lockstep again.",
                        m_bundle.helperFile.toStdString()});
        m_stage = Stage::Sending;
        sendHelper();
    } else if (line == "got") {
        m_isGot = true;
    } else if (line.startsWith("full ")) {
        m_full = line.mid(5).toInt();
    } else if (line.startsWith("passed ")) {
        if (const QString passed = plain(line.mid(7)); !m_passed.contains(passed))
            m_passed += passed;
    } else if (line == "nowhere") {
        end({Code::PermissionDenied,
             "There is no folder on this host that Lockstep can write to and execute from: " +
                 m_passed.join(QStringLiteral("; ")).toStdString() +
                 ". Name one as the worker's \"base\" in the cluster.",
             where()});
    }
}

/// No helper of ours is there.
void HelperSession::missing(const QString& architecture) {
    if (!architecture.isEmpty() && architecture != m_bundle.architecture)
        return end({Code::Unsupported,
                    "The architecture of this host is " +
                        plain(architecture.toUtf8()).toStdString() +
                        "; this Lockstep has the worker program for " +
                        m_bundle.architecture.toStdString() + " only.",
                    where()});
    m_isGot = false;
    openShell(Mode::Receive);
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
        return end({Code::Unreachable, "The helper on the host ended.", where()});
    const bool wasSent = m_stage == Stage::Sending && !m_helper.isOpen();
    m_helper.close();
    const std::string said = plain(m_errors + ' ' + m_noise).toStdString();
    if (m_mode == Mode::Receive && wasSent && m_isGot)
        return openShell(Mode::Finish);
    if (m_mode == Mode::Receive && m_full > 0 && !m_isGot)
        return openShell(Mode::Receive);
    if (m_mode != Mode::Serve)
        return end(
            {Code::PermissionDenied,
             "The helper program could not be put on the host" + (said.empty() ? "." : ": " + said),
             where()});
    // A restricted shell takes no path and no exec; the plain word it does.
    if (m_words != "sh") {
        m_words = "sh";
        return openShell(Mode::Serve);
    }
    end({Code::Unsupported,
         "This account has no shell that starts /bin/sh (exit code " +
             std::to_string(closed->exitCode) + ")" + (said.empty() ? "." : ": " + said) +
             " Lockstep needs an account that may run programs.",
         where()});
}

void HelperSession::takeFrames(const QByteArray& bytes) {
    const QPointer<HelperSession> self(this); // who hears an answer may end us
    m_frames.add(std::string_view(bytes.constData(), static_cast<std::size_t>(bytes.size())));
    while (self && m_stage == Stage::Serving) {
        auto next = m_frames.next();
        if (!next)
            return end(next.error());
        if (!*next)
            return;
        const helper::Frame& frame = **next;
        if (frame.kind == helper::Kind::Hello) {
            takeHello(frame);
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

void HelperSession::takeHello(const helper::Frame& frame) {
    const auto hello = json::parse(frame.payload, "hello");
    const json::Value* version = hello ? hello->find("version") : nullptr;
    if (!version || !version->isInteger() || version->toInteger() != helper::kVersion)
        return end({Code::Unsupported, "The helper on the host speaks another version.", where()});
    m_isReady = true;
    Q_EMIT serving();
}

/// Says that we are there, and notices that the host is not.
void HelperSession::tick() {
    if (m_stage == Stage::Over)
        return;
    const qint64 silence = m_heard.elapsed();
    if (m_isReady) {
        send(0, helper::Kind::Ping);
        if (silence < kSilence.count())
            return;
    } else if (silence < kShellSilence.count()) {
        return;
    }
    const std::string said = plain(m_errors + ' ' + m_noise).toStdString();
    const Error error =
        m_isReady
            ? Error{Code::Unreachable,
                    "The host has said nothing for " + std::to_string(silence / 1000) + " seconds.",
                    where()}
            : Error{Code::TimedOut,
                    "The account's login shell did not start /bin/sh within " +
                        std::to_string(silence / 1000) +
                        " seconds. Does a start-up file (~/.bashrc, ~/.cshrc, config.fish) wait "
                        "for something?" +
                        (said.empty() ? "" : " It printed: " + said),
                    where()};
    if (m_isReady) { // the connection still counts as open
        m_channel->disconnect(this);
        m_connection.close();
    }
    end(error);
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
    m_ticks.stop();
    m_isReady = false;
    const QPointer<HelperSession> self(this);
    const auto handlers = std::exchange(m_handlers, {});
    for (const Handler& handler : handlers)
        handler(error);
    if (self)
        Q_EMIT ended(error);
}

} // namespace lockstep::remote::detail
