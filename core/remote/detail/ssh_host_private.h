// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The inside of SshHost: its requests (ssh_host.cpp), and the way to a host that is ready
// (ssh_deploy.cpp). Thread: the caller's.

#include "core/base/files.h"
#include "core/remote/detail/file_thread.h"
#include "core/remote/detail/helper_session.h"
#include "core/remote/ssh_host.h"

#include <QElapsedTimer>
#include <QPointer>
#include <QTimer>

#include <map>
#include <vector>

namespace lockstep::remote {

class SshHost::Private : public QObject {
public:
    Private(SshHost* host, std::unique_ptr<ssh::Connection> line, Bundle with, QString chosenBase);
    ~Private() override;

    struct Request {
        std::shared_ptr<void> done; ///< a Done<T>
        std::unique_ptr<QTimer> timer;
        Milliseconds deadline{};
        Milliseconds left{}; ///< of the deadline, while it rests
        std::uint32_t frame = 0;
        std::shared_ptr<QObject> work; ///< a transfer's state
    };

    // ssh_host.cpp
    template <class T>
    RequestId add(const std::string& what, Milliseconds deadline, Done<T> done) {
        const RequestId id = nextId++;
        Request& request = requests[id];
        request.done = std::make_shared<Done<T>>(std::move(done));
        request.deadline = deadline;
        request.timer = std::make_unique<QTimer>();
        request.timer->setSingleShot(true);
        connect(request.timer.get(), &QTimer::timeout, this, [this, id, what] {
            finish<T>(id, Error{Code::TimedOut, "The deadline passed before this was done.",
                                q->name().toStdString() + ": " + what});
        });
        request.timer->start(deadline);
        if (isAsking())
            rest(request);
        return id;
    }
    template <class T>
    void finish(RequestId id, Result<T> result) {
        if (const auto done = std::static_pointer_cast<Done<T>>(take(id)))
            (*done)(std::move(result));
    }
    std::shared_ptr<void> take(RequestId id);
    bool isOpen(RequestId id) const { return requests.contains(id); }
    void noteProgress(RequestId id);
    /// Once a helper serves: `begin`; else the request ends with the reason.
    template <class T>
    void whenReady(RequestId id, std::function<void()> begin) {
        ready([this, id, begin = std::move(begin)](const Status& status) {
            if (!isOpen(id))
                return;
            status ? begin() : finish<T>(id, status.error());
        });
    }
    /// Begins a request at the helper whose answers go to `handler`.
    void ask(RequestId id, helper::Kind kind, const json::Value& payload,
             detail::HelperSession::Handler handler);
    template <class T>
    RequestId simple(const std::string& what, Milliseconds deadline, Done<T> done,
                     helper::Kind kind, json::Value payload,
                     std::function<Result<T>(const helper::Frame&)> read);
    /// `done` gets what the program said, while the request is open.
    void runProgram(RequestId id, const Command& command, const QByteArray& input,
                    Done<Output> done);
    struct Upload {
        std::shared_ptr<QIODevice> from; ///< at `offset`
        std::string name;                ///< for errors
        std::int64_t offset = 0;
        std::int64_t total = 0;
        Progress progress;
        std::int64_t gone = -1; ///< as told last
    };
    /// Sends it in pieces as the contents of the request's file, as fast as the connection takes
    /// them; `failed` where it cannot be read to its end.
    void upload(RequestId id, Upload upload, std::function<void(const Error&)> failed);
    void commit(RequestId id, std::shared_ptr<files::AtomicFile> file);
    void putFrom(RequestId id, const QString& path, unsigned mode, Upload upload);

    // ssh_deploy.cpp
    void ready(std::function<void(Status)> done);
    void connectionOpened(const Status& status);
    void readyNow(const Status& status);
    void lost(const Error& error);
    void connectionChanged(ssh::Connection::State state);
    void setStage(HostStage stage, std::int64_t done = 0, std::int64_t total = 0);
    bool isAsking() const { return connection->state() == ssh::Connection::State::Asking; }
    void rest(Request& request);
    void deploy(RequestId id);
    void unpack(RequestId id);
    void unpacked(RequestId id, const Result<helper::Frame>& answer);
    void askVersion(RequestId id);
    HostFacts factsOf(HostFacts facts) const;

    SshHost* q;
    std::unique_ptr<ssh::Connection> connection;
    Bundle bundle;
    QString base;
    HostStage stage = HostStage::Idle;
    bool wasReady = false;   ///< the worker program answered
    bool wasResumed = false; ///< the bundle's copy goes on with what was there
    std::unique_ptr<detail::HelperSession> session;
    std::vector<std::function<void(Status)>> waiters;
    std::optional<HostFacts> facts;                 ///< of the last place
    std::unique_ptr<detail::FileThread> fileThread; ///< for what may wait for a disk; once needed
    RequestId nextId = 1;
    std::map<RequestId, Request> requests;
};

} // namespace lockstep::remote
