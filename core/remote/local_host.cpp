// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/remote/local_host.h"

#include "core/base/json.h"
#include "core/remote/detail/answers.h"
#include "core/remote/detail/file_thread.h"
#include "core/remote/detail/file_work.h"
#include "core/remote/detail/local_process.h"

#include <QCoreApplication>
#include <QThread>
#include <QTimer>

#include <atomic>
#include <map>

namespace lockstep::remote {

namespace {

constexpr qsizetype kOutputLimit = 64 << 20;
constexpr std::size_t kFetchLimit = 64u << 20;
constexpr auto kProgressEvery = 100ms;

Error timedOut(const std::string& what) {
    return {Code::TimedOut, "The deadline passed before this was done.", what};
}

QString defaultWorker() {
    const QString named = qEnvironmentVariable("LOCKSTEP_WORKER");
    return named.isEmpty() ? QCoreApplication::applicationDirPath() + u"/lockstep-worker"_qs
                           : named;
}

} // namespace

/// Requests under way. Whatever ends one (result, deadline, cancel) takes it out of the map first,
/// so what comes later finds nothing and is dropped. Callbacks stay here, in the caller's thread.
struct LocalHost::Private {
    struct Request {
        std::shared_ptr<void> done; ///< a Done<T>
        Progress progress;
        std::shared_ptr<std::atomic<bool>> isCancelled = std::make_shared<std::atomic<bool>>(false);
        std::unique_ptr<QProcess> process;
        std::unique_ptr<QTimer> timer;
        Milliseconds deadline{};
        bool isCopy = false;
    };

    explicit Private(LocalHost* host)
        : q(host)
        , small(std::make_unique<detail::FileThread>())
        , copies(std::make_unique<detail::FileThread>()) {}

    ~Private() {
        for (auto& [id, request] : requests) {
            *request.isCancelled = true;
            if (request.process)
                detail::endNow(*request.process);
        }
    }

    template <class T>
    Request& add(RequestId id, const std::string& what, Milliseconds deadline, Done<T> done) {
        Q_ASSERT(q->thread() == QThread::currentThread());
        Request& request = requests[id];
        request.done = std::make_shared<Done<T>>(std::move(done));
        request.deadline = deadline;
        request.timer = std::make_unique<QTimer>();
        request.timer->setSingleShot(true);
        QObject::connect(request.timer.get(), &QTimer::timeout, q,
                         [this, id, what] { finish<T>(id, timedOut(what)); });
        request.timer->start(deadline);
        return request;
    }

    template <class T>
    void finish(RequestId id, Result<T> result) {
        const auto done = std::static_pointer_cast<Done<T>>(take(id));
        if (done)
            (*done)(std::move(result));
    }

    /// The request's callback, or nothing where it is over already.
    std::shared_ptr<void> take(RequestId id) {
        const auto found = requests.find(id);
        if (found == requests.end())
            return {};
        Request request = std::move(found->second);
        requests.erase(found);
        *request.isCancelled = true;
        // Timer or process may be the sender of the signal at hand, so they go later.
        request.timer->stop();
        request.timer.release()->deleteLater();
        if (request.process)
            detail::abandon(std::move(request.process));
        return request.done;
    }

    template <class T>
    RequestId submit(detail::FileThread& thread, const std::string& what, Milliseconds deadline,
                     Done<T> done, Progress progress,
                     std::function<Result<T>(RequestId, const std::atomic<bool>&)> work) {
        const RequestId id = nextId++;
        Request& request = add<T>(id, what, deadline, std::move(done));
        request.isCopy = &thread == copies.get();
        request.progress = std::move(progress);
        thread.submit([this, id, work = std::move(work),
                       isCancelled = request.isCancelled]() -> detail::FileThread::Completion {
            if (*isCancelled)
                return [] {};
            return [this, id, result = work(id, *isCancelled)] { finish<T>(id, result); };
        });
        return id;
    }

    template <class T>
    RequestId submitSmall(const QString& path, Milliseconds deadline, Done<T> done,
                          std::function<Result<T>(const std::string&)> work) {
        return submit<T>(*small, path.toStdString(), deadline, std::move(done), {},
                         [path = path.toStdString(), work = std::move(work)](
                             RequestId, const std::atomic<bool>&) { return work(path); });
    }

    RequestId copy(const QString& from, const QString& to, unsigned mode,
                   files::Durability durability, Progress progress, Done<void> done,
                   Milliseconds deadline) {
        return submit<void>(
            *copies, to.toStdString(), deadline, std::move(done), std::move(progress),
            [this, from = from.toStdString(), to = to.toStdString(), mode,
             durability](RequestId id, const std::atomic<bool>& isCancelled) {
                auto last = std::chrono::steady_clock::now();
                const auto report = [&](std::int64_t now, std::int64_t total) {
                    if (now < total && std::chrono::steady_clock::now() - last < kProgressEvery)
                        return;
                    last = std::chrono::steady_clock::now();
                    copies->post([this, id, now, total] { onProgress(id, now, total); });
                };
                return detail::copyFile(from, to, mode, durability, isCancelled, report);
            });
    }

    void onProgress(RequestId id, std::int64_t now, std::int64_t total) {
        const auto found = requests.find(id);
        if (found == requests.end())
            return;
        // Copies wait for each other: while one moves, none of them is stuck.
        for (auto& [other, request] : requests)
            if (request.isCopy)
                request.timer->start(request.deadline);
        const Progress progress = found->second.progress; // it may cancel its own request
        if (progress)
            progress(now, total);
    }

