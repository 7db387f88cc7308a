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

    bool isForward() const { return fd >= 0; }
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

    QByteArray queue; ///< for the far end
    bool wantsEof = false;
    bool sentEof = false;
    bool isRemoteClosed = false;
    std::optional<int> exitCode;
    QString signal;
};

} // namespace lockstep::ssh::detail
