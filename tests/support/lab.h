// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// A lab of hosts with real sshds in namespaces (tests/lab/README.md), up while this object lives
// and gone with this process however it ends. Needs root. Calls wait for what they do.

#include <QByteArray>
#include <QProcess>
#include <QString>
#include <QStringList>

#include <memory>

namespace lockstep::support {

/// Why no lab can be made here; empty where one can.
QString missingLab();

/// In initTestCase(): skips the test where no lab can be made, or fails it where LOCKSTEP_REQUIRE
/// names "lab".
#define LOCKSTEP_NEEDS_LAB()                                                                       \
    do {                                                                                           \
        const QString missing = lockstep::support::missingLab();                                   \
        if (!missing.isEmpty() && qgetenv("LOCKSTEP_REQUIRE").split(',').contains("lab"))          \
            QFAIL(qPrintable(missing));                                                            \
        if (!missing.isEmpty())                                                                    \
            QSKIP(qPrintable(missing));                                                            \
    } while (false)

/// How a program ended and what it said.
struct Ended {
    int exitCode = -1; ///< -1 where it was killed or did not end in time
    QByteArray out;
    QByteArray err;
};

class Lab {
public:
    /// Lines of a spec ("n1 shell=fish noisy"; default.lab says what there is); none: that of
    /// default.lab. The first use of a Debian root makes it, which takes a minute or two.
    explicit Lab(const QStringList& spec = {});
    /// `count` hosts n0, n1, ...; behind the jump host gw.
    static QStringList manyHosts(int count);
    static QStringList manyHostsBehindGw(int count);
    ~Lab();
    Lab(const Lab&) = delete;
    Lab& operator=(const Lab&) = delete;

    bool isUp() const { return !m_folder.isEmpty(); }
    QString error() const { return m_error; }

    // What it wrote, as paths of this machine.
    QString path(const QString& name) const { return m_folder + u'/' + name; }
    QString sshConfig() const { return path(QStringLiteral("ssh_config")); }
    QString knownHosts() const { return path(QStringLiteral("known_hosts")); }
    QString clientKey() const { return path(QStringLiteral("home/.ssh/id_ed25519")); }
    QString home() const { return path(QStringLiteral("home")); } ///< the controller's
    QString log(const QString& host) const;                       ///< what its sshd said so far
    /// From that log: how many connections were open at once before they had logged in.
    int mostHandshakesAtOnce(const QString& host) const;
    QString password() const; ///< of every account

    /// A cluster file of these hosts in home(), workers at port 2222; "n1@bash" for another
    /// account.
    QString clusterFile(const QStringList& hosts, const QString& name = QStringLiteral("test"));
    QString dataAddress(const QString& host) const; ///< "10.77.0.12", empty where it has none
    QString sshAddress(const QString& host) const;  ///< on the network that SSH uses
    /// A file or folder of a host as a path of this machine: hostPath("n1", "/home/bash/x"). For
    /// /etc, /home, /root, /run, /tmp, /var and /dev/shm.
    QString hostPath(const QString& host, const QString& path) const;

    /// Program and first arguments of a command on the controller, to put before another; it sees
    /// this machine's files, the lab's network, and home() as its home folder.
    QStringList controller() const;
    Ended onController(const QStringList& command, const QByteArray& input = {},
                       int milliseconds = 60000) const;
    /// The same, not waited for.
    std::unique_ptr<QProcess> startOnController(const QStringList& command) const;
    /// As root on a host.
    Ended onHost(const QString& host, const QStringList& command, const QByteArray& input = {},
                 int milliseconds = 60000) const;
    std::unique_ptr<QProcess> startOnHost(const QString& host, const QStringList& command) const;

    /// Moves the calling thread, and those that it starts from now on, to the controller's network.
    /// leaveNetwork() leads back.
    bool enterNetwork();
    bool leaveNetwork();

    // Faults; each tells whether it worked, error() why not. "controller" is a host too.
    bool drop(const QString& from, const QString& to, int port = 0); ///< 0: all packets
    bool reject(const QString& from, const QString& to, int port);
    bool cut(const QString& host);
    bool loss(const QString& host, double percent);
    bool narrow(const QString& host, int bytes);
    bool rate(const QString& host, const QString& rate, const QString& network = {});
    bool delay(const QString& host, const QString& time, const QString& network = {});
    bool mtu(const QString& host, int bytes);
    bool heal(const QString& host = {});

    /// Every host knows the others' link addresses for good: learned ones of all namespaces share
    /// one table of 1024 entries, which is too short for 32 hosts.
    bool introduce();

    bool reboot(const QString& host);
    bool stopSshd(const QString& host);
    bool startSshd(const QString& host);
    bool changeHostKey(const QString& host);
    /// 203.0.113.7:port leads to the host's sshd.
    bool nat(const QString& host, int port);

    /// `lab VERB ...` as a person types it.
    bool run(const QStringList& arguments);

private:
    QStringList onHostCommand(const QString& host, const QStringList& command) const;
    QString address(const QString& host, const QString& networks) const;

    QString m_folder;
    QString m_error;
    int m_ownNetwork = -1; ///< descriptor of the namespace that enterNetwork() left
};

/// Starts the program, gives it the input, waits; kills it at the deadline.
Ended runToEnd(const QStringList& command, const QByteArray& input, int milliseconds);

} // namespace lockstep::support
