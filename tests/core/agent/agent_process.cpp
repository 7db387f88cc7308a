// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "agent_process.h"

#include "core/base/files.h"
#include "core/base/hash.h"

#include <QElapsedTimer>
#include <QtTest>

namespace lockstep::agent::test {

namespace {

const QString kWorker = QStringLiteral(LOCKSTEP_BIN_DIR "/lockstep-worker");

} // namespace

Answer call(const QString& command, const std::string& request) {
    QProcess process;
    process.start(kWorker, {command});
    process.write(QByteArray::fromStdString(request));
    process.closeWriteChannel();
    if (!process.waitForFinished(40'000)) {
        process.kill();
        process.waitForFinished();
        return {};
    }
    std::string line = process.readAllStandardOutput().toStdString();
    if (!line.empty() && line.back() == '\n')
        line.pop_back();
    return {process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1, line};
}

TestRun::TestRun()
    : m_id("test-" + randomHex(8)) {}

TestRun::~TestRun() {
    (void)stop(0);
}

std::string TestRun::folder() const {
    return m_folder.path().toStdString();
}

SuperviseRequest TestRun::request(const std::string& shellScript) const {
    SuperviseRequest request;
    request.runDir = folder();
    request.run = m_id;
    request.task = "worker:0";
    request.program = "/bin/sh";
    request.args = {"-c", shellScript};
    return request;
}

Result<SuperviseReply> TestRun::supervise(const std::string& shellScript) const {
    return supervise(request(shellScript));
}

Result<SuperviseReply> TestRun::supervise(const SuperviseRequest& request) const {
    return decodeSuperviseReply(call(QStringLiteral("supervise"), encode(request)).line);
}

Result<ProcessState> TestRun::state() const {
    const auto text = files::read(path(kStateFile));
    if (!text)
        return text.error();
    return decodeFile(*text, path(kStateFile));
}

ProcessState TestRun::stateWhenOver() const {
    holdsWithin(20'000, [this] {
        const auto now = state();
        return now && now->phase != Phase::Running;
    });
    const auto last = state();
    return last ? *last : ProcessState{};
}

Result<StopReply> TestRun::stop(double graceSeconds) const {
    const StopRequest request{m_id, {folder()}, graceSeconds};
    return decodeStopReply(call(QStringLiteral("stop"), encode(request)).line);
}

std::string TestRun::read(const std::string& file) const {
    auto bytes = files::read(path(file));
    return bytes ? *bytes : std::string();
}

Follower::Follower(const TestRun& run, std::map<std::string, std::string> have,
                   std::int64_t chunkBytes)
    : files(std::move(have)) {
    FollowRequest request;
    request.runDir = run.folder();
    for (const auto& [file, bytes] : files)
        request.offsets.emplace_back(file, static_cast<std::int64_t>(bytes.size()));
    request.chunkBytes = chunkBytes;
    process.start(kWorker, {QStringLiteral("follow")});
    process.write(QByteArray::fromStdString(encode(request)));
}

Follower::~Follower() {
    process.kill();
    process.waitForFinished();
}

std::optional<FollowItem> Follower::next(int timeoutMs) {
    QElapsedTimer timer;
    timer.start();
    while (!process.canReadLine()) {
        const auto left = timeoutMs - timer.elapsed();
        if (left <= 0 || !process.waitForReadyRead(static_cast<int>(left)))
            return {};
    }
    const auto item = decodeFollowItem(process.readLine().chopped(1).toStdString());
    if (!item) {
        error = item.error();
        return {};
    }
    if (const auto* bytes = std::get_if<FileBytes>(&*item)) {
        std::string& mine = files[bytes->file];
        if (bytes->offset != static_cast<std::int64_t>(mine.size()))
            error = Error{Code::Corrupt, "A gap or a repetition.", bytes->file};
        mine += bytes->bytes;
    } else if (const auto* now = std::get_if<ProcessState>(&*item)) {
        state = *now;
    } else if (std::holds_alternative<Heartbeat>(*item)) {
        ++heartbeats;
    } else {
        hasEnded = true;
    }
    return *item;
}

bool Follower::readUntil(const std::function<bool()>& isEnough, int timeoutMs) {
    QElapsedTimer timer;
    timer.start();
    while (!isEnough()) {
        const auto left = timeoutMs - timer.elapsed();
        if (left <= 0 || error || hasEnded || !next(static_cast<int>(left)))
            return isEnough();
    }
    return true;
}

bool Follower::readToEnd(int timeoutMs) {
    return readUntil([this] { return hasEnded; }, timeoutMs) && !error;
}

bool holdsWithin(int timeoutMs, const std::function<bool()>& condition) {
    return QTest::qWaitFor(condition, timeoutMs);
}

} // namespace lockstep::agent::test
