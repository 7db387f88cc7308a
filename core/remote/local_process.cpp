// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/remote/detail/local_process.h"

#include <QCoreApplication>
#include <QFileInfo>
#include <QPointer>

#include <unistd.h>

#ifdef LOCKSTEP_TSAN
#include <sched.h>

#include <cstdarg>

// QProcess starts a child that shares our memory until exec, as vfork does. TSan's interceptor
// takes that for a fork and blinds itself for the rest of the parent's life; glibc's own name goes
// around.
extern "C" int __clone(int (*)(void*), void*, int, void*, ...);

extern "C" int clone(int (*function)(void*), void* stack, int flags, void* argument, ...) noexcept {
    va_list rest;
    va_start(rest, argument);
    void* parentId = va_arg(rest, void*);
    void* tls = va_arg(rest, void*);
    void* childId = va_arg(rest, void*);
    va_end(rest);
    return __clone(function, stack, flags, argument, parentId, tls, childId);
}
#endif

namespace lockstep::remote::detail {

namespace {

constexpr qint64 kLongestLine = 16 << 20;
constexpr qsizetype kErrorOutputKept = 16 << 10;

} // namespace

void startLater(QProcess& process, const Command& command, const QByteArray& input,
                Input afterwards) {
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    for (auto entry = command.env.begin(); entry != command.env.end(); ++entry)
        environment.insert(entry.key(), entry.value());
    process.setProcessEnvironment(environment);
    process.setProgram(command.program);
    process.setArguments(command.args);
    if (!command.cwd.isEmpty())
        process.setWorkingDirectory(command.cwd);
    process.setChildProcessModifier([] { ::setsid(); });
    QObject::connect(&process, &QProcess::started, &process, [&process, input, afterwards] {
        process.write(input);
        if (afterwards == Input::Closed)
            process.closeWriteChannel();
    });
    QMetaObject::invokeMethod(
        &process,
        [&process] {
            if (!process.program().isEmpty()) // abandon() takes it away
                process.start();
        },
        Qt::QueuedConnection);
}

Error startError(const QProcess& process) {
    const QString program = process.program();
    const QFileInfo file(program);
    const std::string where = program.toStdString();
    if (!process.workingDirectory().isEmpty() && !QFileInfo(process.workingDirectory()).isDir())
        return {Code::NotFound, "This folder does not exist, so nothing can be started in it.",
                process.workingDirectory().toStdString()};
    if (program.contains(u'/') && !file.exists())
        return {Code::NotFound, "This program does not exist.", where};
    if (program.contains(u'/') && !file.isExecutable())
        return {Code::PermissionDenied, "This cannot be executed: permission denied.", where};
    return {program.contains(u'/') ? Code::Internal : Code::NotFound,
            "This program cannot be started: " + process.errorString().toStdString() + ".", where};
}

Exit exitOf(const QProcess& process) {
    // After a signal Qt's exit code is the signal's number.
    if (process.exitStatus() == QProcess::CrashExit)
        return {0, process.exitCode()};
    return {process.exitCode(), 0};
}

void endNow(QProcess& process) {
    process.disconnect();
    if (process.state() == QProcess::NotRunning)
        return;
    process.kill();
    process.waitForFinished(500);
}

void abandon(std::unique_ptr<QProcess> process) {
    process->disconnect();
    if (process->state() == QProcess::NotRunning) {
        process->setProgram({});
        process.release()->deleteLater();
        return;
    }
    QObject::connect(process.get(), &QProcess::finished, process.get(), &QObject::deleteLater);
    process->kill();
    process.release()->setParent(QCoreApplication::instance());
}

LocalStream::LocalStream(const Command& command, const QByteArray& input, Milliseconds silence)
    : m_process(std::make_unique<QProcess>())
    , m_limit(silence) {
    m_silence.setSingleShot(true);
    m_killer.setSingleShot(true);
    connect(&m_silence, &QTimer::timeout, this, &LocalStream::onSilence);
    connect(&m_killer, &QTimer::timeout, m_process.get(), &QProcess::kill);
    connect(m_process.get(), &QProcess::readyReadStandardOutput, this, &LocalStream::readLines);
    connect(m_process.get(), &QProcess::readyReadStandardError, this, &LocalStream::readErrors);
    connect(m_process.get(), &QProcess::finished, this, &LocalStream::onFinished);
    connect(m_process.get(), &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error == QProcess::FailedToStart)
            finish(startError(*m_process));
    });
    startLater(*m_process, command, input, Input::Open);
    m_silence.start(m_limit);
}

LocalStream::~LocalStream() {
    if (m_isInSignal)
        abandon(std::move(m_process));
    else
        endNow(*m_process);
}

void LocalStream::close() {
    endWith({Code::Cancelled, "The stream was closed.", m_process->program().toStdString()});
}

void LocalStream::endWith(const Error& reason) {
    if (m_isClosed || m_reason)
        return;
    m_reason = reason;
    m_silence.stop();
    if (m_process->state() == QProcess::Running) {
        m_process->closeWriteChannel();
        m_killer.start(1s);
        return;
    }
    // Not started yet: the queued start must not happen.
    QMetaObject::invokeMethod(
        this,
        [this] {
            if (m_process->state() == QProcess::NotRunning)
                finish(*m_reason);
            else
                m_process->kill();
        },
        Qt::QueuedConnection);
}

void LocalStream::readLines() {
    const QPointer<LocalStream> self(this);
    m_isWarned = false;
    if (!m_reason)
        m_silence.start(m_limit);
    m_process->setReadChannel(QProcess::StandardOutput);
    while (self && m_process->canReadLine()) {
        QByteArray line = m_process->readLine();
        line.chop(1);
        if (m_reason)
            continue;
        m_isInSignal = true;
        Q_EMIT lineReceived(line);
        if (self)
            m_isInSignal = false;
    }
    if (self && m_process->bytesAvailable() > kLongestLine)
        endWith({Code::Corrupt, "A line of output is longer than 16 MiB.",
                 m_process->program().toStdString()});
}

void LocalStream::onFinished() {
    const QPointer<LocalStream> self(this);
    readLines();
    if (!self)
        return;
    readErrors();
    if (m_reason)
        finish(*m_reason);
    else
        finish(exitOf(*m_process));
}

void LocalStream::readErrors() {
    m_errorOutput += m_process->readAllStandardError();
    if (m_errorOutput.size() > kErrorOutputKept)
        m_errorOutput = m_errorOutput.right(kErrorOutputKept);
}

void LocalStream::onSilence() {
    // After a sleep of this machine the timer may fire before data that is there was read.
    if (!m_isWarned) {
        m_isWarned = true;
        m_silence.start(500ms);
        return;
    }
    endWith({Code::TimedOut, "Nothing was heard for " + std::to_string(m_limit.count()) + " ms.",
             m_process->program().toStdString()});
}

void LocalStream::finish(const Result<Exit>& end) {
    if (m_isClosed)
        return;
    m_isClosed = true;
    m_silence.stop();
    m_killer.stop();
    const QPointer<LocalStream> self(this);
    m_isInSignal = true;
    Q_EMIT closed(end, m_errorOutput);
    if (self)
        m_isInSignal = false;
}

} // namespace lockstep::remote::detail
