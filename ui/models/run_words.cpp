// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/models/run_words.h"

#include "ui/models/format.h"

#include <QObject>
#include <QStringList>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace lockstep::ui {
namespace {

constexpr double kSlowFactor = 1.25; ///< times the median of the others
constexpr double kSlowSteps = 10;    ///< measured before anyone is called slow

Words verdictWords(const wire::Failed& failed) {
    if (failed.verdict == "killed")
        return {QObject::tr("killed"), Mood::Bad};
    if (failed.verdict == "frozen")
        return {QObject::tr("frozen"), Mood::Bad};
    if (failed.verdict == "cut_off")
        return {QObject::tr("cut off"), Mood::Bad};
    if (failed.verdict == "not_joined")
        return {QObject::tr("did not join"), Mood::Bad};
    if (failed.verdict == "refused")
        return {QObject::tr("refused"), Mood::Bad};
    if (failed.verdict == "stopped")
        return {QObject::tr("stopped"), Mood::Idle};
    return {QObject::tr("failed"), Mood::Bad};
}

Words phaseWords(const metrics::Worker& worker, const metrics::Store& store) {
    switch (*worker.phase) {
    case wire::Phase::Preparing:
        return {QObject::tr("preparing"), Mood::Busy};
    case wire::Phase::Joining: {
        QStringList missing;
        for (const auto& task : worker.waitingFor)
            missing.append(plainText(QString::fromStdString(task), 40));
        return {missing.isEmpty() ? QObject::tr("joining")
                                  : QObject::tr("waiting for %1").arg(missing.join(u", ")),
                Mood::Busy};
    }
    case wire::Phase::Training: {
        const QString slow = slowPart(worker, store);
        return slow.isEmpty() ? Words{QObject::tr("training"), Mood::Good}
                              : Words{QObject::tr("slow (%1)").arg(slow), Mood::Slow};
    }
    case wire::Phase::Validating:
        return {QObject::tr("validating"), Mood::Good};
    case wire::Phase::Finishing:
        return {QObject::tr("finishing"), Mood::Good};
    }
    return {};
}

double perStep(double sum, const metrics::Worker& worker) {
    return sum / worker.soFar.steps;
}

} // namespace

Words wordsOf(run::State state) {
    using run::State;
    switch (state) {
    case State::Idle:
        return {QObject::tr("Ready"), Mood::Idle};
    case State::Validating:
        return {QObject::tr("Reading the job"), Mood::Busy};
    case State::PreparingHosts:
        return {QObject::tr("Preparing hosts"), Mood::Busy};
    case State::Checking:
        return {QObject::tr("Checking hosts"), Mood::Busy};
    case State::Deploying:
        return {QObject::tr("Sending files"), Mood::Busy};
    case State::Launching:
        return {QObject::tr("Starting workers"), Mood::Busy};
    case State::Joining:
        return {QObject::tr("Workers joining"), Mood::Busy};
    case State::Training:
        return {QObject::tr("Training"), Mood::Good};
    case State::Finishing:
        return {QObject::tr("Finishing"), Mood::Good};
    case State::Stopping:
        return {QObject::tr("Stopping"), Mood::Busy};
    case State::Finished:
        return {QObject::tr("Finished"), Mood::Good};
    case State::Failed:
        return {QObject::tr("Failed"), Mood::Bad};
    case State::Stopped:
        return {QObject::tr("Stopped"), Mood::Idle};
    case State::Refused:
        return {QObject::tr("Not started"), Mood::Bad};
    case State::Detached:
        return {QObject::tr("Detached"), Mood::Idle};
    }
    return {};
}

Words wordsOf(run::RunStatus status) {
    switch (status) {
    case run::RunStatus::Running:
        return {QObject::tr("Running"), Mood::Busy};
    case run::RunStatus::Finished:
        return {QObject::tr("Finished"), Mood::Good};
    case run::RunStatus::Failed:
        return {QObject::tr("Failed"), Mood::Bad};
    case run::RunStatus::Stopped:
        return {QObject::tr("Stopped"), Mood::Idle};
    }
    return {};
}

