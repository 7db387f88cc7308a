// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/ssh/resolve.h"

#include "core/ssh/config_parser.h"
#include "core/ssh/detail/account.h"
#include "core/ssh/detail/resolved_values.h"

#include <QProcess>
#include <QThread>
#include <QTimer>

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <mutex>

namespace lockstep::ssh {

namespace {

constexpr qsizetype kMostJumps = 16;

Error failed(Code code, const std::string& message, const Destination& destination) {
    return {code, message, destination.text().toStdString()};
}

/// What the thread of our own parser and its Query both hold.
struct Reading {
    std::mutex mutex;
    QObject* query = nullptr; ///< null once nobody waits
    std::atomic<bool> isCancelled = false;
};

/// The values of one host, with a deadline.
class Query : public QObject {
public:
    Query(const Destination& destination, const ResolveOptions& options,
          std::function<void(Result<Resolved>)> done)
        : m_destination(destination)
        , m_options(options)
        , m_done(std::move(done)) {
        m_deadline.setSingleShot(true);
        connect(&m_deadline, &QTimer::timeout, this, [this] {
            finish(failed(Code::TimedOut,
                          "The SSH configuration could not be read in time; a \"Match exec\" in it "
                          "may hang.",
                          m_destination));
        });
        m_deadline.start(options.deadline);
        if (options.program.isEmpty())
            readOurselves();
        else
            askClient();
    }
    ~Query() override {
        stopClient();
        if (!m_reading)
            return;
        const std::lock_guard lock(m_reading->mutex);
        m_reading->query = nullptr;
        m_reading->isCancelled = true;
    }

private:
    void askClient() {
        // Queued: whoever hears the answer may delete all this, the process included.
        connect(
            &m_process, &QProcess::finished, this, [this] { answered(); }, Qt::QueuedConnection);
        connect(
            &m_process, &QProcess::errorOccurred, this,
            [this](QProcess::ProcessError error) {
                if (error == QProcess::FailedToStart)
                    readOurselves();
            },
            Qt::QueuedConnection);
        QStringList words{QStringLiteral("-G")};
        if (!m_options.configFile.isEmpty())
            words << QStringLiteral("-F") << m_options.configFile;
        if (!m_destination.user.isEmpty())
            words << QStringLiteral("-l") << m_destination.user;
        if (m_destination.port > 0)
            words << QStringLiteral("-p") << QString::number(m_destination.port);
        for (const QString& identity : m_destination.identities)
            words << QStringLiteral("-i") << identity;
        if (!m_destination.proxyJump.isEmpty())
            words << QStringLiteral("-J") << m_destination.proxyJump;
        words << QStringLiteral("--") << m_destination.host;
        m_process.setStandardInputFile(QProcess::nullDevice());
        // A session of its own: no terminal to ask on, and one signal reaches a "Match exec" too.
        m_process.setChildProcessModifier([] { ::setsid(); });
        m_process.start(m_options.program, words);
    }
    void answered() {
        if (m_process.exitStatus() == QProcess::NormalExit && m_process.exitCode() == 0)
            return finish(parseResolved(m_process.readAllStandardOutput(), m_destination));
        const QByteArray text = m_process.readAllStandardError().trimmed();
        finish(failed(Code::InvalidArgument,
                      "ssh does not accept this destination or its configuration: " +
                          text.toStdString(),
                      m_destination));
    }
    void stopClient() {
        m_process.disconnect(this);
        if (m_process.state() == QProcess::NotRunning)
            return;
        if (m_process.processId() > 0)
            ::kill(static_cast<pid_t>(-m_process.processId()), SIGKILL);
        m_process.kill();
        m_process.waitForFinished(1000);
    }

    /// On a thread that can be left behind: a file system or a "Match exec" may hang.
    void readOurselves() {
        m_reading = std::make_shared<Reading>();
        m_reading->query = this;
        const auto read = [reading = m_reading, destination = m_destination, options = m_options,
                           this] {
            ConfigRequest request;
            request.destination = destination;
            request.configFile = options.configFile;
            request.deadline = options.deadline;
            request.isCancelled = &reading->isCancelled;
            const auto values = readConfig(request);
            const auto result =
                values ? detail::resolvedFrom(*values, destination, detail::Account::current())
                       : Result<Resolved>(values.error());
            const std::lock_guard lock(reading->mutex);
            if (reading->query)
                QMetaObject::invokeMethod(
                    reading->query, [this, result] { finish(result); }, Qt::QueuedConnection);
        };
        QThread* thread = QThread::create(read);
        thread->setObjectName(QStringLiteral("ssh config"));
        connect(thread, &QThread::finished, thread, &QObject::deleteLater);
        thread->start();
    }

    void finish(Result<Resolved> result) {
        if (!m_done)
            return;
        m_deadline.stop();
        std::exchange(m_done, nullptr)(std::move(result));
    }

    Destination m_destination;
    ResolveOptions m_options;
    std::function<void(Result<Resolved>)> m_done;
    QProcess m_process;
    QTimer m_deadline;
    std::shared_ptr<Reading> m_reading;
};

/// A destination and the jump hosts on the way to it, one Query after the other.
class Way : public QObject {
public:
    Way(const Destination& destination, const ResolveOptions& options, QObject* context,
        std::function<void(Result<Resolved>)> done)
        : QObject(context)
        , m_destination(destination)
        , m_options(options)
        , m_done(std::move(done)) {
        ask(destination, [this](const Resolved& values) {
            m_result = values;
            goOn();
        });
    }

private:
    void ask(const Destination& destination, const std::function<void(const Resolved&)>& next) {
        m_asked += destination.text();
        m_query = std::make_unique<Query>(
            destination, m_options, [this, next](const Result<Resolved>& values) {
                m_query->setParent(this); // it is calling, so it goes later
                m_query.release()->deleteLater();
                values ? next(*values) : finish(values.error());
            });
    }

    /// The first jump host may have jump hosts of its own; of the later ones OpenSSH ignores them.
    void goOn() {
        if (m_result.jumps.isEmpty())
            return finish(m_result);
        const Destination front = m_result.jumps.front();
        if (m_asked.contains(front.text()) || m_result.jumps.size() > kMostJumps)
            return finish(failed(
                Code::InvalidArgument,
                "ProxyJump leads in a circle: " +
                    (m_asked << front.text()).join(QStringLiteral(" through ")).toStdString() +
                    ". Give one of them \"ProxyJump none\" in ~/.ssh/config.",
                m_destination));
        ask(front, [this](const Resolved& values) {
            if (values.jumps.isEmpty())
                return finish(m_result);
            m_result.jumps = values.jumps + m_result.jumps;
            goOn();
        });
    }
    void finish(Result<Resolved> result) {
        deleteLater();
        std::exchange(m_done, nullptr)(std::move(result));
    }

    Destination m_destination;
    ResolveOptions m_options;
    std::function<void(Result<Resolved>)> m_done;
    Resolved m_result;
    QStringList m_asked;
    std::unique_ptr<Query> m_query;
};

} // namespace

QString Resolved::text() const {
    return Destination{hostname, user, port == 22 ? 0 : port, {}, {}}.text();
}

Result<Resolved> parseResolved(const QByteArray& output, const Destination& destination) {
    return detail::resolvedFrom(detail::parseClientOutput(output), destination,
                                detail::Account::current());
}

void resolve(const Destination& destination, const ResolveOptions& options, QObject* context,
             std::function<void(Result<Resolved>)> done) {
    new Way(destination, options, context, std::move(done));
}

} // namespace lockstep::ssh
