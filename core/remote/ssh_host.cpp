// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/remote/ssh_host.h"

#include "core/base/files.h"
#include "core/base/json.h"
#include "core/remote/detail/answers.h"
#include "core/remote/detail/ssh_host_private.h"
#include "core/remote/detail/ssh_stream.h"

#include <QBuffer>
#include <QFile>

namespace lockstep::remote {

namespace {

constexpr qsizetype kOutputLimit = 64 << 20;
constexpr qint64 kPiece = 256 * 1024;
constexpr qint64 kQueue = 2 << 20; ///< bytes of transfers on their way to the connection's thread

std::string text(const QString& value) {
    return value.toStdString();
}

} // namespace

SshHost::Private::Private(SshHost* host, std::unique_ptr<ssh::Connection> line, Bundle with,
                          QString chosenBase)
    : q(host)
    , connection(std::move(line))
    , bundle(std::move(with))
    , base(std::move(chosenBase)) {
    connect(connection.get(), &ssh::Connection::stateChanged, this, &Private::connectionChanged);
    connect(connection.get(), &ssh::Connection::lost, this,
            [this](const Error& error) { lost(error); });
}

SshHost::Private::~Private() {
    waiters.clear();
    requests.clear();
    connection->disconnect(this);
    session.reset();
}

std::shared_ptr<void> SshHost::Private::take(RequestId id) {
    const auto found = requests.find(id);
    if (found == requests.end())
        return {};
    Request request = std::move(found->second);
    requests.erase(found);
    request.timer->stop();
    request.timer.release()->deleteLater(); // it may be what calls us
    if (session && request.frame != 0)
        session->cancel(request.frame);
    return request.done;
}

void SshHost::Private::noteProgress(RequestId id) {
    if (const auto at = requests.find(id); at != requests.end() && at->second.timer->isActive())
        at->second.timer->start(at->second.deadline);
}

void SshHost::Private::ask(RequestId id, helper::Kind kind, const json::Value& payload,
                           detail::HelperSession::Handler handler) {
    const auto at = requests.find(id);
    if (at == requests.end())
        return;
    at->second.frame = session->begin(
        kind, QByteArray::fromStdString(json::dump(payload)),
        [this, id, handler = std::move(handler)](const Result<helper::Frame>& answer) {
            if (isOpen(id))
                handler(answer);
        });
}

template <class T>
Host::RequestId SshHost::Private::simple(const std::string& what, Milliseconds deadline,
                                         Done<T> done, helper::Kind kind, json::Value payload,
                                         std::function<Result<T>(const helper::Frame&)> read) {
    const RequestId id = add<T>(what, deadline, std::move(done));
    whenReady<T>(id, [this, id, kind, payload = std::move(payload), read = std::move(read)] {
        ask(id, kind, payload, [this, id, read](const Result<helper::Frame>& answer) {
            if (!answer)
                return finish<T>(id, answer.error());
            if (answer->kind == helper::Kind::Failed)
                return finish<T>(id, helper::decodeError(answer->payload));
            if (answer->kind == helper::Kind::Done)
                finish<T>(id, read(*answer));
        });
    });
    return id;
}

SshHost::SshHost(std::unique_ptr<ssh::Connection> connection, Bundle bundle, QString base,
                 QObject* parent)
    : Host(parent)
    , m_d(std::make_unique<Private>(this, std::move(connection), std::move(bundle),
                                    std::move(base))) {}

SshHost::~SshHost() = default;

QString SshHost::name() const {
    return m_d->connection->name();
}

Host::RequestId SshHost::deploy(Done<QString> done, Milliseconds deadline) {
    const RequestId id = m_d->add<QString>("deploy", deadline, std::move(done));
    m_d->whenReady<QString>(id, [this, id] { m_d->deploy(id); });
    return id;
}

Host::RequestId SshHost::prepare(const QString& base, Done<HostFacts> done, Milliseconds deadline) {
    return m_d->simple<HostFacts>("prepare", deadline, std::move(done), helper::Kind::Place,
                                  json::Value::object({{"base", text(base)}}),
                                  [this](const helper::Frame& frame) -> Result<HostFacts> {
                                      auto facts = detail::readPlace(
                                          QByteArray::fromStdString(frame.payload), text(name()));
                                      if (!facts)
                                          return facts.error();
                                      return m_d->factsOf(std::move(*facts));
                                  });
}

json::Value detail::runPayload(const Command& command) {
    json::Value args = json::Value::array();
    for (const QString& arg : command.args)
        args.append(text(arg));
    json::Value env = json::Value::object();
    for (auto at = command.env.begin(); at != command.env.end(); ++at)
        env.set(text(at.key()), text(at.value()));
    return json::Value::object({{"program", text(command.program)},
                                {"args", std::move(args)},
                                {"env", std::move(env)},
                                {"cwd", text(command.cwd)}});
}

Exit detail::exitOf(const helper::Frame& frame) {
    Exit exit;
    const auto value = json::parse(frame.payload, "exit");
    if (!value)
        return {1, 0};
    if (const json::Value* code = value->find("exit_code"); code && code->isInteger())
        exit.exitCode = static_cast<int>(code->toInteger());
    if (const json::Value* signal = value->find("signal"); signal && signal->isInteger())
        exit.signal = static_cast<int>(signal->toInteger());
    return exit;
}

Host::RequestId SshHost::run(const Command& command, const QByteArray& input, Done<Output> done,
                             Milliseconds deadline) {
    const RequestId id = m_d->add<Output>(text(command.program), deadline, std::move(done));
    m_d->whenReady<Output>(id, [d = m_d.get(), id, command, input] {
        d->runProgram(id, command, input,
                      [d, id](Result<Output> output) { d->finish<Output>(id, std::move(output)); });
    });
    return id;
}

void SshHost::Private::runProgram(RequestId id, const Command& command, const QByteArray& input,
                                  Done<Output> done) {
    const auto output = std::make_shared<Output>();
    ask(id, helper::Kind::Run, detail::runPayload(command),
        [this, output, done = std::move(done)](const Result<helper::Frame>& answer) {
            if (!answer)
                return done(answer.error());
            const QByteArray bytes = QByteArray::fromStdString(answer->payload);
            switch (answer->kind) {
            case helper::Kind::Failed:
                return done(helper::decodeError(answer->payload));
            case helper::Kind::Exited:
                output->exit = detail::exitOf(*answer);
                return done(*output);
            case helper::Kind::Output:
                output->out += bytes;
                break;
            case helper::Kind::ErrorOutput:
                output->err += bytes;
                break;
            default:
                return;
            }
            if (output->out.size() + output->err.size() > kOutputLimit)
                done(Error{Code::Corrupt, "The output is longer than 64 MiB.", text(q->name())});
        });
    const auto at = requests.find(id);
    if (at == requests.end())
        return;
    for (qsizetype sent = 0; sent < input.size(); sent += kPiece)
        session->send(at->second.frame, helper::Kind::Input, input.mid(sent, kPiece));
    session->send(at->second.frame, helper::Kind::InputEnd);
}

std::unique_ptr<Stream> SshHost::start(const Command& command, const QByteArray& input,
                                       Milliseconds silence) {
    return std::make_unique<detail::SshStream>(*m_d, command, input, silence);
}

Host::RequestId SshHost::makeFolder(const QString& path, unsigned mode, Done<void> done,
                                    Milliseconds deadline) {
    return m_d->simple<void>(
        text(path), deadline, std::move(done), helper::Kind::MakeFolder,
        json::Value::object({{"path", text(path)}, {"mode", static_cast<std::int64_t>(mode)}}),
        [](const helper::Frame&) { return Status(); });
}

Host::RequestId SshHost::info(const QString& path, Done<FileFacts> done, Milliseconds deadline) {
    return m_d->simple<FileFacts>(
        text(path), deadline, std::move(done), helper::Kind::Info,
        json::Value::object({{"path", text(path)}}),
        [](const helper::Frame& frame) -> Result<FileFacts> {
            const auto value = json::parse(frame.payload, "info");
            if (!value)
                return value.error();
            FileFacts facts;
            const json::Value* kind = value->find("kind");
            const std::string name = kind && kind->isString() ? kind->toString() : "none";
            facts.kind = name == "file"     ? FileFacts::Kind::File
                         : name == "folder" ? FileFacts::Kind::Folder
                         : name == "other"  ? FileFacts::Kind::Other
                                            : FileFacts::Kind::None;
            if (const json::Value* size = value->find("size"); size && size->isInteger())
                facts.size = size->toInteger();
            if (const json::Value* mode = value->find("mode"); mode && mode->isInteger())
                facts.mode = static_cast<unsigned>(mode->toInteger());
            return facts;
        });
}

void SshHost::Private::upload(RequestId id, Upload upload,
                              std::function<void(const Error&)> failed) {
    const auto at = requests.find(id);
    if (at == requests.end())
        return;
    at->second.work = std::make_shared<QObject>();
    const auto frame = at->second.frame;
    const auto what = std::make_shared<Upload>(std::move(upload));
    const auto step = [this, id, what, frame, failed = std::move(failed)] {
        if (!session)
            return;
        while (what->from->isOpen() && session->bytesToWrite() < kQueue) {
            const QByteArray piece = what->from->read(kPiece);
            if (piece.isEmpty()) {
                what->from->close();
                if (what->offset != what->total)
                    return failed({Code::Corrupt,
                                   "The file changed, or could not be read, while it was sent.",
                                   what->name});
                session->send(frame, helper::Kind::InputEnd);
                break;
            }
            session->send(frame, helper::Kind::Input, piece);
            what->offset += piece.size();
        }
        const std::int64_t gone = what->offset - session->bytesToWrite();
        if (gone <= what->gone)
            return;
        what->gone = gone;
        noteProgress(id);
        if (what->progress)
            what->progress(gone, what->total);
    };
    connect(session.get(), &detail::HelperSession::written, at->second.work.get(), step);
    step();
}

void SshHost::Private::putFrom(RequestId id, const QString& path, unsigned mode, Upload from) {
    ask(id, helper::Kind::Put,
        json::Value::object({{"path", text(path)}, {"mode", static_cast<std::int64_t>(mode)}}),
        [this, id](const Result<helper::Frame>& answer) {
            if (!answer)
                return finish<void>(id, answer.error());
            answer->kind == helper::Kind::Done
                ? finish<void>(id, Status())
                : finish<void>(id, helper::decodeError(answer->payload));
        });
    upload(id, std::move(from), [this, id](const Error& error) { finish<void>(id, error); });
}

Host::RequestId SshHost::put(const QString& path, const QByteArray& bytes, unsigned mode,
                             Done<void> done, Milliseconds deadline) {
    const RequestId id = m_d->add<void>(text(path), deadline, std::move(done));
    m_d->whenReady<void>(id, [this, id, path, mode, bytes] {
        const auto buffer = std::make_shared<QBuffer>();
        buffer->setData(bytes);
        buffer->open(QIODevice::ReadOnly);
        m_d->putFrom(id, path, mode, {buffer, text(path), 0, bytes.size(), {}});
    });
    return id;
}

Host::RequestId SshHost::putFile(const QString& localPath, const QString& path, unsigned mode,
                                 Progress progress, Done<void> done, Milliseconds deadline) {
    const RequestId id = m_d->add<void>(text(path), deadline, std::move(done));
    m_d->whenReady<void>(id, [this, id, localPath, path, mode, progress = std::move(progress)] {
        const auto file = std::make_shared<QFile>(localPath);
        if (!file->open(QIODevice::ReadOnly))
            return m_d->finish<void>(
                id,
                Error{Code::NotFound, "The file cannot be read: " + text(file->errorString()) + ".",
                      text(localPath)});
        m_d->putFrom(id, path, mode, {file, text(localPath), 0, file->size(), progress});
    });
    return id;
}

Host::RequestId SshHost::fetch(const QString& path, Done<QByteArray> done, Milliseconds deadline) {
    const RequestId id = m_d->add<QByteArray>(text(path), deadline, std::move(done));
    m_d->whenReady<QByteArray>(id, [this, id, path] {
        const auto bytes = std::make_shared<QByteArray>();
        m_d->ask(id, helper::Kind::Fetch, json::Value::object({{"path", text(path)}}),
                 [this, id, bytes, path](const Result<helper::Frame>& answer) {
                     if (!answer)
                         return m_d->finish<QByteArray>(id, answer.error());
                     if (answer->kind == helper::Kind::Failed)
                         return m_d->finish<QByteArray>(id, helper::decodeError(answer->payload));
                     if (answer->kind == helper::Kind::Done)
                         return m_d->finish<QByteArray>(id, *bytes);
                     if (answer->kind != helper::Kind::Output)
                         return;
                     *bytes += QByteArray::fromStdString(answer->payload);
                     m_d->noteProgress(id);
                     if (bytes->size() > kOutputLimit)
                         m_d->finish<QByteArray>(id, Error{Code::InvalidArgument,
                                                           "This file is longer than 64 MiB.",
                                                           text(path)});
                 });
    });
    return id;
}

Host::RequestId SshHost::fetchFile(const QString& path, const QString& localPath, Progress progress,
                                   Done<void> done, Milliseconds deadline) {
    const RequestId id = m_d->add<void>(text(path), deadline, std::move(done));
    m_d->whenReady<void>(id, [this, id, path, localPath, progress = std::move(progress)] {
        auto created = files::AtomicFile::create(text(localPath));
        if (!created)
            return m_d->finish<void>(id, created.error());
        const auto file = std::make_shared<files::AtomicFile>(std::move(*created));
        const auto got = std::make_shared<std::int64_t>(0);
        const auto total = std::make_shared<std::int64_t>(0);
        m_d->ask(id, helper::Kind::Fetch, json::Value::object({{"path", text(path)}}),
                 [this, id, file, got, total, progress](const Result<helper::Frame>& answer) {
                     if (!answer)
                         return m_d->finish<void>(id, answer.error());
                     switch (answer->kind) {
                     case helper::Kind::Size:
                         if (const auto value = json::parse(answer->payload, "size"))
                             if (const json::Value* size = value->find("size");
                                 size && size->isInteger())
                                 *total = size->toInteger();
                         return;
                     case helper::Kind::Output:
                         if (const Status put = file->write(answer->payload); !put)
                             return m_d->finish<void>(id, put.error());
                         *got += static_cast<std::int64_t>(answer->payload.size());
                         m_d->noteProgress(id);
                         if (progress)
                             progress(*got, *total);
                         return;
                     case helper::Kind::Done:
                         return m_d->commit(id, file);
                     default:
                         m_d->finish<void>(id, helper::decodeError(answer->payload));
                     }
                 });
    });
    return id;
}

/// Waits for the disk elsewhere.
void SshHost::Private::commit(RequestId id, std::shared_ptr<files::AtomicFile> file) {
    if (!fileThread)
        fileThread = std::make_unique<detail::FileThread>();
    fileThread->submit([this, id, file = std::move(file)]() mutable {
        auto status = std::make_shared<Status>(file->commit());
        file.reset();
        return [this, id, status] { finish<void>(id, *status); };
    });
}

void SshHost::cancel(RequestId id) {
    m_d->take(id);
}

} // namespace lockstep::remote
