// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/metrics/store.h"

#include <algorithm>
#include <cmath>

namespace lockstep::metrics {

namespace {

constexpr std::size_t kLogLines = 100'000;
/// Samples that the series of all workers hold together: 80 MB.
constexpr std::size_t kWorkerSamples = std::size_t{4} << 20;

} // namespace

void Store::add(const std::string& task, int attempt, const wire::Event& event) {
    const Worker* known = worker(task);
    if (known && attempt < known->attempt)
        return;
    ++m_generation;
    Worker& worker = workerFor(task, attempt);
    if (worker.firstTime == 0)
        worker.firstTime = event.time;
    worker.lastTime = std::max(worker.lastTime, event.time);
    std::visit([&](const auto& body) { apply(worker, body); }, event.body);
}

void Store::addLine(const std::string& task, Origin origin, wire::Level level,
                    const std::string& text, double utcSeconds) {
    ++m_generation;
    for (std::string& line : printableLines(text))
        insertLine({utcSeconds, task, level, origin, std::move(line), m_generation, 0});
}

double Store::ourTime(const std::string& task, double hostTime) const {
    const auto known = m_clockOffsets.find(task);
    if (known == m_clockOffsets.end())
        return hostTime;
    double ahead = 0;
    for (const auto& [since, seconds] : known->second)
        if (since <= hostTime)
            ahead = seconds;
    return hostTime - ahead;
}

void Store::setClockOffset(const std::string& task, double seconds, double sinceHostTime) {
    auto& offsets = m_clockOffsets[task];
    std::erase_if(offsets, [&](const auto& offset) { return offset.first >= sinceHostTime; });
    offsets.emplace_back(sinceHostTime, seconds);
    bool moved = false;
    for (LogLine& line : m_log) {
        if (line.task != task)
            continue;
        const double time = ourTime(task, line.hostTime);
        moved = moved || time != line.time;
        line.time = time;
    }
    if (!moved)
        return;
    ++m_generation;
    std::stable_sort(m_log.begin(), m_log.end(),
                     [](const LogLine& a, const LogLine& b) { return a.time < b.time; });
    // Any of them may have another place now.
    for (LogLine& line : m_log)
        line.generation = m_generation;
}

void Store::insertLine(LogLine line) {
    line.hostTime = line.time;
    line.time = ourTime(line.task, line.hostTime);
    const auto at =
        std::upper_bound(m_log.begin(), m_log.end(), line.time,
                         [](double time, const LogLine& known) { return time < known.time; });
    m_log.insert(at, std::move(line));
    if (m_log.size() > kLogLines) {
        m_log.pop_front();
        ++m_droppedLogLines;
    }
}

std::size_t Store::firstLogLineAfter(std::uint64_t generation) const {
    const auto newer = [&](const LogLine& line) { return line.generation > generation; };
    return static_cast<std::size_t>(std::find_if(m_log.begin(), m_log.end(), newer) -
                                    m_log.begin());
}

Worker& Store::workerFor(const std::string& task, int attempt) {
    auto found = std::find_if(m_workers.begin(), m_workers.end(),
                              [&](const Worker& w) { return w.task == task; });
    if (found == m_workers.end()) {
        m_workers.emplace_back();
        found = std::prev(m_workers.end());
        found->task = task;
        shareCapacity();
    }
    if (attempt > found->attempt) {
        // The series stay: what the new attempt repeats replaces its steps in them.
        Worker fresh;
        fresh.task = task;
        fresh.attempt = attempt;
        fresh.series = std::move(found->series);
        *found = std::move(fresh);
    }
    return *found;
}

void Store::shareCapacity() {
    const std::size_t series = m_workers.size() * static_cast<std::size_t>(Quantity::Count);
    const std::size_t each = std::clamp<std::size_t>(kWorkerSamples / series, 4096, 1 << 18);
    for (Worker& worker : m_workers)
        for (Series& one : worker.series)
            one.setCapacity(each);
}

std::vector<const Worker*> Store::workers() const {
    std::vector<const Worker*> all;
    for (const Worker& worker : m_workers)
        all.push_back(&worker);
    const auto rank = [](const Worker* w) { return w->started ? w->started->rank : 1 << 30; };
    std::stable_sort(all.begin(), all.end(),
                     [&](const Worker* a, const Worker* b) { return rank(a) < rank(b); });
    return all;
}

const Worker* Store::worker(const std::string& task) const {
    for (const Worker& worker : m_workers)
        if (worker.task == task)
            return &worker;
    return nullptr;
}

bool Store::leads(const Worker& worker) const {
    return worker.started && worker.started->rank == 0;
}

std::vector<std::string> Store::epochValueNames() const {
    std::vector<std::string> names;
    for (const auto& [name, series] : m_epochValues)
        names.push_back(name);
    return names;
}

const Series& Store::epochValue(const std::string& name) const {
    static const Series none;
    for (const auto& [known, series] : m_epochValues)
        if (known == name)
            return series;
    return none;
}

Epoch& Store::epochFor(int epoch) {
    const auto at = std::lower_bound(m_epochs.begin(), m_epochs.end(), epoch,
                                     [](const Epoch& e, int number) { return e.epoch < number; });
    if (at != m_epochs.end() && at->epoch == epoch)
        return *at;
    Epoch fresh;
    fresh.epoch = epoch;
    return *m_epochs.insert(at, std::move(fresh));
}

void Store::apply(Worker& worker, const wire::Started& event) {
    worker.started = event;
    // An evaluator has no rank among those that train.
    const std::string rank = event.rank < event.world ? " as rank " + std::to_string(event.rank) +
                                                            " of " + std::to_string(event.world)
                                                      : std::string();
    insertLine({worker.lastTime, worker.task, wire::Level::Info, Origin::Event,
                "Started" + rank + " on " + event.host + ", address " + event.address + ".",
                m_generation, 0});
}

void Store::apply(Worker& worker, const wire::PhaseChanged& event) {
    worker.phase = event.phase;
    worker.waitingFor = event.waitingFor;
    worker.joinDeadlineSeconds = event.deadlineSeconds;
}

void Store::apply(Worker& worker, const wire::Planned& event) {
    if (leads(worker) || !m_planned)
        m_planned = event;
}

void Store::apply(Worker& worker, const wire::Steps& event) {
    const auto x = static_cast<double>(event.last);
    const auto add = [&](Quantity quantity, const wire::Stat& stat) {
        worker.series[static_cast<std::size_t>(quantity)].append(x, stat.mean, stat.min, stat.max);
    };
    worker.step = event.last;
    worker.epoch = event.epoch;
    add(Quantity::AllReduceMs, event.allReduceMs);
    add(Quantity::AllReduceWaitMs, event.allReduceWaitMs);
    add(Quantity::InputMs, event.inputMs);
    add(Quantity::ComputeMs, event.computeMs);
    add(Quantity::UpdateMs, event.updateMs);
    add(Quantity::StepMs, event.totalMs);
    if (event.seconds > 0) {
        const double own = static_cast<double>(event.ownRows) / event.seconds;
        add(Quantity::SamplesPerSecond, {own, own, own});
    }
    const auto steps = static_cast<double>(event.last - event.first + 1);
    // Step 1 pays for first touches and is left out of means, as in Finished.
    if (event.first > 1) {
        worker.soFar.rows += event.rows;
        worker.soFar.seconds += event.seconds;
        worker.soFar.steps += steps;
        worker.soFar.inputMs += event.inputMs.mean * steps;
        worker.soFar.computeMs += event.computeMs.mean * steps;
        worker.soFar.allReduceWaitMs += event.allReduceWaitMs.mean * steps;
        worker.soFar.updateMs += event.updateMs.mean * steps;
        worker.soFar.totalMs += event.totalMs.mean * steps;
    }
    if (!leads(worker))
        return;
    m_loss.append(x, event.loss.mean, event.loss.min, event.loss.max);
    m_learningRate.append(x, event.learningRate);
    if (event.seconds > 0)
        m_samplesPerSecond.append(x, static_cast<double>(event.rows) / event.seconds);
}

void Store::apply(Worker& worker, const wire::EpochEnded& event) {
    Epoch& epoch = epochFor(event.epoch);
    epoch.digests[worker.task] = event.digest;
    if (!leads(worker)) {
        epoch.step = std::max(epoch.step, event.step);
        return;
    }
    epoch.step = event.step;
    epoch.seconds = event.seconds;
    addEpochValues(epoch, event.values);
}

void Store::addEpochValues(Epoch& epoch, const wire::NamedValues& values) {
    epoch.values = values;
    for (const auto& [name, value] : values) {
        auto at =
            std::find_if(m_epochValues.begin(), m_epochValues.end(),
                         [&wanted = name](const auto& known) { return known.first == wanted; });
        if (at == m_epochValues.end())
            at = m_epochValues.emplace(m_epochValues.end(), name, Series{});
        at->second.append(static_cast<double>(epoch.step), value);
    }
}

void Store::add(const std::string& task, int attempt, const Progress& progress, double utcSeconds) {
    const Worker* known = worker(task);
    if (known && attempt < known->attempt)
        return;
    ++m_generation;
    Worker& worker = workerFor(task, attempt);
    if (worker.firstTime == 0)
        worker.firstTime = utcSeconds;
    worker.lastTime = std::max(worker.lastTime, utcSeconds);
    worker.phase = wire::Phase::Training;
    worker.step = progress.step;
    worker.epoch = progress.epoch;
    const auto x = static_cast<double>(progress.step);
    if (!std::isnan(progress.stepMs))
        worker.series[static_cast<std::size_t>(Quantity::StepMs)].append(x, progress.stepMs);
    if (!leads(worker))
        return;
    for (const auto& [name, value] : progress.values) {
        if (name == "loss")
            m_loss.append(x, value);
        if (name == "learning_rate" || name == "lr")
            m_learningRate.append(x, value);
    }
    if (!progress.isEpochEnd)
        return;
    Epoch& epoch = epochFor(progress.epoch);
    epoch.step = progress.step;
    if (!std::isnan(progress.seconds))
        epoch.seconds = progress.seconds;
    addEpochValues(epoch, progress.values);
}

void Store::apply(Worker& worker, const wire::FileWritten& event) {
    if (event.kind == "model")
        worker.model = event;
}

void Store::apply(Worker& worker, const wire::Failed& event) {
    worker.failed = event;
    insertLine({worker.lastTime, worker.task, wire::Level::Error, Origin::Event, event.reason,
                m_generation, 0});
}

void Store::apply(Worker& worker, const wire::Finished& event) {
    worker.finished = event;
}

void Store::apply(Worker& worker, const wire::Logged& event) {
    for (std::string& line : printableLines(event.text))
        insertLine({worker.lastTime, worker.task, event.level, Origin::Event, std::move(line),
                    m_generation, 0});
}

void Store::apply(Worker&, const wire::Unknown&) {}

} // namespace lockstep::metrics
