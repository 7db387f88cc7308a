// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// From a destination to a host that is ready: connection, helper, bundle.
#include "core/base/json.h"
#include "core/remote/detail/answers.h"
#include "core/remote/detail/ssh_host_private.h"

#include <QFile>

namespace lockstep::remote {

namespace {

constexpr auto kRetryLocked = 1s; ///< while another Lockstep copies the bundle

} // namespace

void SshHost::Private::setStage(HostStage next, std::int64_t done, std::int64_t total) {
    if (stage == next && total == 0)
        return;
    stage = next;
    Q_EMIT q->stageChanged(next, done, total);
}

/// A request's time does not run while a person is asked.
void SshHost::Private::rest(Request& request) {
    if (!request.timer->isActive())
        return;
    request.left = Milliseconds(std::max(1, request.timer->remainingTime()));
    request.timer->stop();
}

void SshHost::Private::connectionChanged(ssh::Connection::State state) {
    using State = ssh::Connection::State;
    for (auto& [id, request] : requests) {
        if (state == State::Asking)
            rest(request);
        else if (request.left.count() > 0)
            request.timer->start(std::exchange(request.left, Milliseconds(0)));
    }
    if (state == State::Asking)
        setStage(HostStage::Asking);
    else if (state == State::Connecting || state == State::Authenticating)
        setStage(wasReady ? HostStage::Reconnecting : HostStage::Connecting);
}

void SshHost::Private::ready(std::function<void(Status)> done) {
    if (session && session->isServing() && waiters.empty()) {
        QMetaObject::invokeMethod(
            this, [done = std::move(done)] { done({}); }, Qt::QueuedConnection);
        return;
    }
    waiters.push_back(std::move(done));
    if (waiters.size() > 1)
        return;
    setStage(wasReady ? HostStage::Reconnecting : HostStage::Connecting);
    connection->open([this](const Status& status) { connectionOpened(status); });
}

void SshHost::Private::connectionOpened(const Status& status) {
    if (!status)
        return readyNow(status);
    session = std::make_unique<detail::HelperSession>(*connection, bundle);
    connect(session.get(), &detail::HelperSession::serving, this, [this] { readyNow({}); });
    connect(session.get(), &detail::HelperSession::ended, this,
            [this](const Error& error) { lost(error); });
    session->start();
}

void SshHost::Private::readyNow(const Status& status) {
    if (status) {
        wasReady = true;
        setStage(HostStage::Ready);
    } else {
        setStage(HostStage::Idle);
    }
    const auto all = std::exchange(waiters, {});
    for (const auto& done : all)
        done(status);
}

void SshHost::Private::lost(const Error& error) {
    if (session)
        session.release()->deleteLater();
    readyNow(error);
}

void SshHost::Private::deploy(RequestId id) {
    ask(id, helper::Kind::Place, json::Value::object({{"base", base.toStdString()}}),
        [this, id](const Result<helper::Frame>& answer) {
            if (!answer)
                return finish<QString>(id, answer.error());
            if (answer->kind == helper::Kind::Failed)
                return finish<QString>(id, helper::decodeError(answer->payload));
            auto placed = detail::readPlace(QByteArray::fromStdString(answer->payload),
                                            q->name().toStdString());
            if (!placed)
                return finish<QString>(id, placed.error());
            facts = factsOf(std::move(*placed));
            unpack(id);
        });
}

HostFacts SshHost::Private::factsOf(HostFacts placed) const {
    const QString engine = placed.machinePath() + u"/engine/"_qs + bundle.hash;
    placed.workerProgram = engine + u'/' + bundle.loader;
    placed.workerArgs = {u"--library-path"_qs, engine + u"/lib"_qs,
                         engine + u"/lockstep-worker"_qs};
    if (session)
        placed.notes += session->notes();
    return placed;
}

void SshHost::Private::unpack(RequestId id) {
    ask(id, helper::Kind::Unpack,
        json::Value::object({{"folder", (facts->machinePath() + u"/engine"_qs).toStdString()},
                             {"hash", bundle.hash.toStdString()},
                             {"packed", bundle.packedHash.toStdString()}}),
        [this, id](const Result<helper::Frame>& answer) { unpacked(id, answer); });
}

void SshHost::Private::unpacked(RequestId id, const Result<helper::Frame>& answer) {
    if (!answer)
        return finish<QString>(id, answer.error());
    if (answer->kind == helper::Kind::Done)
        return askVersion(id);
    if (answer->kind == helper::Kind::Failed) {
        const Error error = helper::decodeError(answer->payload);
        if (error.code != Code::AlreadyExists)
            return finish<QString>(id, error);
        QTimer::singleShot(kRetryLocked, this, [this, id] {
            if (isOpen(id) && session)
                unpack(id);
        });
        return;
    }
    if (answer->kind != helper::Kind::Offset)
        return;
    const auto value = json::parse(answer->payload, "offset");
    const json::Value* at = value ? value->find("offset") : nullptr;
    const std::int64_t offset = at && at->isInteger() ? at->toInteger() : 0;
    auto file = std::make_shared<QFile>(bundle.packedFile);
    // A longer part file than ours is of something else: its hash will say so.
    if (!file->open(QIODevice::ReadOnly) || !file->seek(std::min(offset, bundle.packedSize)))
        return finish<QString>(
            id, Error{Code::NotFound,
                      "The bundle for hosts cannot be read: " + file->errorString().toStdString(),
                      bundle.packedFile.toStdString()});
    upload(
        id, file,
        [this](std::int64_t done, std::int64_t total) {
            setStage(HostStage::Deploying, done, total);
        },
        offset, bundle.packedSize);
}

void SshHost::Private::askVersion(RequestId id) {
    const auto output = std::make_shared<Output>();
    const Command command = facts->worker({u"--version"_qs});
    json::Value args = json::Value::array();
    for (const QString& arg : command.args)
        args.append(arg.toStdString());
    ask(id, helper::Kind::Run,
        json::Value::object({{"program", command.program.toStdString()}, {"args", args}}),
        [this, id, output](const Result<helper::Frame>& answer) {
            if (!answer)
                return finish<QString>(id, answer.error());
            const auto bytes = QByteArray::fromStdString(answer->payload);
            switch (answer->kind) {
            case helper::Kind::Output:
                output->out += bytes;
                return;
            case helper::Kind::ErrorOutput:
                output->err += bytes;
                return;
            case helper::Kind::Failed:
                return finish<QString>(id, helper::decodeError(answer->payload));
            case helper::Kind::Exited:
                output->exit.exitCode = answer->payload == R"({"exit_code":0})" ? 0 : 1;
                setStage(HostStage::Ready);
                return finish<QString>(id, detail::readVersion(*output, q->name().toStdString()));
            default:
                return;
            }
        });
    if (const auto at = requests.find(id); at != requests.end())
        session->send(at->second.frame, helper::Kind::InputEnd);
}

} // namespace lockstep::remote
