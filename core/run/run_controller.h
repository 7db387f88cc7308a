// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// One run from its launch to its end, or from attaching to it: prepares, checks, deploys, launches,
// watches, stops what is left after a failure and brings the model home. The same for local workers
// and for hosts behind SSH. Thread: one, with an event loop; nothing blocks it and everything
// happens later, by signals. A controller serves one run: make a new one for the next.

#include "core/base/clock.h"
#include "core/base/problem.h"
#include "core/cluster/cluster_spec.h"
#include "core/metrics/store.h"
#include "core/run/host_factory.h"
#include "core/run/host_progress.h"
#include "core/run/run_record.h"

#include <QObject>
#include <QString>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace lockstep::run {

struct LaunchRequest {
    json::Value cluster;     ///< the document, with its lines
    std::string clusterFile; ///< for problems and the record; may be empty
    json::Value job;
    std::string jobFile; ///< relative model and data files start at its folder; may be empty
    /// Whether hosts that are not this machine are checked before anything is sent to them: errors
    /// refuse the launch, of warnings confirmationWanted() asks.
    bool checks = true;
    bool acceptsWarnings = false; ///< of the check: nobody is asked
};

struct ControllerOptions {
    std::string root;  ///< empty: defaultRoot()
    HostFactory hosts; ///< empty: defaultHosts()
    std::chrono::milliseconds stopGrace{10'000};
    /// After the first sign of a failure, for others to say what they saw.
    std::chrono::milliseconds verdictSettle{300};
    const Clock* clock = &Clock::system();
};

class RunController : public QObject {
    Q_OBJECT
public:
    explicit RunController(ControllerOptions options, QObject* parent = nullptr);
    /// Detaches where workers still run.
    ~RunController() override;

    /// Once, from Idle.
    void launch(LaunchRequest request);
    /// Once, from Idle: goes on where the record and the local copies stop. Follows read-only where
    /// another program has the folder; loads the copies where the run is over.
    void attach(const std::string& runId);
    /// The answer to confirmationWanted(): goes on, or refuses the launch.
    void confirm(bool proceeds);
    /// Ends every process of the run, TERM first and KILL after the grace time, and verifies it.
    void stop();
    /// Leaves the workers alone and ends in Detached; attach() continues.
    void detach();

    State state() const;
    /// Of the launch: errors (then the state is Refused) and warnings.
    const Problems& problems() const;
    /// Empty id before Deploying.
    const RunRecord& record() const;
    const metrics::Store& store() const;
    /// Of every task in rank order, once the hosts are being prepared; updated() tells of changes.
    std::vector<HostProgress> hostProgress() const;
    /// Another program writes the run folder; stop() works nevertheless.
    bool isReadOnly() const;
    /// All that the workers had written when attach() began has been read; true for a launch.
    bool isCaughtUp() const;
    /// For --json, at any time; the whole of it once the state is final.
    json::Value result() const;
    /// As of lockstepctl: 0 finished, 1 failed or stopped, 2 refused; 0 while it goes on.
    int exitCode() const;

Q_SIGNALS:
    void stateChanged(lockstep::run::State state);
    /// The tasks have places: record().tasks.
    void placed();
    /// The check has warnings, the last of problems(). Everything waits for confirm() or stop().
    void confirmationWanted();
    /// Something came into store(); at most once per turn of the event loop. Screens pull by timer.
    void updated();
    void caughtUp();
    /// A whole line that `task` printed.
    void outputReceived(const QString& task, const QString& line);
    void errorOutputReceived(const QString& task, const QString& line);
    /// Last signal: the state is final.
    void done();

private:
    class Private;
    std::unique_ptr<Private> m_d;
};

} // namespace lockstep::run
