// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// A program on a host whose lines come over its helper session. Thread: the caller's.

#include "core/base/json.h"
#include "core/remote/detail/ssh_host_private.h"

namespace lockstep::remote::detail {

/// A Run request's payload.
json::Value runPayload(const Command& command);
/// An Exited answer.
Exit exitOf(const helper::Frame& frame);

class SshStream : public Stream {
    Q_OBJECT
public:
    SshStream(SshHost::Private& host, const Command& command, const QByteArray& input,
              Milliseconds silence);
    ~SshStream() override;

    void close() override;
    bool isClosed() const override { return m_isClosed; }

private:
    void begin(const Command& command, const QByteArray& input);
    void take(const Result<helper::Frame>& answer);
    void finish(const Result<Exit>& end);

    QPointer<SshHost::Private> m_host;
    QPointer<HelperSession> m_session;
    std::uint32_t m_frame = 0;
    QTimer m_silence;
    QByteArray m_rest; ///< of an unfinished line
    QByteArray m_errorOutput;
    bool m_isClosed = false;
};

} // namespace lockstep::remote::detail
