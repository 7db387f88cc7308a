// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// One run in a terminal: prints what happens until it ends, stops it on the first SIGINT and leaves
// it alone on the second.

#include "app/ctl/hosts.h"
#include "core/run/run_controller.h"

#include <QObject>

#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace lockstep::ctl {

struct SessionOptions {
    bool json = false; ///< the last line of standard output is the result; the rest goes to stderr
    bool detach = false; ///< leave as soon as all workers are started
};

class Session : public QObject {
    Q_OBJECT
public:
    explicit Session(SessionOptions options);

    run::RunController& controller() { return m_controller; }
    /// After launch() or attach(): runs the event loop to the end; the exit code.
    int exec();

private:
    void placed();
    void changed(run::State state);
    void updated();
    void confirm();
    void interrupted();
    int conclude();
    void printOutput(const QString& task, const QString& line, std::FILE* to);
    void printNewProblems();
    void printHosts();
    void printJoin();
    void printWarnings();
    void printLastWords(const std::string& task) const;
    std::string headline() const;

    SessionOptions m_options;
    std::FILE* m_out; ///< for people
    Hosts m_hosts;
    run::RunController m_controller;
    std::vector<std::string> m_missing;                       ///< as printed last
    std::map<std::string, run::HostProgress::Stage> m_stages; ///< of hosts, as printed last
    std::size_t m_problemsPrinted = 0;
    std::uint64_t m_logSeen = 0;
    int m_interrupts = 0;
};

/// What the run folder holds is what the workers have written, as of now: looks once where the run
/// goes on and nobody follows it. NotFound and so on of the record.
Result<run::RunRecord> lookAt(const std::string& runId,
                              const std::function<void(run::RunController&)>& see = {});

/// "0.1234": a number for people.
std::string shortNumber(double value);

} // namespace lockstep::ctl
