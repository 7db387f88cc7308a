// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/models/connection_test.h"

#include "ui/models/format.h"

#include <QHash>
#include <QPointer>

#include <algorithm>
#include <utility>

namespace lockstep::ui {
namespace {

constexpr std::chrono::seconds kLookDeadline{20};
constexpr qsizetype kMostOutput = 256 * 1024;
constexpr int kMostBanners = 8;
constexpr const char* kBegin = "lockstep-facts-begin\n";
constexpr const char* kEnd = "lockstep-facts-end\n";

/// Fixed text: nothing of the user's is in it. What is missing on a host gives an empty value.
constexpr const char* kScript = R"sh(exec 2>/dev/null
echo
echo lockstep-facts-begin
echo "name=$(uname -n)"
echo "os=$(. /etc/os-release; echo "$PRETTY_NAME")"
echo "kernel=$(uname -sr)"
echo "machine=$(uname -m)"
echo "libc=$(getconf GNU_LIBC_VERSION)"
echo "cores=$(getconf _NPROCESSORS_ONLN)"
while read -r key value unit; do
    case $key in
    MemTotal:) echo "memory=$value" ;;
    MemAvailable:) echo "free=$value" ;;
    esac
done </proc/meminfo
read -r load rest </proc/loadavg && echo "load=$load"
set -- $(df -Pk "$HOME" | tail -n 1) && echo "disk=$4"
echo "shell=$SHELL"
nvidia-smi -L | while IFS= read -r line; do echo "gpu=$line"; done
echo lockstep-facts-end
exit 0
)sh";

QString nameOf(const QByteArray& key) {
    static const QHash<QByteArray, const char*> names = {
        {"name", "Host name"},       {"os", "System"},         {"kernel", "Kernel"},
        {"machine", "Architecture"}, {"libc", "C library"},    {"cores", "Cores"},
        {"memory", "Memory"},        {"free", "Memory free"},  {"load", "Load"},
        {"disk", "Free at home"},    {"shell", "Login shell"}, {"gpu", "GPU"}};
    const char* name = names.value(key, nullptr);
    return name ? ConnectionTest::tr(name) : QString();
}

QString valueOf(const QByteArray& key, const QByteArray& value) {
    bool ok = false;
    const double kib = value.toDouble(&ok);
    if (ok && (key == "memory" || key == "free" || key == "disk"))
        return formatBytes(kib * 1024);
    return plainText(QString::fromUtf8(value), 200);
}

QList<HostFact> factsOf(const ssh::Resolved& where) {
    QList<HostFact> facts = {{ConnectionTest::tr("Connects to"), plainText(where.hostname, 200)},
                             {ConnectionTest::tr("Port"), QString::number(where.port)},
                             {ConnectionTest::tr("Account"), plainText(where.user, 100)}};
    const auto add = [&](const QString& name, const QString& value) {
        if (!value.isEmpty())
            facts.append({name, plainText(value, 400)});
    };
    QStringList jumps;
    for (const auto& jump : where.jumps)
        jumps.append(jump.text());
    add(ConnectionTest::tr("By way of"), jumps.join(QStringLiteral(" → ")));
    add(ConnectionTest::tr("Proxy command"), where.proxyCommand);
    add(ConnectionTest::tr("Key files"), where.identityFiles.join(QStringLiteral(", ")));
    add(ConnectionTest::tr("Host key known as"), where.hostKeyAlias);
    for (const QString& note : where.notes)
        add(ConnectionTest::tr("Note"), note);
    return facts;
}

} // namespace

std::optional<QList<HostFact>> readHostFacts(const QByteArray& output) {
    const qsizetype begin = output.lastIndexOf(kBegin);
    const qsizetype end = output.indexOf(kEnd, std::max<qsizetype>(begin, 0));
    if (begin < 0 || end < 0)
        return {};
    const qsizetype from = begin + static_cast<qsizetype>(qstrlen(kBegin));
    QList<HostFact> facts;
    for (const QByteArray& line : output.mid(from, end - from).split('\n')) {
        const qsizetype equals = line.indexOf('=');
        const QByteArray key = line.left(equals);
        const QByteArray value = line.mid(equals + 1).trimmed();
        if (equals > 0 && !value.isEmpty() && !nameOf(key).isEmpty())
            facts.append({nameOf(key), valueOf(key, value)});
    }
    return facts;
}

ConnectionTest::ConnectionTest(SshAccess access, QObject* parent)
    : QObject(parent)
    , m_access(std::move(access)) {
    m_deadline.setSingleShot(true);
    m_deadline.setInterval(kLookDeadline);
    connect(&m_deadline, &QTimer::timeout, this, [this] {
        fail({Code::TimedOut,
              "The host let us in, but its shell said nothing for 20 s. Look at the start-up "
              "files "
              "of this account's shell there, and at the host's load.",
              m_destination.text().toStdString()});
    });
}

