// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// An ssh-agent that holds keys of its own and answers as a test wants: late, never, or with a
// refusal. Its security keys sign what a real one signs (PROTOCOL.u2f), so that a real sshd lets
// them in without hardware. Thread: one of its own serves; all functions may be called from any.

#include <QByteArray>
#include <QString>
#include <QTemporaryDir>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

namespace lockstep::support {

class AgentStub {
public:
    enum class Kind { Ed25519, SecurityKey };

    AgentStub();
    ~AgentStub();
    AgentStub(const AgentStub&) = delete;
    AgentStub& operator=(const AgentStub&) = delete;

    QString socketPath() const { return m_folder.filePath(QStringLiteral("agent")); }
    /// Adds a new key; its line for authorized_keys.
    QByteArray addKey(Kind kind, const QByteArray& comment);

    void signAfter(std::chrono::milliseconds delay) { m_delay = delay.count(); }
    void refuseToSign() { m_refuses = true; }
    int signatures() const { return m_signatures; }

private:
    struct Key {
        Kind kind;
        QByteArray blob;
        QByteArray comment;
        QByteArray secret;
    };

    void serve();
    bool serveOne(int client);
    QByteArray answerTo(const QByteArray& request);
    QByteArray sign(const Key& key, const QByteArray& message);
    bool waits(int fd, std::chrono::milliseconds time) const;

    QTemporaryDir m_folder;
    int m_listener = -1;
    int m_stop = -1;
    std::mutex m_mutex;
    std::vector<Key> m_keys;
    std::atomic<qint64> m_delay{0};
    std::atomic<bool> m_refuses{false};
    std::atomic<int> m_signatures{0};
    std::thread m_thread;
};

} // namespace lockstep::support
