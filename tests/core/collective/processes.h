// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Ranks as processes that the tests can kill, freeze and cut off.

#include "tests/core/collective/support.h"

#include <QElapsedTimer>
#include <QProcess>
#include <QStringList>
#include <QTest>

#include <csignal>
#include <memory>

namespace lockstep::collective::test {

/// One peer. Its pid is the peer's own, also inside a network namespace (ip executes it).
class Peer {
public:
    Peer(const QStringList& prefix, int rank, const QString& members, const QStringList& more) {
        QStringList command = prefix;
        command << QStringLiteral(LOCKSTEP_BUILD_DIR "/tests/collective_peer")
                << QString::number(rank) << members << more;
        const QString program = command.takeFirst();
        m_process.setProcessChannelMode(QProcess::MergedChannels);
        m_process.start(program, command);
    }
    ~Peer() {
        m_process.kill(); // also ends a frozen one
        m_process.waitForFinished(5000);
    }

    void signal(int number) { ::kill(static_cast<pid_t>(m_process.processId()), number); }
    bool hasEnded() const { return m_process.state() == QProcess::NotRunning; }
    int status() const {
        return m_process.exitStatus() == QProcess::NormalExit ? m_process.exitCode() : -1;
    }
    const QByteArray& output() {
        m_output += m_process.readAll();
        return m_output;
    }
    bool hasSaid(const char* line) { return output().contains(line); }
    /// "cut_off worker:2 by 0", or empty.
    QByteArray verdict() {
        const auto at = output().indexOf("verdict ");
        if (at < 0 || m_output.indexOf('\n', at) < 0)
            return {};
        return m_output.mid(at + 8, m_output.indexOf('\n', at) - at - 8);
    }

private:
    QProcess m_process;
    QByteArray m_output;
};

using Peers = std::vector<std::unique_ptr<Peer>>;

inline QString loopbackList(int size) {
    QStringList list;
    for (const std::uint16_t port : freePorts(size))
        list << QStringLiteral("127.0.0.1:%1").arg(port);
    return list.join(QLatin1Char(','));
}

inline QByteArray allOutput(const Peers& peers) {
    QByteArray all;
    for (std::size_t rank = 0; rank < peers.size(); ++rank)
        all += "\n-- peer " + QByteArray::number(static_cast<int>(rank)) + ":\n" +
               peers[rank]->output();
    return all;
}

/// Whether all of them have said it within the time.
inline bool waitForAll(const Peers& peers, const char* line, int milliseconds) {
    return QTest::qWaitFor(
        [&] {
            return std::all_of(peers.begin(), peers.end(),
                               [&](const auto& peer) { return peer->hasSaid(line); });
        },
        milliseconds);
}

} // namespace lockstep::collective::test