ConnectionTest::~ConnectionTest() = default;

bool ConnectionTest::isRunning() const {
    return m_state != State::Idle && m_state < State::Passed;
}

void ConnectionTest::setState(State state) {
    m_state = state;
    Q_EMIT changed();
}

void ConnectionTest::start(const ssh::Destination& destination) {
    cancel();
    m_destination = destination;
    m_error.reset();
    m_resolved.clear();
    m_facts.clear();
    m_banners.clear();
    m_output.clear();
    m_attempt = std::make_unique<QObject>();
    m_clock.start();
    setState(State::Resolving);
    m_access.resolve(destination, m_attempt.get(), [this](const Result<ssh::Resolved>& where) {
        if (!where)
            return fail(where.error());
        m_resolved = factsOf(*where);
        connectTo();
    });
}

void ConnectionTest::cancel() {
    if (!isRunning())
        return;
    m_attempt.reset();
    m_deadline.stop();
    m_channel.reset();
    if (m_connection)
        m_connection->close();
    m_connection.reset();
    setState(State::Cancelled);
}

void ConnectionTest::fail(const Error& error) {
    m_deadline.stop();
    m_error = error;
    if (m_channel)
        m_channel.release()->deleteLater(); // it may be the one that calls
    if (m_connection)
        m_connection.release()->deleteLater();
    setState(State::Failed);
}

void ConnectionTest::connectTo() {
    m_connection = m_access.connectionTo(m_destination);
    connect(m_connection.get(), &ssh::Connection::stateChanged, m_attempt.get(),
            [this](ssh::Connection::State state) {
                if (state == ssh::Connection::State::Asking)
                    setState(State::Asking);
                else if (state == ssh::Connection::State::Authenticating)
                    setState(State::LoggingIn);
                else if (state == ssh::Connection::State::Connecting)
                    setState(State::Connecting);
            });
    connect(m_connection.get(), &ssh::Connection::bannerReceived, m_attempt.get(),
            [this](const QString& hop, const QString& text) {
                if (m_banners.size() < kMostBanners)
                    m_banners.append({plainText(hop, 200), text.left(4000)});
                Q_EMIT changed();
            });
    setState(State::Connecting);
    m_connection->open([this, attempt = QPointer<QObject>(m_attempt.get())](const Status& status) {
        if (!attempt || !isRunning())
            return;
        if (!status.ok())
            return fail(status.error());
        look();
    });
}

void ConnectionTest::look() {
    setState(State::Looking);
    m_deadline.start();
    m_channel = m_connection->exec("exec /bin/sh");
    connect(m_channel.get(), &ssh::Channel::received, m_attempt.get(),
            [this](const QByteArray& bytes) {
                if (m_output.size() < kMostOutput)
                    m_output += bytes;
            });
    connect(m_channel.get(), &ssh::Channel::closed, m_attempt.get(),
            [this](const Result<ssh::Exit>& end) {
                if (m_state != State::Looking)
                    return;
                if (!end && m_output.isEmpty())
                    return fail(end.error());
                read(m_output);
            });
    m_channel->write(kScript);
    m_channel->closeWrite();
}

void ConnectionTest::read(const QByteArray& output) {
    m_deadline.stop();
    const auto facts = readHostFacts(output);
    if (!facts) {
        QString said = plainText(QString::fromUtf8(output.left(200)).trimmed(), 200);
        if (said.isEmpty())
            said = tr("nothing");
        return fail(
            {Code::Unsupported,
             "The login works, but this account gets no shell that runs commands; it said: " +
                 said.toStdString() + ". Give the account a shell (chsh), or use another one.",
             m_destination.text().toStdString()});
    }
    m_facts = *facts;
    m_seconds = static_cast<double>(m_clock.elapsed()) / 1000;
    m_channel.release()->deleteLater();
    m_connection->close();
    m_connection.release()->deleteLater();
    setState(State::Passed);
}

QString ConnectionTest::words() const {
    const QString who = plainText(m_destination.text(), 200);
    switch (m_state) {
    case State::Idle:
        return tr("Not tested yet.");
    case State::Resolving:
        return tr("Reading what %1 means in the SSH configuration…").arg(who);
    case State::Connecting:
        return tr("Connecting to %1…").arg(who);
    case State::LoggingIn:
        return tr("Logging in to %1…").arg(who);
    case State::Asking:
        return tr("Waiting for your answer; nothing times out meanwhile.");
    case State::Looking:
        return tr("Logged in. Asking %1 what it is…").arg(who);
    case State::Passed:
        return tr("%1 can be used: connected, logged in and answered in %2.")
            .arg(who, formatDuration(m_seconds));
    case State::Failed:
        return plainText(QString::fromStdString(m_error->message));
    case State::Cancelled:
        return tr("Cancelled.");
    }
    return {};
}

} // namespace lockstep::ui
