// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Everything that is known about a run while it runs or after it: series for charts, the state of
// each worker, the merged log. Fed with the workers' events, in each worker's own order and in any
// order between workers; pulled by the screen, which compares generation().
// Thread: one owner, no locks.

#include "core/metrics/keras_lines.h"
#include "core/metrics/series.h"
#include "core/metrics/terminal.h"
#include "core/wire/event.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::metrics {

/// Series of one worker over its steps.
enum class Quantity {
    SamplesPerSecond, ///< own rows over wall time
    AllReduceMs,      ///< per step
    AllReduceWaitMs,  ///< per step, not hidden behind computing
    InputMs,
    ComputeMs,
    UpdateMs,
    StepMs,
    Count,
};

/// Sums over a worker's reported steps, the first left out.
struct StepSums {
    double steps = 0;
    std::int64_t rows = 0; ///< of the global batches
    double seconds = 0;
    double inputMs = 0, computeMs = 0, allReduceWaitMs = 0, updateMs = 0, totalMs = 0;
};

struct Worker {
    std::string task; ///< "worker:0"
    int attempt = 0;  ///< the newest one seen
    std::optional<wire::Started> started;
    std::optional<wire::Phase> phase;
    std::vector<std::string> waitingFor; ///< while joining
    double joinDeadlineSeconds = 0;
    std::optional<wire::Failed> failed;
    std::optional<wire::Finished> finished;
    std::optional<wire::FileWritten> model;
    std::int64_t step = 0; ///< last step reported
    int epoch = 0;         ///< being trained
    double firstTime = 0;  ///< of its first event in this attempt, its own clock; 0 before
    double lastTime = 0;   ///< of its newest event
    StepSums soFar;
    std::array<Series, static_cast<std::size_t>(Quantity::Count)> series;

    const Series& of(Quantity quantity) const { return series[static_cast<std::size_t>(quantity)]; }
};

struct Epoch {
    int epoch = 1;
    std::int64_t step = 0; ///< last step of the epoch
    double seconds = 0;
    wire::NamedValues values;                   ///< Keras' names and order, from rank 0
    std::map<std::string, std::string> digests; ///< task → SHA-256 hex, as they arrive
};

enum class Origin { Event, Output, ErrorOutput, Control };

struct LogLine {
    double time = 0;  ///< UTC seconds on our clock, by which lines are in order
    std::string task; ///< empty for Control
    wire::Level level = wire::Level::Info;
    Origin origin = Origin::Event;
    std::string text;             ///< one line; tabs and printable characters only
    std::uint64_t generation = 0; ///< of the store when it came, or moved
    double hostTime = 0;          ///< the same moment on the host's clock
};

class Store {
public:
    /// One event of `task` ("worker:0"). An older attempt than the newest one seen is ignored.
    void add(const std::string& task, int attempt, const wire::Event& event);
    /// What `task` had reached when it printed a line of Keras', at that time on its clock; only
    /// what the line says goes into series.
    void add(const std::string& task, int attempt, const Progress& progress, double utcSeconds);
    /// A line that a worker printed, or (task empty) that the control side has to say. The time is
    /// that of the worker's clock.
    void addLine(const std::string& task, Origin origin, wire::Level level, const std::string& text,
                 double utcSeconds);

    /// The clock of the task's host is ahead of ours by `seconds` (behind: negative), from that
    /// moment of its own on; by default always, which replaces what was said before. Lines that are
    /// here already move to their place.
    void setClockOffset(const std::string& task, double seconds,
                        double sinceHostTime = -std::numeric_limits<double>::infinity());
    /// A moment of the task's host on our clock.
    double ourTime(const std::string& task, double hostTime) const;

    /// Grows with every change; equal values mean that nothing changed.
    std::uint64_t generation() const { return m_generation; }

    /// In rank order, those of unknown rank last in order of arrival.
    std::vector<const Worker*> workers() const;
    const Worker* worker(const std::string& task) const;
    /// As rank 0 says.
    const std::optional<wire::Planned>& planned() const { return m_planned; }

    /// Over global step numbers, from rank 0.
    const Series& loss() const { return m_loss; }
    const Series& learningRate() const { return m_learningRate; }
    /// Rows of the global batches over wall time.
    const Series& samplesPerSecond() const { return m_samplesPerSecond; }
    /// Names of the epochs' values in Keras' order: loss, accuracy, val_loss, …
    std::vector<std::string> epochValueNames() const;
    /// One epoch value over the last step of each epoch (the x of loss()); empty for unknown names.
    const Series& epochValue(const std::string& name) const;
    /// In order. Exact values, for tables.
    const std::vector<Epoch>& epochs() const { return m_epochs; }

    /// Merged lines of all workers in time order; the oldest are dropped beyond 100,000.
    const std::deque<LogLine>& log() const { return m_log; }
    std::int64_t droppedLogLines() const { return m_droppedLogLines; }
    /// Place of the first line that came after `generation`; log().size() where none did. All from
    /// there on may have moved.
    std::size_t firstLogLineAfter(std::uint64_t generation) const;

private:
    Worker& workerFor(const std::string& task, int attempt);
    Epoch& epochFor(int epoch);
    bool leads(const Worker& worker) const;
    void shareCapacity();
    void insertLine(LogLine line);
    void addEpochValues(Epoch& epoch, const wire::NamedValues& values);

    void apply(Worker& worker, const wire::Started& event);
    void apply(Worker& worker, const wire::PhaseChanged& event);
    void apply(Worker& worker, const wire::Planned& event);
    void apply(Worker& worker, const wire::Steps& event);
    void apply(Worker& worker, const wire::EpochEnded& event);
    void apply(Worker& worker, const wire::FileWritten& event);
    void apply(Worker& worker, const wire::Failed& event);
    void apply(Worker& worker, const wire::Finished& event);
    void apply(Worker& worker, const wire::Logged& event);
    void apply(Worker& worker, const wire::Unknown& event);

    std::uint64_t m_generation = 0;
    std::deque<Worker> m_workers; ///< in order of arrival; places stay
    std::optional<wire::Planned> m_planned;
    Series m_loss;
    Series m_learningRate;
    Series m_samplesPerSecond;
    std::vector<std::pair<std::string, Series>> m_epochValues;
    std::vector<Epoch> m_epochs;
    /// Task → (since when on its clock, seconds ahead), in order.
    std::map<std::string, std::vector<std::pair<double, double>>> m_clockOffsets;
    std::deque<LogLine> m_log;
    std::int64_t m_droppedLogLines = 0;
};

} // namespace lockstep::metrics
