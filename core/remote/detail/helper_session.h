// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The way from a login shell to a helper that serves, and the frames to and from it. One for each
// opened connection; when it ends, a new one is made. Thread: the caller's.

#include "core/helper/protocol.h"
#include "core/remote/bundle.h"
#include "core/ssh/connection.h"

#include <QByteArray>
#include <QFile>
#include <QHash>
#include <QObject>
#include <QStringList>

#include <functional>
#include <memory>
#include <optional>

namespace lockstep::remote::detail {

class HelperSession : public QObject {
    Q_OBJECT
public:
    /// Gets every answer to a request; an Error when the session ends before the last one.
    using Handler = std::function<void(const Result<helper::Frame>&)>;

    HelperSession(ssh::Connection& connection, Bundle bundle);
    ~HelperSession() override;

    void start();
    bool isServing() const { return m_stage == Stage::Serving; }

    /// While serving: begins a request and gives its number.
    std::uint32_t begin(helper::Kind kind, const QByteArray& payload, Handler handler);
    void send(std::uint32_t request, helper::Kind kind, const QByteArray& payload = {});
    /// Nothing more comes from it.
    void cancel(std::uint32_t request);
    qint64 bytesToWrite() const;

    /// What a person should know: folders passed over, what start-up files print.
    QStringList notes() const;

Q_SIGNALS:
    void serving();
    /// Once: it cannot serve, or serves no more.
    void ended(const lockstep::Error& error);
    /// Bytes left for the host.
    void written();

private:
    enum class Stage { Idle, Asking, Sending, Serving, Over };

    void openShell(const QByteArray& mode);
    void received(const QByteArray& bytes);
    void takeLines();
    void takeLine(const QByteArray& line);
    void takeFrames(const QByteArray& bytes);
    void sendHelper();
    void shellClosed(const Result<ssh::Exit>& end);
    void end(const Error& error);

    ssh::Connection& m_connection;
    Bundle m_bundle;
    Stage m_stage = Stage::Idle;
    std::unique_ptr<ssh::Channel> m_channel;
    QByteArray m_mark;
    QByteArray m_text; ///< before the helper serves
    QByteArray m_noise;
    QByteArray m_errors;
    QByteArray m_words; ///< that started the shell
    QString m_mode;
    bool m_wasHelperSent = false;
    bool m_isPut = false;
    QFile m_helper;
    QStringList m_passed;
    helper::FrameReader m_frames;
    std::uint32_t m_lastRequest = 0;
    QHash<std::uint32_t, Handler> m_handlers;
};

} // namespace lockstep::remote::detail
