// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "app/ctl/commands.h"
#include "app/ctl/options.h"
#include "core/document/documents.h"

#include <cstdio>

namespace lockstep::ctl {

namespace {

constexpr const char* kHelp =
    "usage: lockstepctl tf-config CLUSTER [--task worker:1] [--as json|env]\n\n"
    "Prints the TF_CONFIG of one task, or of every task, a line each.\n\n"
    "  --task TASK  chief:0, worker:1, …\n"
    "  --as json    the value alone (the default)\n"
    "  --as env     TF_CONFIG='…', for a shell\n\n"
    "exit codes: 0 done, 2 wrong input\n";

std::string forShell(const std::string& text) {
    std::string quoted = "TF_CONFIG='";
    for (const char c : text)
        quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return quoted + "'";
}

Result<std::vector<cluster::TaskId>> wantedTasks(const Options& options,
                                                 const cluster::ClusterSpec& spec) {
    std::vector<cluster::TaskId> tasks;
    if (options.has("--task")) {
        const auto task = cluster::TaskId::parse(options.value("--task"));
        if (!task)
            return task.error();
        tasks.push_back(*task);
        return tasks;
    }
    const cluster::TfConfig config = cluster::tfConfigOf(spec);
    for (const cluster::TfConfig::Entry& entry : config.entries())
        tasks.push_back(entry.task);
    return tasks;
}

int run(const Words& words) {
    const auto options =
        Options::parse(words, {{}, {"--task", "--as"}, 1, "CLUSTER, a cluster file,"});
    if (!options)
        return usageError(options.error());
    const std::string as = options->has("--as") ? options->value("--as") : "json";
    if (as != "json" && as != "env")
        return usageError(
            {Code::InvalidArgument, "--as got \"" + as + "\"; expected \"json\" or \"env\".", {}});
    const auto cluster = document::loadCluster(options->word());
    if (!cluster)
        return usageError(cluster.error());
    printProblems(cluster->problems);
    if (hasErrors(cluster->problems))
        return kWrongInput;
    const auto tasks = wantedTasks(*options, cluster->spec);
    if (!tasks)
        return usageError(tasks.error());
    for (const cluster::TaskId task : *tasks) {
        const auto config = cluster::tfConfigFor(cluster->spec, task);
        if (!config)
            return usageError(config.error());
        const std::string text = config->dump();
        std::printf("%s\n", as == "env" ? forShell(text).c_str() : text.c_str());
    }
    return kDone;
}

} // namespace

const Command kTfConfigCommand = {"tf-config", "print the TF_CONFIG of the tasks of a cluster",
                                  kHelp, &run};

} // namespace lockstep::ctl
