// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// A real sshd on loopback, with host keys, an authorized key and a known_hosts file of its own, and
// an ssh_config that leads there: nothing of the user's own ~/.ssh is read or changed.

#include <QProcess>
#include <QString>
#include <QStringList>
#include <QTemporaryDir>

#include <memory>

namespace lockstep::support {

/// Why sshd cannot be tested here; empty where it can. A test skips with it, unless
/// LOCKSTEP_REQUIRE names "sshd".
QString missingSshd();

/// Why accounts of our own cannot be made here (not root, no namespaces, no PAM headers); empty
/// where they can.
QString missingAccounts();

class Sshd {
public:
    /// Accounts are seen by this sshd alone: a mount namespace of its own has a private
    /// /etc/passwd, shadow, group and pam.d/sshd. Each has its name as user and a password.
    struct Account {
        QString name;
        QString password;
    };

    /// Extra lines of sshd_config ("MaxAuthTries 3"). Starts it; isRunning() says whether it came.
    /// With `UsePAM yes` PAM asks for the password "lab" and then shows a menu, where 1 is right.
    explicit Sshd(const QStringList& options = {}, const QList<Account>& accounts = {});
    ~Sshd();
    Sshd(const Sshd&) = delete;
    Sshd& operator=(const Sshd&) = delete;

    bool isRunning() const;
    int port() const { return m_port; }
    QString path(const QString& name) const { return m_folder.filePath(name); }
    QString clientKey() const { return path(QStringLiteral("id_ed25519")); }
    QString knownHosts() const { return path(QStringLiteral("known_hosts")); }
    /// The host key's fingerprint as ssh-keygen prints it.
    QString fingerprint() const;
    QString log() const;

    /// Makes a new host key and starts again at the same port.
    void changeHostKey();
    void stop();
    void start();

    /// An ssh_config with `Host <alias>` for this server; with `isKnown` its key is in
    /// knownHosts().
    QString writeConfig(const QString& alias, const QStringList& lines = {}, bool isKnown = true);

    /// ssh-keygen -t type -N passphrase; its path.
    QString makeKey(const QString& name, const QStringList& arguments);
    /// Lets the key in.
    void authorize(const QString& key);
    void authorizeLine(const QByteArray& line);
    void writeKnownHosts();

private:
    QTemporaryDir m_folder;
    void writeAccounts();

    QStringList m_options;
    QList<Account> m_accounts;
    QProcess m_process;
    int m_port = 0;
};

/// A port of loopback that was free a moment ago.
int freePort();

} // namespace lockstep::support
