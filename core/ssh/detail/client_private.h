// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// What the connections of one SshClient share. Thread: the client's.

#include "core/ssh/ssh_client.h"

#include <QHash>
#include <QPointer>
#include <QThread>

#include <deque>
#include <functional>
#include <map>
#include <memory>

namespace lockstep::ssh::detail {
class SshConnection;
}

namespace lockstep::ssh {

class SshClient::Private {
public:
    Private(SshOptions given, Prompter* whom)
        : options(std::move(given))
        , prompter(whom) {}
    ~Private();

    static QString gatewayName(const QList<Destination>& jumps);
    /// The shared connection to the last of these jump hosts. It is closed when the last holder of
    /// its lease has let go.
    struct Gateway {
        std::shared_ptr<detail::SshConnection> connection;
        std::shared_ptr<void> lease;
    };
    Gateway gateway(const QList<Destination>& jumps, const QString& destination, int hops,
                    int depth);

    /// One of the places for handshakes through `gateway`; `granted` later, unless `context` is
    /// gone by then. Give it back with release().
    void acquire(const QString& gateway, QObject* context, std::function<void()> granted);
    void release(const QString& gateway);

    /// The person's answer, or the one that is still known. Questions for the same secret that come
    /// while one is shown get its answer.
    void ask(const Question& question, QObject* context,
             std::function<void(std::optional<Answer>)> done);
    /// The secrets that were given for this host were right (keep them) or of no use (drop them).
    void settle(const QString& host, bool wereRight);

    void adopt(QThread* thread);

    SshOptions options;
    QPointer<Prompter> prompter;

private:
    struct Waiting {
        QPointer<QObject> context;
        std::function<void(std::optional<Answer>)> done;
    };
    struct Asked {
        Prompter::QuestionId id = 0;
        std::vector<Waiting> waiting;
    };
    struct Slots {
        int taken = 0;
        std::deque<std::pair<QPointer<QObject>, std::function<void()>>> queue;
    };
    struct Secret {
        QString host;    ///< for which it was asked
        QByteArray text; ///< never shared, so that wiping it wipes it
        bool isProven = false;
    };

    void leave(const QString& gateway);
    static QString idOf(const Question& question);
    void withdrawIfUnwanted(const QString& id, const QObject* gone);
    void answered(const QString& key, const Question& question, std::optional<Answer> answer);
    void grant(Slots& places);

    std::map<QString, std::shared_ptr<detail::SshConnection>> gateways;
    std::map<QString, int> leases; ///< of each gateway
    bool isEnding = false;
    std::map<QString, Slots> slotsOf;
    std::map<QString, Asked> asked;
    std::map<QString, Secret> secrets;
    QList<QPointer<QThread>> threads;
};

} // namespace lockstep::ssh
