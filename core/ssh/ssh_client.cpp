// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/ssh/ssh_client.h"

#include "core/ssh/detail/client_private.h"
#include "core/ssh/detail/ssh_connection.h"

#include <QTimer>

#include <signal.h>

#include <chrono>

namespace lockstep::ssh {

namespace {

/// An unused jump host is kept for a moment: who reconnects need not log in there again.
constexpr std::chrono::seconds kLinger{5};

/// Does the server ask for the account's password, and for nothing else? A second factor comes in a
/// later round and never gets the password.
bool isPasswordShaped(const Question& question) {
    return question.kind == Question::Kind::Interactive && question.prompts.size() == 1 &&
           !question.prompts[0].echo &&
           question.prompts[0].text.trimmed().startsWith(u"password", Qt::CaseInsensitive);
}

/// What an answer is kept under; empty: it is asked each time.
QString secretKey(const Question& question) {
    if (question.kind == Question::Kind::Passphrase)
        return QStringLiteral("key ") + question.keyFile;
    if (question.kind == Question::Kind::Password || isPasswordShaped(question))
        return QStringLiteral("password ") + question.host;
    return {};
}

} // namespace

SshClient::SshClient(SshOptions options, Prompter* prompter, QObject* parent)
    : QObject(parent)
    , m_d(std::make_unique<Private>(std::move(options), prompter)) {
    qRegisterMetaType<Question>();
    qRegisterMetaType<Result<Exit>>();
    qRegisterMetaType<Error>();
    qRegisterMetaType<Connection::State>();
    ::signal(SIGPIPE, SIG_IGN); // libssh writes to sockets without MSG_NOSIGNAL
}

SshClient::~SshClient() = default;

std::unique_ptr<Connection> SshClient::connectionTo(const Destination& destination) {
    return std::make_unique<detail::SshConnection>(*m_d, destination, detail::Route{});
}

SshClient::Private::~Private() {
    isEnding = true;
    gateways.clear();
    for (const QPointer<QThread>& thread : threads)
        if (thread) {
            thread->quit();
            thread->wait(); // ends: every step of a session is short, or its socket is closed
        }
    for (auto& [key, secret] : secrets)
        detail::wipe(secret.text);
}

QString SshClient::Private::gatewayName(const QList<Destination>& jumps) {
    QStringList names;
    for (const Destination& jump : jumps)
        names += jump.text();
    return names.join(u' ');
}

SshClient::Private::Gateway SshClient::Private::gateway(const QList<Destination>& jumps,
                                                        const QString& destination, int hops,
                                                        int depth) {
    const QString name = gatewayName(jumps);
    auto& connection = gateways[name];
    if (!connection) {
        detail::Route route;
        route.via = jumps.mid(0, jumps.size() - 1);
        route.isGateway = jumps.size() > 1;
        route.destination = destination;
        route.hop = static_cast<int>(jumps.size());
        route.hops = hops;
        route.depth = depth + 1;
        connection = std::make_shared<detail::SshConnection>(*this, jumps.last(), route);
    }
    ++leases[name];
    return {connection, std::shared_ptr<void>(nullptr, [this, name](void*) { leave(name); })};
}

void SshClient::Private::leave(const QString& gateway) {
    if (isEnding || --leases[gateway] > 0)
        return;
    detail::SshConnection* connection = gateways[gateway].get();
    const bool isOpen = connection->state() == Connection::State::Open;
    QTimer::singleShot(isOpen ? kLinger : std::chrono::seconds(0), connection,
                       [this, gateway, connection] {
                           if (leases[gateway] == 0)
                               connection->close();
                       });
}

void SshClient::Private::adopt(QThread* thread) {
    threads.removeAll(nullptr);
    threads.append(thread);
}

void SshClient::Private::acquire(const QString& gateway, QObject* context,
                                 std::function<void()> granted) {
    Slots& places = slotsOf[gateway];
    places.queue.emplace_back(context, std::move(granted));
    grant(places);
}

void SshClient::Private::release(const QString& gateway) {
    Slots& places = slotsOf[gateway];
    --places.taken;
    grant(places);
}

void SshClient::Private::grant(Slots& places) {
    while (places.taken < options.handshakesAtOnce && !places.queue.empty()) {
        auto [context, granted] = std::move(places.queue.front());
        places.queue.pop_front();
        if (!context)
            continue;
        ++places.taken;
        granted();
    }
}

/// Questions with the same id are shown once, and their answer goes to all who asked.
QString SshClient::Private::idOf(const Question& question) {
    static quint64 unique = 0;
    if (question.kind == Question::Kind::HostKey)
        return QStringLiteral("host key ") + question.host + u' ' + question.fingerprint;
    if (question.kind == Question::Kind::Passphrase || question.kind == Question::Kind::Password)
        return secretKey(question);
    return QString::number(++unique);
}

void SshClient::Private::ask(const Question& question, QObject* context,
                             std::function<void(std::optional<Answer>)> done) {
    const QString key = secretKey(question);
    const auto later = [context](std::function<void()> call) {
        QMetaObject::invokeMethod(context, std::move(call), Qt::QueuedConnection);
    };
    if (const auto known = secrets.find(key); !key.isEmpty() && known != secrets.end()) {
        if (question.round == 1 ||
            (question.kind == Question::Kind::Passphrase && known->second.host != question.host))
            return later([done = std::move(done), text = QString::fromUtf8(known->second.text)] {
                done(Answer{{text}});
            });
        if (!known->second.isProven || question.kind != Question::Kind::Interactive) {
            detail::wipe(known->second.text); // it was wrong
            secrets.erase(known);
        }
    }
    if (!prompter)
        return later([done = std::move(done)] { done(std::nullopt); });
    const QString id = idOf(question);
    Asked& entry = asked[id];
    entry.waiting.push_back({context, std::move(done)});
    if (entry.waiting.size() == 1)
        entry.id = prompter->ask(question, [this, id, question](std::optional<Answer> answer) {
            answered(id, question, std::move(answer));
        });
    QObject::connect(context, &QObject::destroyed, prompter,
                     [this, id, context] { withdrawIfUnwanted(id, context); });
}

/// Whoever waited alone and is gone takes the dialog along.
void SshClient::Private::withdrawIfUnwanted(const QString& id, const QObject* gone) {
    const auto at = asked.find(id);
    if (at == asked.end())
        return;
    std::erase_if(at->second.waiting,
                  [&](const Waiting& w) { return !w.context || w.context == gone; });
    if (!at->second.waiting.empty())
        return;
    const auto shown = at->second.id;
    asked.erase(at);
    if (prompter)
        prompter->withdraw(shown);
}

void SshClient::Private::answered(const QString& key, const Question& question,
                                  std::optional<Answer> answer) {
    const auto at = asked.find(key);
    if (at == asked.end())
        return;
    const std::vector<Waiting> waiting = std::move(at->second.waiting);
    asked.erase(at);
    const QString secret = secretKey(question);
    const bool isLaterFactor = question.kind == Question::Kind::Interactive && question.round > 1;
    if (answer && !secret.isEmpty() && !isLaterFactor)
        secrets[secret] = {question.host, answer->replies.value(0).toUtf8(), false};
    for (const Waiting& each : waiting)
        if (each.context)
            each.done(answer);
}

void SshClient::Private::settle(const QString& host, bool wereRight) {
    for (auto at = secrets.begin(); at != secrets.end();) {
        Secret& secret = at->second;
        if (secret.host == host && !secret.isProven) {
            if (!wereRight) {
                detail::wipe(secret.text);
                at = secrets.erase(at);
                continue;
            }
            secret.isProven = true;
        }
        ++at;
    }
}

} // namespace lockstep::ssh
