// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// A program of this machine, run with QProcess in the caller's thread (its pipes are watched by the
// event loop, so nothing blocks). It gets a session of its own: Ctrl-C in a terminal is for us.

#include "core/remote/host.h"

#include <QElapsedTimer>
#include <QProcess>
#include <QTimer>

#include <memory>
#include <optional>

namespace lockstep::remote::detail {

enum class Input {
    Closed, ///< after what was given
    Open,   ///< while the process lives
};

/// Starts from the event loop, so that no signal comes before the caller has the object.
void startLater(QProcess& process, const Command& command, const QByteArray& input,
                Input afterwards);
/// Why `process` could not be started.
Error startError(const QProcess& process);
Exit exitOf(const QProcess& process);
/// For destructors: kills and reaps. A process that was killed ends at once; one stuck in the
/// kernel is left after half a second.
void endNow(QProcess& process);
/// The same without waiting, also from within a signal of `process`; it is deleted when it is over.
void abandon(std::unique_ptr<QProcess> process);

class LocalStream : public Stream {
    Q_OBJECT
public:
    LocalStream(const Command& command, const QByteArray& input, Milliseconds silence);
    ~LocalStream() override;

    void close() override;
    bool isClosed() const override { return m_isClosed; }

private:
    void readLines();
    void readErrors();
    void onSilence();
    void onFinished();
    void endWith(const Error& reason);
    void finish(const Result<Exit>& end);

    std::unique_ptr<QProcess> m_process;
    QTimer m_silence;
    QTimer m_killer;
    Milliseconds m_limit;
    QByteArray m_errorOutput;
    std::optional<Error> m_reason; ///< why we end it
    bool m_isWarned = false;       ///< the silence timer fired once; data may be waiting unread
    bool m_isClosed = false;
    bool m_isInSignal = false; ///< of m_process, which must not be deleted then
};

} // namespace lockstep::remote::detail
