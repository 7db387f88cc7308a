// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Runs that never ran, for tests of the window: a session that shows a store, a library that keeps
// a list, and events of a training as the digits example writes them.

#include "ui/models/run_session.h"

namespace lockstep::ui {

class MadeUpSession final : public RunSession {
    Q_OBJECT
public:
    using RunSession::RunSession;
    void launch(run::LaunchRequest) override { setState(run::State::Validating); }
    void attach(const QString&) override { setState(run::State::Finished); }
    void confirm(bool proceeds) override {
        setState(proceeds ? run::State::Deploying : run::State::Refused);
    }
    void stop() override { setState(run::State::Stopping); }
    void detach() override { setState(run::State::Detached); }
    run::State state() const override { return m_state; }
    const Problems& problems() const override { return m_problems; }
    const run::RunRecord& record() const override { return m_record; }
    const metrics::Store& store() const override { return m_store; }
    std::vector<run::HostProgress> hostProgress() const override { return m_hosts; }

    void setState(run::State state);
    run::RunRecord m_record;
    metrics::Store m_store;
    Problems m_problems;
    std::vector<run::HostProgress> m_hosts;

private:
    run::State m_state = run::State::Idle;
};

/// Makes such sessions; `last` is the newest, and outlives the factory.
inline SessionFactory keeping(MadeUpSession*& last) {
    return [&last] {
        auto made = std::make_unique<MadeUpSession>();
        last = made.get();
        return made;
    };
}

class MadeUpLibrary final : public RunLibrary {
    Q_OBJECT
public:
    using RunLibrary::RunLibrary;
    void refresh() override {}
    void exportModel(const QString&, const QString&, Done done) override { done({}); }
    void exportMetrics(const QString&, const QString&, Done done) override { done({}); }
    void remove(const QString&, Done done) override { done({}); }
    void set(QList<RunEntry> entries) { setEntries(std::move(entries)); }
};

/// Writes the events of a training of `workers` workers into `store`, step by step.
class MadeUpTraining {
public:
    explicit MadeUpTraining(int workers, int epochs = 20, int stepsPerEpoch = 45);
    /// Started, joined, planned.
    void begin(metrics::Store& store);
    /// The next step of every worker, with the epoch's end where it is due. False once all is done.
    bool step(metrics::Store& store);
    void steps(metrics::Store& store, int count);
    void finish(metrics::Store& store);
    /// The last worker is slow in its input from now on.
    void slowDown() { m_isSlow = true; }
    int workers() const { return m_workers; }
    static std::string task(int rank) { return "worker:" + std::to_string(rank); }

private:
    double noise();
    void emitStep(metrics::Store& store, int rank, double loss);
    void endEpoch(metrics::Store& store, double loss);
    int m_workers;
    int m_epochs;
    int m_stepsPerEpoch;
    std::int64_t m_step = 0;
    double m_time;
    std::uint64_t m_random = 12345;
    bool m_isSlow = false;
};

/// The places of such a run.
run::RunRecord madeUpRecord(int workers);
/// Runs of a week, newest first, of each status.
QList<RunEntry> madeUpHistory();

} // namespace lockstep::ui
