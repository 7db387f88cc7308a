// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/remote/detail/ssh_stream.h"

namespace lockstep::remote::detail {

namespace {

constexpr qsizetype kErrorsKept = 4096;

} // namespace

SshStream::SshStream(SshHost::Private& host, const Command& command, const QByteArray& input,
                     Milliseconds silence)
    : m_host(&host) {
    m_silence.setSingleShot(true);
    m_silence.setInterval(silence);
    connect(&m_silence, &QTimer::timeout, this, [this] {
        finish(Error{Code::TimedOut, "The host said nothing for too long.",
                     m_host ? m_host->q->name().toStdString() : std::string()});
    });
    host.ready([self = QPointer<SshStream>(this), command, input](const Status& status) {
        if (!self || self->m_isClosed)
            return;
        status ? self->begin(command, input) : self->finish(status.error());
    });
}

SshStream::~SshStream() {
    if (!m_isClosed && m_session)
        m_session->cancel(m_frame);
}

void SshStream::begin(const Command& command, const QByteArray& input) {
    m_session = m_host->session.get();
    m_frame = m_session->begin(helper::Kind::Run,
                               QByteArray::fromStdString(json::dump(runPayload(command))),
                               [self = QPointer<SshStream>(this)](const auto& answer) {
                                   if (self && !self->m_isClosed)
                                       self->take(answer);
                               });
    if (!input.isEmpty())
        m_session->send(m_frame, helper::Kind::Input, input);
    m_silence.start();
}

void SshStream::take(const Result<helper::Frame>& answer) {
    if (!answer)
        return finish(answer.error());
    switch (answer->kind) {
    case helper::Kind::Output: {
        m_silence.start();
        m_rest += QByteArray::fromStdString(answer->payload);
        qsizetype from = 0;
        const QPointer<SshStream> self(this);
        for (qsizetype end = 0; (end = m_rest.indexOf('\n', from)) >= 0; from = end + 1) {
            Q_EMIT lineReceived(m_rest.mid(from, end - from));
            if (!self || m_isClosed)
                return;
        }
        m_rest.remove(0, from);
        return;
    }
    case helper::Kind::ErrorOutput:
        m_errorOutput =
            (m_errorOutput + QByteArray::fromStdString(answer->payload)).right(kErrorsKept);
        return;
    case helper::Kind::Failed:
        return finish(helper::decodeError(answer->payload));
    case helper::Kind::Exited: {
        const Exit exit = exitOf(*answer);
        if (!m_rest.isEmpty())
            Q_EMIT lineReceived(std::exchange(m_rest, {}));
        return finish(exit);
    }
    default:
        return;
    }
}

void SshStream::finish(const Result<Exit>& end) {
    if (m_isClosed)
        return;
    m_isClosed = true;
    m_silence.stop();
    if (m_session)
        m_session->cancel(m_frame);
    Q_EMIT closed(end, m_errorOutput);
}

void SshStream::close() {
    if (m_isClosed)
        return;
    QMetaObject::invokeMethod(
        this,
        [this] {
            finish(Error{Code::Cancelled, "The stream was closed.", {}});
        },
        Qt::QueuedConnection);
}

} // namespace lockstep::remote::detail
