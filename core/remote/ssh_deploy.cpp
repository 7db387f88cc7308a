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
            this,
            [this, done = std::move(done)]() mutable {
                session && session->isServing() ? done({}) : ready(std::move(done));
            },
            Qt::QueuedConnection);
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
    if (session)
        return; // one is on its way
    session = std::make_unique<detail::HelperSession>(*connection, bundle, base);
    connect(session.get(), &detail::HelperSession::serving, this, [this] { readyNow({}); });
    connect(session.get(), &detail::HelperSession::ended, this,
            [this](const Error& error) { lost(error); });
    session->start();
}

void SshHost::Private::readyNow(const Status& status) {
    if (!status)
        setStage(wasReady ? HostStage::Reconnecting : HostStage::Idle);
    else if (wasReady)
        setStage(HostStage::Ready);     // else deploy() says so
    const QPointer<Private> self(this); // who hears it may end us
    const auto all = std::exchange(waiters, {});
    for (const auto& done : all)
        if (self)
            done(status);
}

void SshHost::Private::lost(const Error& error) {
    if (session)
        session.release()->deleteLater(); // it may be what calls us
    readyNow(error);
}

void SshHost::Private::deploy(RequestId id) {
    if (!wasReady)
        setStage(HostStage::Deploying);
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
                             {"packed", bundle.packedHash.toStdString()},
                             {"size", bundle.packedSize}}),
        [this, id](const Result<helper::Frame>& answer) { unpacked(id, answer); });
}

void SshHost::Private::unpacked(RequestId id, const Result<helper::Frame>& answer) {
    if (!answer)
        return finish<QString>(id, answer.error());
    if (answer->kind == helper::Kind::Done)
        return askVersion(id);
    if (answer->kind == helper::Kind::Failed) {
        const Error error = helper::decodeError(answer->payload);
        // What an interrupted copy left may be damaged: once more, from the beginning.
        if (error.code == Code::Corrupt && std::exchange(wasResumed, false))
            return unpack(id);
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
    wasResumed = offset > 0;
    auto file = std::make_shared<QFile>(bundle.packedFile);
    if (!file->open(QIODevice::ReadOnly) || !file->seek(offset))
        return finish<QString>(
            id, Error{Code::NotFound,
                      "The bundle for hosts cannot be read: " + file->errorString().toStdString(),
                      bundle.packedFile.toStdString()});
    Upload packed{file, bundle.packedFile.toStdString(), offset, bundle.packedSize, {}};
    packed.progress = [this](std::int64_t done, std::int64_t total) {
        setStage(HostStage::Deploying, done, total);
    };
    upload(id, std::move(packed), [this, id](const Error& error) { finish<QString>(id, error); });
}

void SshHost::Private::askVersion(RequestId id) {
    runProgram(id, facts->worker({u"--version"_qs}), {}, [this, id](const Result<Output>& output) {
        if (!output)
            return finish<QString>(id, output.error());
        auto version = detail::readVersion(*output, q->name().toStdString());
        if (version) {
            wasReady = true;
            setStage(HostStage::Ready);
        }
        finish<QString>(id, std::move(version));
    });
}

} // namespace lockstep::remote
