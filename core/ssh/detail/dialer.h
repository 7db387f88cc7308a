// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// One TCP connection to a name: all its addresses, IPv6 and IPv4 by turns, the next one begun when
// the last was refused or has not answered for a moment; the first that answers is taken.
// Thread: the one that made it, with an event loop. It has no deadline of its own.
// Source: RFC 8305 (Happy Eyeballs), without its preference for an early IPv6 answer.

#include <QByteArray>
#include <QObject>
#include <QSocketNotifier>
#include <QStringList>
#include <QTimer>

#include <deque>
#include <memory>
#include <vector>

namespace lockstep::ssh::detail {

class Dialer : public QObject {
    Q_OBJECT
public:
    /// `family` as AddressFamily has it: "inet", "inet6", else any.
    Dialer(const QString& host, int port, const QString& family);
    /// Closes what was not taken. A name look-up that hangs is left behind on a thread of its own.
    ~Dialer() override;

    void start();
    /// What was tried, with the answers: "10.0.0.1: Connection refused".
    QString tried() const;

Q_SIGNALS:
    void connected(int fd); ///< owned by the receiver
    void failed(const QString& why);

private:
    struct Lookup;
    struct Attempt {
        int fd = -1;
        QString name;
        std::unique_ptr<QSocketNotifier> ready;
    };

    void found();
    void next();
    void answered(int fd);
    void giveUpIfDone();

    QString m_host;
    int m_port;
    int m_family;
    std::shared_ptr<Lookup> m_lookup;
    std::deque<QByteArray> m_addresses; ///< sockaddrs still to try
    std::vector<Attempt> m_attempts;
    QStringList m_answers;
    QTimer m_stagger;
};

} // namespace lockstep::ssh::detail
