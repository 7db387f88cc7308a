// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/metrics/csv.h"

#include "core/base/clock.h"
#include "core/metrics/keras_lines.h"
#include "core/wire/event.h"
#include "core/wire/output_times.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

namespace lockstep::metrics {

namespace {

std::string number(double value) {
    if (std::isnan(value))
        return "NaN";
    if (std::isinf(value))
        return value > 0 ? "Infinity" : "-Infinity";
    char text[64];
    const auto end = std::to_chars(text, text + sizeof text, value);
    return {text, end.ptr};
}

std::string quoted(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos)
        return text;
    std::string out = "\"";
    for (const char c : text)
        out += c == '"' ? std::string("\"\"") : std::string(1, c);
    return out + "\"";
}

void append(std::string& row, const std::string& cell) {
    row += ',';
    row += cell;
}

void append(std::string& row, const wire::Stat& stat) {
    append(row, number(stat.mean));
    append(row, number(stat.min));
    append(row, number(stat.max));
}

constexpr const char* kTimes[] = {"input",           "compute", "all_reduce",
                                  "all_reduce_wait", "update",  "total"};

/// One attempt of one task.
struct Log {
    std::string task;
    int attempt = 1;
    int rank = std::numeric_limits<int>::max();
    std::vector<wire::Event> events;
    std::vector<std::pair<std::optional<double>, Progress>> printed; ///< time, what it says
    /// First step that a later attempt reports again.
    std::int64_t repeatedFrom = std::numeric_limits<std::int64_t>::max();
};

Log readLog(const EventsFile& file, int& unreadable) {
    Log log;
    log.task = file.task;
    log.attempt = file.attempt;
    wire::LineSplitter splitter;
    for (const std::string& line : splitter.add(file.bytes)) {
        auto event = wire::decode(line);
        if (!event) {
            ++unreadable;
            continue;
        }
        if (const auto* started = std::get_if<wire::Started>(&event->body))
            log.rank = started->rank;
        log.events.push_back(std::move(*event));
    }
    unreadable += static_cast<int>(splitter.droppedLines());
    return log;
}

/// Each step once: what was printed later about the same one is kept.
void readPrinted(Log& log, const EventsFile& file, int workers) {
    wire::OutputTimes times;
    times.add(file.outputTimes);
    KerasReader reader(workers);
    for (Progress& progress : reader.add(file.output)) {
        while (!log.printed.empty() && log.printed.back().second.step >= progress.step)
            log.printed.pop_back();
        const auto time = times.at(progress.position);
        log.printed.emplace_back(time, std::move(progress));
    }
}

/// "chief:0" before "worker:0" before "worker:10" before "evaluator:0".
bool isTaskBefore(const std::string& a, const std::string& b) {
    return std::pair(a.size(), a) < std::pair(b.size(), b);
}

void sortLogs(std::vector<Log>& logs) {
    // A task whose later attempt never said its rank keeps the one it had.
    std::map<std::string, int> ranks;
    for (const Log& log : logs) {
        const auto known = ranks.try_emplace(log.task, log.rank).first;
        known->second = std::min(known->second, log.rank);
    }
    std::stable_sort(logs.begin(), logs.end(), [&](const Log& a, const Log& b) {
        if (ranks[a.task] != ranks[b.task])
            return ranks[a.task] < ranks[b.task];
        return a.task == b.task ? a.attempt < b.attempt : isTaskBefore(a.task, b.task);
    });
    for (std::size_t i = logs.size(); i-- > 1;) {
        Log& before = logs[i - 1];
        if (before.task != logs[i].task)
            continue;
        before.repeatedFrom = logs[i].repeatedFrom;
        for (const wire::Event& event : logs[i].events)
            if (const auto* steps = std::get_if<wire::Steps>(&event.body))
                before.repeatedFrom = std::min(before.repeatedFrom, steps->first);
        if (!logs[i].printed.empty())
            before.repeatedFrom =
                std::min(before.repeatedFrom, logs[i].printed.front().second.step);
    }
}

std::string beginOf(const char* kind, const Log& log, int epoch) {
    std::string row = kind;
    append(row, log.task);
    append(row, std::to_string(log.attempt));
    append(row, std::to_string(epoch));
    return row;
}

std::string stepRow(const Log& log, double time, const wire::Steps& e, std::size_t valueCount) {
    std::string row = beginOf("step", log, e.epoch);
    append(row, std::to_string(e.first));
    append(row, std::to_string(e.last));
    append(row, isoTime(time));
    append(row, number(e.seconds));
    append(row, std::to_string(e.rows));
    append(row, std::to_string(e.ownRows));
    append(row, number(e.learningRate));
    append(row, e.loss);
    for (const wire::Stat* stat :
         {&e.inputMs, &e.computeMs, &e.allReduceMs, &e.allReduceWaitMs, &e.updateMs, &e.totalMs})
        append(row, *stat);
    return row + std::string(1 + valueCount, ',') + "\n";
}

std::string epochRow(const Log& log, const std::string& time, const std::string& seconds,
                     const wire::EpochEnded& e, std::int64_t firstStep,
                     const std::vector<std::string>& names) {
    std::string row = beginOf("epoch", log, e.epoch);
    append(row, std::to_string(firstStep));
    append(row, std::to_string(e.step));
    append(row, time);
    append(row, seconds);
    row += std::string(3 + 3 + 3 * std::size(kTimes), ','); // rows … total_ms_max
    append(row, e.digest);
    for (const std::string& name : names) {
        const auto at = std::find_if(e.values.begin(), e.values.end(),
                                     [&](const auto& value) { return value.first == name; });
        append(row, at == e.values.end() ? std::string() : number(at->second));
    }
    return row + "\n";
}

std::string optionalNumber(double value) {
    return std::isnan(value) ? std::string() : number(value);
}

/// A row of one printed line: like a step, and at an epoch's end like an epoch too.
std::string printedRows(const Log& log, const std::optional<double>& time, const Progress& progress,
                        std::int64_t firstStep, std::int64_t epochFirst,
                        const std::vector<std::string>& names) {
    const std::string when = time ? isoTime(*time) : std::string();
    const bool hasLoss = std::any_of(progress.values.begin(), progress.values.end(),
                                     [](const auto& value) { return value.first == "loss"; });
    const std::string loss = hasLoss ? number(progress.value("loss")) : std::string();
    const double rate = progress.value("learning_rate");
    std::string rows = beginOf("step", log, progress.epoch);
    for (const std::string& cell :
         {std::to_string(firstStep), std::to_string(progress.step), when, std::string(),
          std::string(), std::string(),
          optionalNumber(std::isnan(rate) ? progress.value("lr") : rate), loss, loss, loss})
        append(rows, cell);
    rows += std::string(3 * (std::size(kTimes) - 1), ',');
    for (int part = 0; part < 3; ++part)
        append(rows, optionalNumber(progress.stepMs));
    rows += std::string(1 + names.size(), ',') + "\n";
    if (!progress.isEpochEnd)
        return rows;
    const wire::EpochEnded end{
        progress.epoch, progress.step, progress.seconds, progress.values, {}};
    return rows + epochRow(log, when, optionalNumber(progress.seconds), end, epochFirst, names);
}

std::vector<std::string> valueNames(const std::vector<Log>& logs) {
    std::vector<std::string> names;
    const auto add = [&](const wire::NamedValues& values) {
        for (const auto& [name, value] : values)
            if (std::find(names.begin(), names.end(), name) == names.end())
                names.push_back(name);
    };
    for (const Log& log : logs) {
        for (const wire::Event& event : log.events)
            if (const auto* epoch = std::get_if<wire::EpochEnded>(&event.body))
                add(epoch->values);
        for (const auto& [time, progress] : log.printed)
            if (progress.isEpochEnd)
                add(progress.values);
    }
    return names;
}

void appendPrinted(std::string& text, const Log& log, const std::vector<std::string>& names) {
    std::int64_t next = 1;
    std::int64_t epochFirst = 1;
    int epoch = 0;
    for (const auto& [time, progress] : log.printed) {
        if (progress.step >= log.repeatedFrom)
            return;
        if (progress.epoch != epoch)
            epochFirst = next;
        epoch = progress.epoch;
        text += printedRows(log, time, progress, next, epochFirst, names);
        next = progress.step + 1;
    }
}

void appendLog(std::string& text, const Log& log, const std::vector<std::string>& names) {
    std::int64_t epochFirst = 1;
    std::int64_t last = 0;
    for (const wire::Event& event : log.events) {
        if (const auto* steps = std::get_if<wire::Steps>(&event.body)) {
            if (last == 0)
                epochFirst = steps->first;
            last = steps->last;
            if (steps->last < log.repeatedFrom)
                text += stepRow(log, event.time, *steps, names.size());
        } else if (const auto* epoch = std::get_if<wire::EpochEnded>(&event.body)) {
            if (epoch->step < log.repeatedFrom)
                text += epochRow(log, isoTime(event.time), number(epoch->seconds), *epoch,
                                 epochFirst, names);
            epochFirst = epoch->step + 1;
        }
    }
}

} // namespace

Csv toCsv(const std::vector<EventsFile>& files) {
    Csv csv;
    std::vector<Log> logs;
    std::set<std::string> tasks; // that train together
    for (const EventsFile& file : files)
        if (file.task.starts_with("chief:") || file.task.starts_with("worker:"))
            tasks.insert(file.task);
    for (const EventsFile& file : files) {
        logs.push_back(readLog(file, csv.unreadableLines));
        if (file.bytes.empty())
            readPrinted(logs.back(), file, static_cast<int>(tasks.size()));
    }
    sortLogs(logs);
    const std::vector<std::string> names = valueNames(logs);

    csv.text = "kind,task,attempt,epoch,first_step,last_step,time,seconds,rows,own_rows,"
               "learning_rate,loss_mean,loss_min,loss_max";
    for (const char* time : kTimes)
        for (const char* part : {"_ms_mean", "_ms_min", "_ms_max"})
            append(csv.text, std::string(time) + part);
    append(csv.text, "digest");
    for (const std::string& name : names)
        append(csv.text, quoted(name));
    csv.text += '\n';
    for (const Log& log : logs) {
        appendLog(csv.text, log, names);
        appendPrinted(csv.text, log, names);
    }
    return csv;
}

} // namespace lockstep::metrics
