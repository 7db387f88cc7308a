// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// A machine of its own for one test: a home folder, free ports, the programs as a user starts them,
// and a look at what they leave behind. Every process that a test starts through it carries the
// folder's path in its environment, so that none is missed and no other is touched.

#include <QByteArray>
#include <QJsonObject>
#include <QProcess>
#include <QProcessEnvironment>
#include <QString>
#include <QStringList>
#include <QTemporaryDir>

#include <sys/types.h>

#include <functional>
#include <memory>
#include <vector>

namespace lockstep::integration {

/// How a program ended and what it said.
struct Outcome {
    int exitCode = -1; ///< -1 where it was killed or did not end in time
    QString out;
    QString err;

    QString all() const { return out + err; }
    /// The last line of the output as an object: what --json ends with.
    QJsonObject json() const;
    /// The losses of json()'s epochs.
    std::vector<double> losses() const;
};

/// A process of the machine.
struct Running {
    pid_t pid = 0;
    QStringList arguments; ///< the program first
    QString task;          ///< "worker:1" where it has a TF_CONFIG

    bool isWorker() const { return arguments.value(1) == QStringLiteral("train"); }
};

/// Polls until `condition`; false at the deadline.
bool becomesTrue(const std::function<bool()>& condition, int milliseconds);

class Machine {
public:
    Machine();
    ~Machine(); ///< kills what is left
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    QString path(const QString& name) const { return m_home.filePath(name); }
    QString write(const QString& name, const QByteArray& bytes) const; ///< its path
    void setEnvironment(const QString& name, const QString& value);

    /// A cluster file with `count` workers at free ports of this machine.
    QString cluster(int count) const;
    /// A TF_CONFIG for one task of such a cluster.
    static QByteArray tfConfig(const std::vector<int>& ports, int index);

    /// lockstepctl with these arguments, until it ends.
    Outcome ctl(const QStringList& arguments, int milliseconds = 60000) const;
    /// The same, not waited for; its output goes to `start`'s QProcess.
    std::unique_ptr<QProcess> startCtl(const QStringList& arguments) const;
    /// The desktop application without a screen.
    std::unique_ptr<QProcess> startDesktop(const QStringList& arguments) const;
    std::unique_ptr<QProcess> startWorker(const QStringList& arguments,
                                          const QByteArray& tfConfig) const;
    static Outcome finish(QProcess& process, int milliseconds = 60000);

    /// Processes of this machine that are alive, zombies left out.
    std::vector<Running> processes() const;
    QString processesText() const;
    /// None is left, within the time that a clean end needs.
    bool isQuiet(int milliseconds = 5000) const;
    /// The worker that has this task, or pid 0.
    Running worker(const QString& task) const;
    /// Temporary files of an atomic write that was not finished.
    QStringList halfWrittenFiles() const;

    /// Folders of the run as they are on the host, and on the control side.
    QString hostRunFolder(const QString& run) const;
    QString controlRunFolder(const QString& run) const;

private:
    std::unique_ptr<QProcess> start(const QString& program, const QStringList& arguments) const;

    QTemporaryDir m_home;
    QProcessEnvironment m_environment;
};

/// `count` ports in a row that nobody listens at.
std::vector<int> freePorts(int count);

/// resources/examples/<name>/<name>.job.json
QString exampleJob(const QString& name);

/// LOCKSTEP_SEED or a fresh one; printed, so that a failure can be repeated.
unsigned printedSeed();

} // namespace lockstep::integration
