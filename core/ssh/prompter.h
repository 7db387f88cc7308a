// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// What only a person can answer while a connection is made: an unknown host key, a passphrase, a
// password, the server's own questions. The desktop shows dialogs, lockstepctl asks the terminal or
// refuses. Texts from the server are untrusted: show them as plain text, marked as the server's.
// Threads: lives in the thread that owns the connections; ask() is called there.

#include <QList>
#include <QObject>
#include <QString>
#include <QStringList>

#include <cstdint>
#include <functional>
#include <optional>

namespace lockstep::ssh {

struct Question {
    enum class Kind {
        HostKey,     ///< accept this key and write it into known_hosts?
        Passphrase,  ///< of a private key file
        Password,    ///< of the account
        Interactive, ///< the server's own questions, one round of them
        Touch,       ///< no answer wanted: a security key waits to be touched; withdrawn when done
    };
    struct Prompt {
        QString text;
        bool echo = false;
    };

    Kind kind = Kind::Password;
    QString host;        ///< who asks: "alice@n0.lab:2222"
    QString destination; ///< the host that the person wants in the end; equals host at the last hop
    int hop = 1;         ///< 1-based
    int hops = 1;
    QString keyFile;       ///< Passphrase
    QString keyType;       ///< HostKey: "ssh-ed25519"
    QString fingerprint;   ///< HostKey: "SHA256:…"
    QString knownHosts;    ///< HostKey: the file that would get the line
    QStringList notes;     ///< HostKey: e.g. that another host has the same key
    QString title;         ///< Interactive: the server's title, untrusted
    QString instruction;   ///< Interactive: the server's text, untrusted
    QList<Prompt> prompts; ///< one for Passphrase and Password, any number for Interactive
    int round = 1;         ///< 2 and up: the answer before was not enough (or was wrong)
};

struct Answer {
    QStringList replies; ///< one per prompt; empty for HostKey (an Answer means: accept)
};

class Prompter : public QObject {
    Q_OBJECT
public:
    using QuestionId = std::uint64_t;
    /// Nothing: the person declined.
    using Done = std::function<void(std::optional<Answer>)>;
    using QObject::QObject;

    /// Asks; `done` is called once, later, from the event loop, never after withdraw(id).
    virtual QuestionId ask(const Question& question, Done done) = 0;
    /// The connection that asked is gone or was cancelled: close the dialog.
    virtual void withdraw(QuestionId id) = 0;
};

} // namespace lockstep::ssh
