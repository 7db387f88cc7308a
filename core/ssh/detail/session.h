// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// One libssh session and its channels: a state machine that never blocks for longer than a
// signature takes. Thread: its own, with an event loop; every function is called there (queued by
// SshConnection), signals go out by queued connections. libssh is touched from nowhere else.

#include "core/ssh/connection.h"
#include "core/ssh/detail/agent_relay.h"
#include "core/ssh/detail/dialer.h"
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
    /// Made by who may cancel it while libssh waits in it.
    std::shared_ptr<AgentRelay> agent = std::make_shared<AgentRelay>();
};

/// For people: without control characters and marks that turn text around, of bounded length.
QString plainText(const char* text);
/// Overwrites and empties.
void wipe(QByteArray& secret);

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
    /// The receiver took so many bytes of received(): more may come.
    void consumed(ChannelId id, qint64 bytes);
    void shutdown();

Q_SIGNALS:
    void stateChanged(lockstep::ssh::Connection::State state);
    void asked(quint64 id, const lockstep::ssh::Question& question);
    void bannerReceived(const QString& text);
    /// A security key waits to be touched, until touched(). From another thread.
    void touchWanted(const lockstep::ssh::Question& question);
    void touched();
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
        KeyList, ///< waiting for the agent's list
        AuthNext,
        KeyOffer,
        KeySign,
        AgentKey,
        Interactive,
        Password,
        AskSecret, ///< waiting for a person
        Open,
        Closed,
    };
    struct Flow;
    /// A key that can be tried.
    struct Candidate {
        QString file;             ///< empty: the agent's alone
        detail::AgentKey inAgent; ///< blob empty: the agent does not hold it
        QByteArray blob;          ///< the public half; empty: only the passphrase opens it
        QString label() const;
    };

    // session_connect.cpp
    void connected(int fd);
    void runProxyCommand();
    QString proxyComplaint();
    void beginKeyExchange();
    void keyExchange();
    void checkHostKey();
    void hostKeyAnswered(bool accepted);
    // session_keys.cpp
    void startAgent();
    void listKeys(const QList<detail::AgentKey>& agentKeys, const QString& complaint);
    void addKeyFile(const QString& file, QList<detail::AgentKey>& agentKeys,
                    QList<Candidate>& sealed);
    bool nextKey();
    void keyOffer();
    void keySign();
    bool openKey();
    void agentKey();
    // session_auth.cpp
    void authNone();
    void authNext();
    bool askPassword();
    void interactive();
    void password();
    void authResult(int rc, const QString& what);
    void authenticated();
    Error refused() const;
    void useAnswer(const Answer& answer);
    bool hasHungUp() const;
    Question questionOf(Question::Kind kind) const;
    // session_channels.cpp
    void advanceFlow(Flow& flow);
    bool openFlow(Flow& flow);
    void pump(Flow& flow);
    void endFlow(ChannelId id, Result<Exit> end);
    void collectFlows();
    // session.cpp
    void advance();
    void watch();
    void unwatch();
    void discard(std::unique_ptr<QSocketNotifier>& notifier) const;
    void dropDialer();
    void tooLate();
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
    bool m_isEnding = false; ///< in the destructor

    // Connecting
    std::unique_ptr<Dialer> m_dialer;
    int m_socket = -1; ///< until libssh has it
    qint64 m_proxyPid = 0;
    int m_proxyErrors = -1; ///< the ProxyCommand's standard error
    std::unique_ptr<QSocketNotifier> m_proxyTalks;
    QByteArray m_proxySaid;
    HostKey m_hostKey;

    // Authentication
    int m_methods = 0;
    bool m_areKeysListed = false;
    QList<Candidate> m_keysLeft;
    Candidate m_candidate;
    ssh_key m_key = nullptr; ///< public while offered, private while signing
    int m_offers = 0;
    int m_refusals = 0; ///< of the agent, before the current key
    int m_phraseRounds = 0;
    int m_passwordRounds = 0;
    int m_interactiveRounds = 0; ///< questions of this factor
    int m_interactiveDenials = 0;
    bool m_isInteractiveOver = false;
    QByteArray m_secret;
    QStringList m_tried; ///< for the error

    std::map<ChannelId, std::unique_ptr<Flow>> m_flows;
    QByteArray m_scratch;
};

} // namespace lockstep::ssh::detail

Q_DECLARE_METATYPE(lockstep::ssh::Question)
