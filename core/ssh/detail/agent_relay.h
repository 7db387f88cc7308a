// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Stands between libssh and the user's ssh-agent. libssh waits for an agent without end (a person
// touches a security key) and offers every key that it holds; here the wait can be cut off from
// another thread, and libssh sees one key at a time.
// Threads: makes one of its own; each function says who may call it. The callbacks come from it.
// Source: draft-miller-ssh-agent.

#include <QByteArray>
#include <QList>
#include <QString>

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

namespace lockstep::ssh::detail {

struct AgentKey {
    QByteArray blob; ///< the public key as on the wire
    QString comment;
};

class AgentRelay {
public:
    struct Callbacks {
        /// Once: the keys, or none with the reason why.
        std::function<void(QList<AgentKey>, QString)> listed;
        /// A security key waits to be touched, and no longer does.
        std::function<void(bool isWaiting)> touch;
    };

    /// `path`: the agent's socket.
    AgentRelay() = default;
    ~AgentRelay();
    AgentRelay(const AgentRelay&) = delete;
    AgentRelay& operator=(const AgentRelay&) = delete;

    /// Session's thread, once. The callbacks come until stop() has returned.
    void start(const QString& path, Callbacks callbacks);
    /// The socket for libssh, which owns it from now on; -1 the second time.
    int takeSocket();
    /// The one key that libssh shall see. Session's thread.
    void show(const AgentKey& key);
    /// How many signatures were asked for, and how many of them were refused. Any thread.
    int signatures() const { return m_signatures; }
    int refusals() const { return m_refusals; }
    /// Ends every wait at once. Any thread.
    void cancel();
    /// cancel(), and the thread is gone. Session's thread.
    void stop();

private:
    void run(const QString& path);
    QByteArray answerTo(const QByteArray& request, int agent);
    bool readFully(int fd, char* to, qsizetype size) const;
    bool writeFully(int fd, const QByteArray& bytes) const;
    bool receive(int fd, QByteArray& message) const;
    bool send(int fd, const QByteArray& message) const;

    Callbacks m_callbacks;
    int m_inner = -1;               ///< our end of the pair
    std::atomic<int> m_outer{-1};   ///< libssh's end
    std::atomic<int> m_stopped{-1}; ///< eventfd
    std::atomic<int> m_signatures{0};
    std::atomic<int> m_refusals{0};
    std::atomic<bool> m_isCancelled{false};
    std::mutex m_mutex;
    AgentKey m_shown;
    std::thread m_thread;
};

/// The keys in an agent's answer; nothing where it is none.
std::optional<QList<AgentKey>> parseAgentKeys(const QByteArray& message);
/// The key's own name for its kind: the first string of the blob.
QString typeOfBlob(const QByteArray& blob);

} // namespace lockstep::ssh::detail
