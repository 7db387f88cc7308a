// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/models/key_install.h"

#include "ui/models/format.h"

#include <QDir>
#include <QFile>
#include <QPointer>

#include <utility>

namespace lockstep::ui {
namespace {

constexpr std::chrono::seconds kDeadline{20};

/// Read as a whole before it runs, so that the line after it is the key. Fixed text.
constexpr const char* kScript = R"sh({ umask 077
cd || { echo lockstep-no-home; exit 4; }
echo lockstep-ready
IFS= read -r key || exit 3
mkdir -p .ssh && touch .ssh/authorized_keys || { echo lockstep-no-write; exit 5; }
if grep -qxF -e "$key" .ssh/authorized_keys; then echo lockstep-present; exit 0; fi
if [ -s .ssh/authorized_keys ] && [ -n "$(tail -c 1 .ssh/authorized_keys)" ]; then
    echo >>.ssh/authorized_keys
fi
if printf '%s\n' "$key" >>.ssh/authorized_keys; then echo lockstep-installed
else echo lockstep-no-write; exit 5; fi
exit 0; }
)sh";

} // namespace

KeyInstall::KeyInstall(SshAccess access, QString folder, QObject* parent)
    : QObject(parent)
    , m_access(std::move(access))
    , m_folder(std::move(folder)) {
    m_deadline.setSingleShot(true);
    m_deadline.setInterval(kDeadline);
    connect(&m_deadline, &QTimer::timeout, this, [this] {
        fail({Code::TimedOut, "Nothing was heard for 20 s. Test the connection, then try again.",
              m_destination.text().toStdString()});
    });
}

KeyInstall::~KeyInstall() = default;

QString KeyInstall::keyFile() const {
    return m_folder + QStringLiteral("/id_ed25519");
}

void KeyInstall::setState(State state) {
    m_state = state;
    Q_EMIT changed();
}

void KeyInstall::fail(const Error& error) {
    m_deadline.stop();
    m_error = error;
    if (m_channel)
        m_channel.release()->deleteLater();
    if (m_connection)
        m_connection.release()->deleteLater();
    setState(State::Failed);
}

void KeyInstall::cancel() {
    if (!isRunning())
        return;
    m_attempt.reset();
    m_deadline.stop();
    if (m_keygen)
        m_keygen->kill();
    m_channel.reset();
    if (m_connection)
        m_connection->close();
    m_connection.reset();
    setState(State::Cancelled);
}

void KeyInstall::start(const ssh::Destination& destination) {
    cancel();
    m_destination = destination;
    m_error.reset();
    m_output.clear();
    m_isSent = m_wasThere = m_wasMade = false;
    m_attempt = std::make_unique<QObject>();
    setState(State::MakingKey);
    if (QFile::exists(keyFile() + QStringLiteral(".pub")))
        return connectTo();
    if (QFile::exists(keyFile()))
        return fail({Code::NotFound,
                     "There is a private key without its public part. Make that with: ssh-keygen "
                     "-y -f " +
                         keyFile().toStdString() + " > " + keyFile().toStdString() + ".pub",
                     keyFile().toStdString()});
    makeKey();
}