std::optional<Words> wordsOf(const run::HostProgress& progress) {
    using Stage = run::HostProgress::Stage;
    switch (progress.stage) {
    case Stage::Connecting:
        return Words{QObject::tr("connecting"), Mood::Busy};
    case Stage::Asking:
        return Words{QObject::tr("waits for your answer"), Mood::Slow};
    case Stage::Deploying:
        return Words{progress.total > 0
                         ? QObject::tr("sending the worker, %1 %").arg(progress.percent())
                         : QObject::tr("looking for the worker"),
                     Mood::Busy};
    case Stage::Ready:
        return Words{QObject::tr("ready"), Mood::Busy};
    case Stage::Reconnecting:
        return Words{QObject::tr("out of sight, connecting again"), Mood::Slow};
    case Stage::Idle:
        break;
    }
    return std::nullopt;
}

Words wordsOf(const std::string& task, const metrics::Store& store, run::State state) {
    // A killed worker says nothing itself: the others do.
    for (const auto* other : store.workers())
        if (other->failed && other->failed->task == task)
            return verdictWords(*other->failed);
    const metrics::Worker* worker = store.worker(task);
    if ((worker && worker->finished) || state == run::State::Finished)
        return {QObject::tr("finished"), Mood::Good};
    if (worker && worker->failed)
        return {QObject::tr("ended: lost %1")
                    .arg(plainText(QString::fromStdString(worker->failed->task), 40)),
                Mood::Idle};
    if (run::isFinal(state) && state != run::State::Detached)
        return {QObject::tr("ended"), Mood::Idle};
    if (worker && worker->phase)
        return phaseWords(*worker, store);
    if (worker && worker->started)
        return {QObject::tr("started"), Mood::Busy};
    return {QObject::tr("not started"), Mood::Idle};
}

QString slowPart(const metrics::Worker& worker, const metrics::Store& store) {
    if (worker.soFar.steps < kSlowSteps)
        return {};
    struct Part {
        double metrics::StepSums::*sum;
        QString name;
    };
    const Part parts[] = {{&metrics::StepSums::inputMs, QObject::tr("input")},
                          {&metrics::StepSums::computeMs, QObject::tr("compute")},
                          {&metrics::StepSums::updateMs, QObject::tr("update")}};
    QString worst;
    double worstExcess = 0;
    for (const Part& part : parts) {
        std::vector<double> others;
        for (const auto* other : store.workers())
            if (other != &worker && other->soFar.steps >= kSlowSteps)
                others.push_back(perStep(other->soFar.*part.sum, *other));
        if (others.empty())
            return {};
        std::sort(others.begin(), others.end());
        const double median = others[others.size() / 2];
        const double own = perStep(worker.soFar.*part.sum, worker);
        const double total = perStep(worker.soFar.totalMs, worker);
        // A tenth of the step at least: a slow part that is nothing holds nobody up.
        if (own > kSlowFactor * median && own - median > 0.1 * total &&
            own - median > worstExcess) {
            worst = part.name;
            worstExcess = own - median;
        }
    }
    return worst;
}

Progress progressOf(const metrics::Store& store) {
    Progress progress;
    const auto workers = store.workers();
    if (workers.empty())
        return progress;
    const metrics::Worker& chief = *workers.front();
    progress.epoch = std::max(chief.epoch, chief.step > 0 ? 1 : 0);
    progress.step = chief.step;
    if (chief.firstTime > 0)
        progress.seconds = std::max(0.0, chief.lastTime - chief.firstTime);
    if (const auto& planned = store.planned()) {
        progress.epochs = planned->epochs;
        progress.steps = planned->stepsPerEpoch * planned->epochs;
    }
    if (progress.steps > progress.step && chief.soFar.steps >= 5) {
        const double perStepSeconds = chief.soFar.seconds / chief.soFar.steps;
        progress.remaining = perStepSeconds * static_cast<double>(progress.steps - progress.step);
    }
    return progress;
}

double newestMean(const metrics::Store& store, metrics::Quantity quantity) {
    double sum = 0;
    int count = 0;
    for (const auto* worker : store.workers())
        if (const double value = worker->of(quantity).lastValue(); std::isfinite(value)) {
            sum += value;
            ++count;
        }
    return count ? sum / count : std::numeric_limits<double>::quiet_NaN();
}

} // namespace lockstep::ui
