// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// One libssh session and its channels: a state machine that never blocks for longer than a
// signature takes. Thread: its own, with an event loop; every function is called there (queued by
// SshConnection), signals go out by queued connections. libssh is touched from nowhere else.

#include "core/ssh/connection.h"
#include "core/ssh/known_hosts.h"
#include "core/ssh/prompter.h"
#include "core/ssh/resolve.h"

#include <QByteArray>
#include <QElapsedTimer>
#include <QObject>
#include <QSocketNotifier>
#include <QTimer>

#include <libssh/callbacks.h>
#include <libssh/libssh.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>

namespace lockstep::ssh::detail {

struct SessionPlan {
    Resolved where;
    QString destination; ///< the host that is wanted in the end, for questions
    int hop = 1;
    int hops = 1;
    int fd = -1; ///< a socket that already leads to the host's sshd, owned; else it is connected to
    std::chrono::milliseconds stepTimeout{15'000};
    std::chrono::milliseconds aliveInterval{15'000};
};

using ChannelId = std::uint64_t;

class Session : public QObject {
    Q_OBJECT
public:
    explicit Session(SessionPlan plan);
    ~Session() override;

    void start();
    void answer(quint64 question, const std::optional<Answer>& answer);
    void exec(ChannelId id, const QByteArray& words);
    /// A connection from the far end to host:port, its bytes carried to and from `fd` (owned).
    void forward(ChannelId id, const QString& host, int port, int fd);
    void write(ChannelId id, const QByteArray& bytes);
    void closeWrite(ChannelId id);
    void closeChannel(ChannelId id);
    void shutdown();

Q_SIGNALS:
    void stateChanged(lockstep::ssh::Connection::State state);
    void asked(quint64 id, const lockstep::ssh::Question& question);
    void bannerReceived(const QString& text);
    /// The handshake is over.
    void opened();
    /// Before opened(): why not. `isRetryable`: sshd hung up before it said anything.
    void failed(const lockstep::Error& error, bool isRetryable);
    /// After opened().
    void lost(const lockstep::Error& error);
    void received(quint64 channel, const QByteArray& bytes, bool isError);
    void written(quint64 channel, qint64 bytes);
    void channelClosed(quint64 channel, const lockstep::Result<lockstep::ssh::Exit>& end);

private:
    enum class Step {
        Idle,
        Connect,
        KeyExchange,
        HostKey, ///< waiting for a person
        AuthNone,
        AuthNext,
        KeyOffer,
        KeySign,
        Agent,
        Interactive,
        Password,
        AskSecret, ///< waiting for a person
        Open,
        Closed,
    };
    struct Flow;

    // session_connect.cpp
    void lookUp();
    void abandonLookup();
    void connectNext();
    void connected(int fd);
    void runProxyCommand();
    void beginKeyExchange();
    void keyExchange();
    void checkHostKey();
    void hostKeyAnswered(bool accepted);
    // session_auth.cpp
    void authNone();
    void authNext();
    bool nextKeyFile();
    void keyOffer();
    void keySign();
    void agent();
    void interactive();
    void password();
    void authResult(int rc, const QString& what);
    void authenticated();
    Question questionOf(Question::Kind kind) const;
    // session_channels.cpp
    void advanceFlow(Flow& flow);
    void pump(Flow& flow);
    void endFlow(ChannelId id, Result<Exit> end);
    void collectFlows();
    // session.cpp
    void advance();
    void wake();
    void watch();
    void armStep();
    void ask(const Question& question);
    void fail(Error error, bool isRetryable = false);
    void checkAlive();
    void releaseSession();
    std::string who() const;
    QString libraryError() const;

    SessionPlan m_plan;
    Step m_step = Step::Idle;
    ssh_session m_session = nullptr;
    ssh_event m_event = nullptr;
    ssh_counter_struct m_traffic{};
    std::unique_ptr<QSocketNotifier> m_readable;
    std::unique_ptr<QSocketNotifier> m_writable;
    QTimer m_deadline; ///< of the current step; rests while a person is asked
    QTimer m_alive;
    std::uint64_t m_lastBytes = 0;
    int m_silences = 0;
    quint64 m_question = 0;
    Question::Kind m_asked{}; ///< of the question that waits
    bool m_isAdvancing = false;

    // Connecting
    struct Lookup;
    std::shared_ptr<Lookup> m_lookup;
    std::deque<QByteArray> m_addresses; ///< sockaddrs still to try
    std::string m_connectErrors;
    int m_socket = -1;
    qint64 m_proxyPid = 0;
    HostKey m_hostKey;

    // Authentication
    int m_methods = 0;
    bool m_triedAgent = false;
    QStringList m_keysLeft;
    QString m_keyFile;
    ssh_key m_key = nullptr; ///< public while offered, private while signing
    int m_offers = 0;
    int m_rounds = 0; ///< of the current question
    bool m_interactiveDone = false;
    QByteArray m_secret;
    QStringList m_tried; ///< for the error

    std::map<ChannelId, std::unique_ptr<Flow>> m_flows;
};

} // namespace lockstep::ssh::detail

Q_DECLARE_METATYPE(lockstep::ssh::Question)