void KeyInstall::makeKey() {
    if (!QDir().exists(m_folder)) {
        QDir().mkpath(m_folder);
        QFile::setPermissions(m_folder, QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    }
    m_wasMade = true;
    m_keygen = std::make_unique<QProcess>();
    m_keygen->setStandardInputFile(QProcess::nullDevice());
    connect(m_keygen.get(), &QProcess::errorOccurred, m_attempt.get(),
            [this](QProcess::ProcessError error) {
                if (error == QProcess::FailedToStart)
                    fail({Code::NotFound,
                          "There is no ssh-keygen here. Install OpenSSH's client "
                          "(openssh-client), then try again.",
                          "ssh-keygen"});
            });
    connect(m_keygen.get(), &QProcess::finished, m_attempt.get(),
            [this](int code, QProcess::ExitStatus) {
                m_deadline.stop();
                if (code != 0)
                    return fail({Code::Internal,
                                 "ssh-keygen made no key: " +
                                     m_keygen->readAllStandardError().trimmed().toStdString(),
                                 keyFile().toStdString()});
                connectTo();
            });
    m_deadline.start();
    m_keygen->start(QStringLiteral("ssh-keygen"),
                    {QStringLiteral("-q"), QStringLiteral("-t"), QStringLiteral("ed25519"),
                     QStringLiteral("-N"), QString(), QStringLiteral("-f"), keyFile()});
}

void KeyInstall::connectTo() {
    QFile file(keyFile() + QStringLiteral(".pub"));
    if (!file.open(QIODevice::ReadOnly))
        return fail(
            {Code::NotFound, "The public key cannot be read.", file.fileName().toStdString()});
    m_publicKey = file.readLine(16 * 1024).trimmed();
    if (!m_publicKey.startsWith("ssh-") && !m_publicKey.startsWith("ecdsa-") &&
        !m_publicKey.startsWith("sk-"))
        return fail(
            {Code::Corrupt, "This is no public key of OpenSSH.", file.fileName().toStdString()});
    m_connection = m_access.connectionTo(m_destination);
    setState(State::Connecting);
    m_connection->open([this, attempt = QPointer<QObject>(m_attempt.get())](const Status& status) {
        if (!attempt || !isRunning())
            return;
        if (!status.ok())
            return fail(status.error());
        install();
    });
}

void KeyInstall::install() {
    setState(State::Installing);
    m_deadline.start();
    m_channel = m_connection->exec("exec /bin/sh");
    connect(m_channel.get(), &ssh::Channel::received, m_attempt.get(),
            [this](const QByteArray& bytes) { received(bytes); });
    connect(m_channel.get(), &ssh::Channel::closed, m_attempt.get(),
            [this](const Result<ssh::Exit>& end) {
                if (m_state != State::Installing)
                    return;
                fail(end ? Error{Code::Unsupported,
                                 "The host did not take the key. Is its home folder writable, and "
                                 "does the account have a shell?",
                                 m_destination.text().toStdString()}
                         : end.error());
            });
    m_channel->write(kScript);
}

void KeyInstall::received(const QByteArray& bytes) {
    m_output = (m_output + bytes).right(4096);
    if (!m_isSent && m_output.contains("lockstep-ready\n")) {
        m_isSent = true;
        m_channel->write(m_publicKey + '\n');
        m_channel->closeWrite();
    }
    m_wasThere = m_output.contains("lockstep-present\n");
    if (!m_wasThere && !m_output.contains("lockstep-installed\n"))
        return;
    m_deadline.stop();
    m_channel.release()->deleteLater();
    m_connection->close();
    m_connection.release()->deleteLater();
    setState(State::Done);
}

QString KeyInstall::words() const {
    const QString who = plainText(m_destination.text(), 200);
    switch (m_state) {
    case State::Idle:
        return {};
    case State::MakingKey:
        return tr("Making a key…");
    case State::Connecting:
        return tr("Connecting to %1…").arg(who);
    case State::Installing:
        return tr("Writing the public key to %1…").arg(who);
    case State::Done:
        return (m_wasThere ? tr("%1 had this key already.") : tr("%1 has your public key now."))
                   .arg(who) +
               QLatin1Char(' ') +
               (m_wasMade ? tr("The new private key is %1, without a passphrase; give it one with "
                               "ssh-keygen -p.")
                                .arg(plainText(keyFile(), 200))
                          : tr("It belongs to %1.").arg(plainText(keyFile(), 200)));
    case State::Failed:
        return plainText(QString::fromStdString(m_error->message));
    case State::Cancelled:
        return tr("Cancelled.");
    }
    return {};
}

} // namespace lockstep::ui
