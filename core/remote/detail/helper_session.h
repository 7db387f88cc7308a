// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The way from a login shell to a helper that serves, and the frames to and from it. One for each
// opened connection; when it ends, a new one is made. Thread: the caller's.

#include "core/helper/protocol.h"
#include "core/remote/bundle.h"
#include "core/ssh/connection.h"

#include <QByteArray>
#include <QElapsedTimer>
#include <QFile>
#include <QHash>
#include <QObject>
#include <QStringList>
#include <QTimer>

#include <functional>
#include <memory>
#include <optional>

namespace lockstep::remote::detail {

class HelperSession : public QObject {
    Q_OBJECT
public:
    /// Gets every answer to a request; an Error when the session ends before the last one.
    using Handler = std::function<void(const Result<helper::Frame>&)>;

    /// `base`: the cluster's own choice of a folder there, or empty.
    HelperSession(ssh::Connection& connection, Bundle bundle, QString base);
    ~HelperSession() override;

    void start();
    bool isServing() const { return m_isReady; }

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
    /// Once: it cannot serve, or serves no more. After silence the connection is closed too.
    void ended(const lockstep::Error& error);
    /// Bytes left for the host.
    void written();

private:
    enum class Stage { Idle, Asking, Sending, Serving, Over };
    enum class Mode { Serve, Receive, Finish }; ///< of bootstrap.sh

    void openShell(Mode mode);
    void received(const QByteArray& bytes);
    void takeLines();
    void takeLine(const QByteArray& line);
    void missing(const QString& architecture);
    void takeFrames(const QByteArray& bytes);
    void takeHello(const helper::Frame& frame);
    void sendHelper();
    void shellClosed(const Result<ssh::Exit>& end);
    void tick();
    std::string where() const;
    void end(const Error& error);

    ssh::Connection& m_connection;
    Bundle m_bundle;
    QString m_base;
    Stage m_stage = Stage::Idle;
    std::unique_ptr<ssh::Channel> m_channel;
    QByteArray m_mark;
    QByteArray m_partName; ///< of the helper while it arrives
    QByteArray m_text;     ///< before the helper serves
    QByteArray m_noise;
    QByteArray m_errors;
    QByteArray m_words; ///< that started the shell
    Mode m_mode = Mode::Serve;
    int m_full = 0; ///< folders that had no room for the helper
    bool m_isGot = false;
    bool m_isReady = false; ///< the helper said hello
    QFile m_helper;
    QStringList m_passed;
    helper::FrameReader m_frames;
    QTimer m_ticks;
    QElapsedTimer m_heard; ///< since the host said or took something
    std::uint32_t m_lastRequest = 0;
    QHash<std::uint32_t, Handler> m_handlers;
};

} // namespace lockstep::remote::detail