    LocalHost* q;
    QString worker;
    RequestId nextId = 1;
    std::map<RequestId, Request> requests;
    // Destroyed first, so that no work runs when the rest goes.
    std::unique_ptr<detail::FileThread> small;
    std::unique_ptr<detail::FileThread> copies;
};

LocalHost::LocalHost(const QString& workerProgram, QObject* parent)
    : Host(parent)
    , m_d(std::make_unique<Private>(this)) {
    m_d->worker = workerProgram.isEmpty() ? defaultWorker() : workerProgram;
}

LocalHost::~LocalHost() = default;

QString LocalHost::workerProgram() const {
    return m_d->worker;
}

QString LocalHost::name() const {
    return u"this machine"_qs;
}

Host::RequestId LocalHost::deploy(Done<QString> done, Milliseconds deadline) {
    const QString worker = m_d->worker;
    return run(
        {worker, {u"--version"_qs}, {}, {}}, {},
        [done = std::move(done), worker](const Result<Output>& output) {
            const std::string where = worker.toStdString();
            if (!output && output.error().code == Code::NotFound)
                return done(Error{Code::NotFound,
                                  "The worker program is missing here; expected it beside this "
                                  "program, or its path in the variable LOCKSTEP_WORKER.",
                                  where});
            if (!output)
                return done(output.error());
            done(detail::readVersion(*output, where));
        },
        deadline);
}

Host::RequestId LocalHost::prepare(const QString& base, Done<HostFacts> done,
                                   Milliseconds deadline) {
    const QString worker = m_d->worker;
    const std::string request =
        json::dump(json::Value::object({{"base", base.toStdString()}})) + "\n";
    return run(
        {worker, {u"place"_qs}, {}, {}}, QByteArray::fromStdString(request),
        [done = std::move(done), worker](const Result<Output>& output) {
            if (!output)
                return done(output.error());
            auto facts = detail::readPlace(output->out, worker.toStdString());
            if (facts)
                facts->workerProgram = worker;
            done(std::move(facts));
        },
        deadline);
}

Host::RequestId LocalHost::run(const Command& command, const QByteArray& input, Done<Output> done,
                               Milliseconds deadline) {
    const RequestId id = m_d->nextId++;
    Private::Request& request =
        m_d->add<Output>(id, command.program.toStdString(), deadline, std::move(done));
    request.process = std::make_unique<QProcess>();
    QProcess* process = request.process.get();
    const auto output = std::make_shared<Output>();
    const auto read = [this, id, process, output] {
        output->out += process->readAllStandardOutput();
        output->err += process->readAllStandardError();
        if (output->out.size() + output->err.size() > kOutputLimit)
            m_d->finish<Output>(id, Error{Code::Corrupt, "The output is longer than 64 MiB.",
                                          process->program().toStdString()});
    };
    connect(process, &QProcess::readyReadStandardOutput, this, read);
    connect(process, &QProcess::readyReadStandardError, this, read);
    connect(process, &QProcess::finished, this, [this, id, process, output] {
        output->out += process->readAllStandardOutput();
        output->err += process->readAllStandardError();
        output->exit = detail::exitOf(*process);
        m_d->finish<Output>(id, std::move(*output));
    });
    connect(process, &QProcess::errorOccurred, this,
            [this, id, process](QProcess::ProcessError error) {
                if (error == QProcess::FailedToStart)
                    m_d->finish<Output>(id, detail::startError(*process));
            });
    detail::startLater(*process, command, input, detail::Input::Closed);
    return id;
}

std::unique_ptr<Stream> LocalHost::start(const Command& command, const QByteArray& input,
                                         Milliseconds silence) {
    return std::make_unique<detail::LocalStream>(command, input, silence);
}

Host::RequestId LocalHost::makeFolder(const QString& path, unsigned mode, Done<void> done,
                                      Milliseconds deadline) {
    return m_d->submitSmall<void>(
        path, deadline, std::move(done),
        [mode](const std::string& folder) { return files::makeFolders(folder, mode); });
}

Host::RequestId LocalHost::info(const QString& path, Done<FileFacts> done, Milliseconds deadline) {
    return m_d->submitSmall<FileFacts>(path, deadline, std::move(done), detail::fileFacts);
}

Host::RequestId LocalHost::put(const QString& path, const QByteArray& bytes, unsigned mode,
                               Done<void> done, Milliseconds deadline) {
    return m_d->submitSmall<void>(
        path, deadline, std::move(done), [bytes, mode](const std::string& target) {
            return files::writeAtomic(target, std::string_view(bytes.constData(), bytes.size()),
                                      files::Durability::Renamed, mode);
        });
}

Host::RequestId LocalHost::putFile(const QString& localPath, const QString& path, unsigned mode,
                                   Progress progress, Done<void> done, Milliseconds deadline) {
    return m_d->copy(localPath, path, mode, files::Durability::Renamed, std::move(progress),
                     std::move(done), deadline);
}

Host::RequestId LocalHost::fetch(const QString& path, Done<QByteArray> done,
                                 Milliseconds deadline) {
    return m_d->submitSmall<QByteArray>(path, deadline, std::move(done),
                                        [](const std::string& source) -> Result<QByteArray> {
                                            auto bytes = files::read(source, kFetchLimit);
                                            if (!bytes)
                                                return bytes.error();
                                            return QByteArray::fromStdString(*bytes);
                                        });
}

Host::RequestId LocalHost::fetchFile(const QString& path, const QString& localPath,
                                     Progress progress, Done<void> done, Milliseconds deadline) {
    return m_d->copy(path, localPath, 0644, files::Durability::Synced, std::move(progress),
                     std::move(done), deadline);
}

void LocalHost::cancel(RequestId id) {
    m_d->take(id);
}

} // namespace lockstep::remote
