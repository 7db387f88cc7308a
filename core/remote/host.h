// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// A machine on which the control side keeps files and starts programs, however it is reached.
// Threads: lives in the caller's thread, which needs an event loop; nothing here blocks it.
// Requests: each returns at once with an id and calls `done` exactly once, later, from the event
// loop, with the value or the Error (TimedOut at its deadline); never after cancel() or after the
// Host is gone. A request that is cancelled or timed out leaves no process and no partial file.
// Paths are the host's own, absolute, UTF-8.

#include "core/base/result.h"

#include <QByteArray>
#include <QMap>
#include <QObject>
#include <QString>
#include <QStringList>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

namespace lockstep::remote {

using namespace std::chrono_literals;
using Milliseconds = std::chrono::milliseconds;

/// A program to start; no shell reads any of it.
struct Command {
    QString program; ///< absolute, or a name looked up in PATH
    QStringList args;
    QMap<QString, QString> env; ///< added to the host's own environment
    QString cwd;                ///< empty: the default of the connection
};

/// How a process ended.
struct Exit {
    int exitCode = 0; ///< valid where signal is 0
    int signal = 0;   ///< that killed it, or 0
    bool isSuccess() const { return signal == 0 && exitCode == 0; }
    bool operator==(const Exit&) const = default;
};

struct Output {
    Exit exit;
    QByteArray out;
    QByteArray err;
};

/// What prepare() learns about the host.
struct HostFacts {
    QString base;           ///< where Lockstep keeps its files there
    QString machineFolder;  ///< "<hostname>-<machine id>", below base
    QString workerProgram;  ///< lockstep-worker, or what starts it
    QStringList workerArgs; ///< that come before the worker's own (a loader's), often none
    QStringList notes;      ///< what a person should know, e.g. folders passed over and why

    QString machinePath() const { return base + u'/' + machineFolder; }
    /// The worker program with `args`.
    Command worker(const QStringList& args) const {
        return {workerProgram, workerArgs + args, {}, {}};
    }
};

struct FileFacts {
    enum class Kind { None, File, Folder, Other };
    Kind kind = Kind::None; ///< None: there is nothing of that name
    std::int64_t size = 0;
    unsigned mode = 0; ///< permission bits
};

/// A running program whose output is read line by line. Destroying it ends the program.
class Stream : public QObject {
    Q_OBJECT
public:
    using QObject::QObject;

    /// Ends the program (its standard input is closed, then it is killed); closed() still follows.
    virtual void close() = 0;
    virtual bool isClosed() const = 0;

Q_SIGNALS:
    /// One line of standard output without its LF.
    void lineReceived(const QByteArray& line);
    /// Once, after the last line. An Error where it could not be started, was silent for longer
    /// than allowed (TimedOut), was closed by us (Cancelled), or the connection broke.
    /// `errorOutput` is the end of its standard error.
    void closed(const lockstep::Result<lockstep::remote::Exit>& end, const QByteArray& errorOutput);
};

/// What a host is busy with on the way to being ready, for the join board.
enum class HostStage {
    Idle,
    Connecting,
    Asking, ///< a person is asked (key, passphrase, password): deadlines rest
    Deploying,
    Ready,
    Reconnecting, ///< the connection broke; requests wait for it
};

class Host : public QObject {
    Q_OBJECT
public:
    using RequestId = std::uint64_t;
    template <class T>
    using Done = std::function<void(Result<T>)>;
    using Progress = std::function<void(std::int64_t done, std::int64_t total)>;

    using QObject::QObject;

    /// For people: "this machine", or the SSH name.
    virtual QString name() const = 0;

    /// Makes sure that the worker program is there and runs: sends it where it is missing, and
    /// asks it for its version, which is the value.
    virtual RequestId deploy(Done<QString> done, Milliseconds deadline = 120s) = 0;
    /// After deploy(): finds and makes the folder for Lockstep's files. `base` is the cluster's
    /// own choice, or empty.
    virtual RequestId prepare(const QString& base, Done<HostFacts> done,
                              Milliseconds deadline = 30s) = 0;

    /// Runs to its end with `input` on standard input. Output beyond 64 MiB is an error.
    virtual RequestId run(const Command& command, const QByteArray& input, Done<Output> done,
                          Milliseconds deadline = 30s) = 0;
    /// Starts `command`, writes `input`, and keeps standard input open while the Stream lives.
    /// Without a line for `silence` it is closed as TimedOut.
    virtual std::unique_ptr<Stream> start(const Command& command, const QByteArray& input,
                                          Milliseconds silence = 15s) = 0;

    /// Makes the folder and its parents; no error where it exists.
    virtual RequestId makeFolder(const QString& path, unsigned mode, Done<void> done,
                                 Milliseconds deadline = 30s) = 0;
    /// What stands at `path`; links are followed.
    virtual RequestId info(const QString& path, Done<FileFacts> done,
                           Milliseconds deadline = 30s) = 0;
    /// Writes a small file under its final name only when complete.
    virtual RequestId put(const QString& path, const QByteArray& bytes, unsigned mode,
                          Done<void> done, Milliseconds deadline = 60s) = 0;
    /// The same with a file of this machine as source, of any size. The deadline is for the lack
    /// of progress.
    virtual RequestId putFile(const QString& localPath, const QString& path, unsigned mode,
                              Progress progress, Done<void> done, Milliseconds deadline = 60s) = 0;
    /// A small file's bytes (at most 64 MiB).
    virtual RequestId fetch(const QString& path, Done<QByteArray> done,
                            Milliseconds deadline = 60s) = 0;
    /// Copies a file of any size to this machine; the local name appears when it is complete. The
    /// deadline is for the lack of progress.
    virtual RequestId fetchFile(const QString& path, const QString& localPath, Progress progress,
                                Done<void> done, Milliseconds deadline = 60s) = 0;

    /// Ends a request; its `done` is not called any more. No effect on one that is over.
    virtual void cancel(RequestId id) = 0;

Q_SIGNALS:
    /// `done` of `total` bytes while Deploying, else 0.
    void stageChanged(lockstep::remote::HostStage stage, std::int64_t done, std::int64_t total);
};

} // namespace lockstep::remote
