// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "tests/ui/support/made_up_run.h"

#include "core/wire/event.h"

#include <cmath>

namespace lockstep::ui {
namespace {
constexpr double kBegin = 1'796'112'843.0; // 1 December 2026
constexpr int kBatch = 32;
} // namespace

void MadeUpSession::setState(run::State state) {
    m_state = state;
    Q_EMIT stateChanged();
    if (run::isFinal(state))
        Q_EMIT done();
}

MadeUpTraining::MadeUpTraining(int workers, int epochs, int stepsPerEpoch)
    : m_workers(workers)
    , m_epochs(epochs)
    , m_stepsPerEpoch(stepsPerEpoch)
    , m_time(kBegin) {}

double MadeUpTraining::noise() {
    m_random = m_random * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(m_random >> 40) / double(1 << 24) - 0.5;
}

void MadeUpTraining::begin(metrics::Store& store) {
    for (int rank = 0; rank < m_workers; ++rank) {
        wire::Started started;
        started.task = task(rank);
        started.rank = rank;
        started.world = m_workers;
        started.host = "atlas";
        started.address = "127.0.0.1:" + std::to_string(2222 + rank);
        started.version = "0.1.0";
        started.threads = 2;
        store.add(task(rank), 1, {m_time, started});
        store.add(
            task(rank), 1,
            {m_time + 0.1, wire::Logged{wire::Level::Info, "listening on " + started.address}});
        store.add(task(rank), 1,
                  {m_time + 0.2 + 0.05 * rank,
                   wire::Logged{wire::Level::Info, "joined as rank " + std::to_string(rank)}});
        wire::Planned planned;
        planned.parameters = planned.trainable = 17226;
        planned.trainRows = 1437;
        planned.validationRows = 360;
        planned.globalBatch = kBatch;
        planned.stepsPerEpoch = m_stepsPerEpoch;
        planned.epochs = m_epochs;
        planned.bytesPerAllReduce = 68904;
        planned.algorithm = "ring";
        planned.shardPolicy = "DATA";
        store.add(task(rank), 1, {m_time + 0.4, planned});
        store.add(task(rank), 1, {m_time + 0.5, wire::PhaseChanged{wire::Phase::Training, {}, 0}});
    }
    m_time += 0.5;
}

void MadeUpTraining::emitStep(metrics::Store& store, int rank, double loss) {
    const bool slow = m_isSlow && rank == m_workers - 1;
    wire::Steps steps;
    steps.epoch = static_cast<int>((m_step - 1) / m_stepsPerEpoch) + 1;
    steps.first = steps.last = m_step;
    steps.rows = kBatch;
    steps.ownRows = kBatch / m_workers;
    steps.learningRate = 0.001;
    const auto stat = [](double value) { return wire::Stat{value, value, value}; };
    const double reduce = 0.42 + 0.06 * rank + 0.18 * noise() + (m_step % 97 == 0 ? 2.1 : 0);
    const double compute = 0.78 + 0.08 * noise();
    const double input = slow ? 1.1 : 0.06;
    steps.loss = stat(loss);
    steps.inputMs = stat(input);
    steps.computeMs = stat(compute);
    steps.allReduceMs = stat(reduce);
    steps.allReduceWaitMs = stat(reduce * 0.6);
    steps.updateMs = stat(0.05);
    const double total = compute + reduce * 0.6 + 0.11 + (m_isSlow ? 1.05 : 0);
    steps.totalMs = stat(total);
    steps.seconds = total / 1000;
    store.add(task(rank), 1, {m_time, steps});
}

void MadeUpTraining::endEpoch(metrics::Store& store, double loss) {
    const int epoch = static_cast<int>(m_step / m_stepsPerEpoch);
    const double accuracy = 1 - 0.75 * std::exp(-epoch / 2.2) - 0.012;
    for (int rank = 0; rank < m_workers; ++rank) {
        wire::EpochEnded ended;
        ended.epoch = epoch;
        ended.step = m_step;
        ended.seconds = m_stepsPerEpoch * 0.0012;
        ended.values = {{"loss", loss},
                        {"accuracy", accuracy},
                        {"val_loss", loss + 0.05 + 0.004 * epoch * (0.5 + noise())},
                        {"val_accuracy", accuracy - 0.018 + 0.01 * noise()}};
        ended.digest = std::string(64, 'a');
        store.add(task(rank), 1, {m_time, ended});
    }
    store.addLine(task(0), metrics::Origin::Output, wire::Level::Info,
                  "Epoch " + std::to_string(epoch) + "/" + std::to_string(m_epochs) + " - " +
                      std::to_string(m_stepsPerEpoch) + "/" + std::to_string(m_stepsPerEpoch) +
                      " - 0s - loss: " + std::to_string(loss) +
                      " - accuracy: " + std::to_string(accuracy),
                  m_time);
}

bool MadeUpTraining::step(metrics::Store& store) {
    if (m_step >= std::int64_t{m_epochs} * m_stepsPerEpoch)
        return false;
    ++m_step;
    m_time += 0.0013;
    const double t = static_cast<double>(m_step) / m_stepsPerEpoch;
    const double loss = 2.25 * std::exp(-t / 1.6) + 0.09 * std::exp(-t / 9) + 0.02 +
                        0.12 * std::exp(-t / 5) * (noise() + 0.4);
    for (int rank = 0; rank < m_workers; ++rank)
        emitStep(store, rank, std::max(loss, 0.004));
    if (m_step % m_stepsPerEpoch == 0)
        endEpoch(store, 2.25 * std::exp(-t / 1.6) + 0.09 * std::exp(-t / 9) + 0.04);
    return true;
}

void MadeUpTraining::steps(metrics::Store& store, int count) {
    for (int i = 0; i < count; ++i)
        step(store);
}

void MadeUpTraining::finish(metrics::Store& store) {
    for (int rank = 0; rank < m_workers; ++rank)
        store.add(task(rank), 1, {m_time + 0.1, wire::Finished{}});
}

run::RunRecord madeUpRecord(int workers) {
    run::RunRecord record;
    record.id = "20261201-081403-ab12cd";
    record.name = "digits";
    record.startedAt = kBegin;
    for (int rank = 0; rank < workers; ++rank)
        record.tasks.push_back({MadeUpTraining::task(rank),
                                "this machine",
                                "127.0.0.1:" + std::to_string(2222 + rank),
                                {}});
    return record;
}

QList<RunEntry> madeUpHistory() {
    QList<RunEntry> runs;
    const struct {
        const char* name;
        run::RunStatus status;
        int workers;
        int epochs;
        double floor;
        double seconds;
    } rows[] = {{"digits", run::RunStatus::Running, 2, 6, 0.21, 0},
                {"digits", run::RunStatus::Finished, 4, 30, 0.031, 11.2},
                {"digits", run::RunStatus::Failed, 3, 4, 0.45, 3.7},
                {"breast-cancer", run::RunStatus::Finished, 2, 40, 0.062, 6.4},
                {"iris", run::RunStatus::Stopped, 2, 18, 0.31, 1.9},
                {"dense-regression", run::RunStatus::Finished, 2, 5, 0.083, 1.2}};
    double at = kBegin;
    for (const auto& row : rows) {
        RunEntry run;
        run.entry.id = "20261201-08" + std::to_string(10 + runs.size()) + "03-ab12c" +
                       std::to_string(runs.size());
        run.entry.name = row.name;
        run.entry.status = row.status;
        run.entry.workers = row.workers;
        run.entry.startedAt = at;
        if (row.seconds > 0)
            run.entry.endedAt = at + row.seconds;
        for (int epoch = 0; epoch < row.epochs; ++epoch)
            run.losses.append(row.floor + 2.2 * std::exp(-epoch / 2.5) +
                              0.02 * std::sin(epoch * 2.1));
        run.entry.finalLoss = run.losses.back();
        run.finalValues = {{QStringLiteral("loss"), run.losses.back()},
                           {QStringLiteral("accuracy"), 0.981},
                           {QStringLiteral("val_loss"), run.losses.back() + 0.06},
                           {QStringLiteral("val_accuracy"), 0.967}};
        run.samplesPerSecond = 24870;
        run.hasModel = row.status == run::RunStatus::Finished;
        if (row.status == run::RunStatus::Failed)
            run.failure =
                QStringLiteral("worker:2 (127.0.0.1:2224) was killed: its connection closed "
                               "in the middle of a step. Look at its log, then launch again.");
        runs.append(run);
        at -= 5000;
    }
    return runs;
}

} // namespace lockstep::ui
