// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "app/ctl/commands.h"
#include "app/ctl/hosts.h"
#include "app/ctl/options.h"
#include "app/ctl/signals.h"
#include "core/document/documents.h"
#include "core/run/cluster_check.h"

#include <QCoreApplication>

#include <algorithm>
#include <cstdio>

namespace lockstep::ctl {

namespace {

constexpr const char* kHelp =
    "usage: lockstepctl check CLUSTER [--json] [--bandwidth] [--timeout SECONDS]\n\n"
    "Asks every host what it is, opens the workers' ports and lets every host dial every other.\n\n"
    "  --json             one line of JSON on standard output\n"
    "  --bandwidth        measure it too: a second for each pair and direction\n"
    "  --timeout SECONDS  for the check once all hosts are ready (60)\n\n"
    "exit codes: 0 nothing stands against a launch, 1 the check did not come to its end,\n"
    "2 a launch would be refused, or the input was wrong\n";

using run::CheckedHost;
using run::CheckedPair;
using run::CheckReport;

std::string size(std::int64_t bytes) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f GiB", static_cast<double>(bytes) / (1LL << 30));
    return text;
}

std::string cellOf(const CheckedPair& pair) {
    if (pair.state == CheckedPair::State::Self)
        return ".";
    if (pair.state != CheckedPair::State::Done)
        return "-";
    if (pair.result.reach != agent::Reach::Reached)
        return agent::reachName(pair.result.reach);
    if (!pair.isGood())
        return "echo!";
    char text[32];
    if (pair.result.bytesPerSecond > 0)
        std::snprintf(text, sizeof text, "%.0f MB/s", pair.result.bytesPerSecond / 1e6);
    else
        std::snprintf(text, sizeof text, "%.2f ms", pair.result.roundTripSeconds * 1e3);
    return text;
}

void printTable(const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows)
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths.resize(std::max(widths.size(), i + 1));
            widths[i] = std::max(widths[i], row[i].size());
        }
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i)
            line += "  " + row[i] + std::string(widths[i] - row[i].size(), ' ');
        line.erase(line.find_last_not_of(' ') + 1);
        std::printf("%s\n", line.c_str());
    }
}

void printHosts(const CheckReport& report) {
    std::vector<std::vector<std::string>> rows{{"task", "host", "address", "system", "libc",
                                                "cores", "memory", "load", "free", "clock", "GPU"}};
    for (const CheckedHost& host : report.hosts) {
        if (host.state != CheckedHost::State::Done) {
            rows.push_back({host.task, host.name, host.address, "failed"});
            continue;
        }
        const agent::HostProbe& p = host.probe;
        char load[32];
        char clock[32];
        std::snprintf(load, sizeof load, "%.2f", p.load);
        std::snprintf(clock, sizeof clock, "%+.3f s", host.clockOffsetSeconds);
        rows.push_back({host.task, host.name, host.address, p.architecture, p.libc,
                        std::to_string(p.cores), size(p.memoryBytes), load, size(p.diskFreeBytes),
                        clock,
                        p.gpus.empty() ? agent::gpuStateName(p.gpuState)
                                       : std::to_string(p.gpus.size()) + " x " + p.gpus[0].name});
    }
    printTable(rows);
}

void printMatrix(const CheckReport& report) {
    std::vector<std::vector<std::string>> rows{{"from \\ to"}};
    for (const CheckedHost& host : report.hosts)
        rows.front().push_back(host.task);
    for (std::size_t from = 0; from < report.hosts.size(); ++from) {
        std::vector<std::string> row{report.hosts[from].task};
        for (std::size_t to = 0; to < report.hosts.size(); ++to)
            row.push_back(cellOf(report.pair(from, to)));
        rows.push_back(std::move(row));
    }
    printTable(rows);
}

void printFindings(const CheckReport& report) {
    constexpr const char* kNames[] = {"error", "warning", "note"};
    for (const run::CheckFinding& finding : report.findings) {
        const std::string subject = run::subjectOf(finding);
        std::printf("%s: %s%s%s\n", kNames[static_cast<std::size_t>(finding.kind)], subject.c_str(),
                    subject.empty() ? "" : ": ", finding.what.c_str());
        if (!finding.todo.empty())
            std::printf("    %s\n", finding.todo.c_str());
    }
}

/// Runs the event loop to the end of the check, or of the user's patience.
void wait(run::ClusterCheck& check) {
    Signals signals;
    QObject::connect(&signals, &Signals::interrupted, &check, &run::ClusterCheck::cancel);
    QObject::connect(&check, &run::ClusterCheck::done, qApp, &QCoreApplication::quit,
                     Qt::QueuedConnection);
    check.start();
    QCoreApplication::exec();
}

int run(const Words& words) {
    const auto options = Options::parse(
        words, {{"--json", "--bandwidth"}, {"--timeout"}, 1, "CLUSTER, a cluster file,"});
    if (!options)
        return usageError(options.error());
    run::CheckOptions settings;
    settings.bandwidth = options->has("--bandwidth");
    if (options->has("--timeout")) {
        const auto seconds = toNumber("--timeout", options->value("--timeout"), 1, 3600);
        if (!seconds)
            return usageError(seconds.error());
        settings.total = std::chrono::seconds(*seconds);
    }
    const auto cluster = document::loadCluster(options->word());
    if (!cluster)
        return usageError(cluster.error());
    printProblems(cluster->problems);
    Hosts hosts;
    run::ClusterCheck check(hosts.factory(), cluster->spec, settings);
    wait(check);
    const CheckReport& report = check.report();
    if (options->has("--json")) {
        std::printf("%s\n", json::dump(run::toJson(report)).c_str());
    } else {
        printHosts(report);
        std::printf("\n");
        printMatrix(report);
        std::printf("\n");
        printFindings(report);
        std::printf("%d errors, %d warnings, in %.1f s\n", report.count(run::FindingKind::Error),
                    report.count(run::FindingKind::Warning), report.seconds);
    }
    if (hasErrors(cluster->problems) || report.count(run::FindingKind::Error) > 0)
        return kWrongInput;
    return report.isComplete ? kDone : kFailed;
}

} // namespace

const Command kCheckCommand = {"check", "see whether the hosts of a cluster can train together",
                               kHelp, &run};

} // namespace lockstep::ctl
