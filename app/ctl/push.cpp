// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "app/ctl/commands.h"
#include "app/ctl/hosts.h"
#include "app/ctl/options.h"
#include "app/ctl/signals.h"
#include "core/document/documents.h"
#include "core/run/config_push.h"

#include <QCoreApplication>

#include <cstdio>

namespace lockstep::ctl {

namespace {

constexpr const char* kHelp =
    "usage: lockstepctl push CLUSTER [--json]\n\n"
    "Gives each host the TF_CONFIG of its tasks: tf_config.json, and tf_config.sh (sh, bash, "
    "zsh),\n"
    ".fish and .csh to source before a program that is started by hand. What arrived is read back\n"
    "and compared.\n\n"
    "  --json  one line of JSON on standard output\n\n"
    "exit codes: 0 done, 1 some host did not get it, 2 wrong input\n";

json::Value toJson(const run::ConfigPush& push) {
    json::Value tasks = json::Value::array();
    for (const run::PushedConfig& result : push.results()) {
        json::Value task = json::Value::object({{"task", result.task},
                                                {"host", result.host},
                                                {"folder", result.folder},
                                                {"sha256", result.sha256},
                                                {"ok", result.status.ok()}});
        if (!result.status)
            task.set("message", describe(result.status.error()));
        tasks.append(std::move(task));
    }
    return json::Value::object({{"tasks", std::move(tasks)}});
}

int run(const Words& words) {
    const auto options = Options::parse(words, {{"--json"}, {}, 1, "CLUSTER, a cluster file,"});
    if (!options)
        return usageError(options.error());
    const auto cluster = document::loadCluster(options->word());
    if (!cluster)
        return usageError(cluster.error());
    printProblems(cluster->problems);
    if (hasErrors(cluster->problems))
        return kWrongInput;
    Hosts hosts;
    run::ConfigPush push(hosts.factory(), cluster->spec);
    Signals signals;
    QObject::connect(&signals, &Signals::interrupted, qApp, &QCoreApplication::quit);
    QObject::connect(&push, &run::ConfigPush::done, qApp, &QCoreApplication::quit,
                     Qt::QueuedConnection);
    push.start();
    QCoreApplication::exec();
    if (options->has("--json"))
        std::printf("%s\n", json::dump(toJson(push)).c_str());
    for (const run::PushedConfig& result : push.results()) {
        if (!result.status)
            std::fprintf(stderr, "error: %s on %s: %s\n", result.task.c_str(), result.host.c_str(),
                         describe(result.status.error()).c_str());
        else if (!options->has("--json"))
            std::printf("%-10s %s:%s  sha256 %s\n", result.task.c_str(), result.host.c_str(),
                        result.folder.c_str(), result.sha256.c_str());
    }
    return push.isSuccess() ? kDone : kFailed;
}

} // namespace

const Command kPushCommand = {"push", "give each host its TF_CONFIG to source", kHelp, &run};

} // namespace lockstep::ctl
