// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// One channel of a Session: a program, or a connection carried to and from a socket of ours.

#include "core/ssh/detail/session.h"

namespace lockstep::ssh::detail {

struct Session::Flow {
    enum class Stage { Opening, Requesting, Running, Over };

    Flow(Session* owner, ChannelId number)
        : session(owner)
        , id(number) {}
    Flow(const Flow&) = delete;
    Flow& operator=(const Flow&) = delete;
    ~Flow();

    bool isForward() const { return !host.isEmpty(); }
    void makeChannel();
    /// What the far end sent; how much of it was taken. The rest stays with libssh, and the far
    /// end's window shut, until the receiver caught up.
    qsizetype take(const char* data, qsizetype size, bool isError);
    void takeHeld();
    bool hasRoom() const;
    void keep(const char* data, qsizetype size, bool isError);
    void widen();
    void deliver();
    void watchSocket();
    void readSocket();
    void writeSocket();

    Session* session;
    ChannelId id;
    Stage stage = Stage::Opening;
    ssh_channel channel = nullptr;
    ssh_channel_callbacks_struct callbacks{};
    QByteArray words;

    QString host; ///< of a forward
    int port = 0;
    int fd = -1; ///< of a forward
    QByteArray toSocket;
    std::unique_ptr<QSocketNotifier> readable;
    std::unique_ptr<QSocketNotifier> writable;

    QByteArray inbox;        ///< taken and not yet passed on
    qint64 unread = 0;       ///< passed on and not yet consumed
    bool isHeld = false;     ///< libssh holds more
    qint64 sinceWidened = 0; ///< bytes

    QByteArray queue; ///< for the far end
    bool wantsEof = false;
    bool sentEof = false;
    bool isRemoteClosed = false;
    bool isAbandoned = false; ///< nobody waits for it: closed as soon as it is open
    std::optional<int> exitCode;
    QString signal;
};

} // namespace lockstep::ssh::detail
