// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "app/ctl/commands.h"
#include "app/ctl/options.h"
#include "app/ctl/session.h"
#include "core/document/documents.h"
#include "core/job/settings.h"
#include "core/run/port_check.h"

#include <unistd.h>

namespace lockstep::ctl {

namespace {

constexpr const char* kHelp =
    "usage: lockstepctl run JOB (--cluster FILE | --local N) [options]\n\n"
    "  --cluster FILE    the workers of a *.cluster.json\n"
    "  --local N         N workers on this machine, at free ports\n"
    "  --set PATH=VALUE  changes the job for this run: parts of the path by dots, places in\n"
    "                    arrays by number, the value JSON or else text, e.g. fit.epochs=3;\n"
    "                    may be given several times\n"
    "  --yes             launch in spite of warnings of the check of the hosts (see check)\n"
    "  --no-check        do not check hosts that are not this machine before the launch\n"
    "  --detach          return as soon as the workers are started; see attach\n"
    "  --json            end with one line of JSON: run, status, workers, epochs, final, digest,\n"
    "                    samples_per_second, step_ms, and failure where it failed\n\n"
    "Ctrl-C stops the run and all its workers; a second one leaves them running.\n"
    "exit codes: 0 done (or started), 1 the run failed or was stopped, 2 wrong input or\n"
    "something found before a worker started\n";

/// Free ports differ between programs that look at the same time.
Result<json::Value> localWorkers(const std::string& count) {
    const auto number = toNumber("--local", count, 1, 256);
    if (!number)
        return number.error();
    const auto port = run::findFreePorts(*number, 20'000 + static_cast<int>(::getpid() % 10'000));
    if (!port)
        return Error{Code::NotFound, "No free ports were found on 127.0.0.1.", {}};
    return cluster::localCluster(*number, *port).document();
}

Result<run::LaunchRequest> requestFrom(const Options& options) {
    run::LaunchRequest request;
    if (options.has("--cluster") == options.has("--local"))
        return Error{
            Code::InvalidArgument, "Give the workers: either --cluster FILE or --local N.", {}};
    request.jobFile = options.word();
    auto job = document::loadJob(request.jobFile);
    if (!job)
        return job.error();
    request.job = job->origin.document;
    for (const std::string& assignment : options.values("--set"))
        LOCKSTEP_TRY(job::applyAssignment(request.job, assignment));
    if (options.has("--local")) {
        auto workers = localWorkers(options.value("--local"));
        if (!workers)
            return workers.error();
        request.cluster = std::move(*workers);
        return request;
    }
    request.clusterFile = options.value("--cluster");
    auto cluster = document::loadCluster(request.clusterFile);
    if (!cluster)
        return cluster.error();
    request.cluster = cluster->origin.document;
    return request;
}

/// Found before there is a run: with --json the last line is an object all the same.
int refuse(const Error& error, bool json) {
    usageError(error);
    if (json) {
        const auto failure =
            json::Value::object({{"task", ""}, {"host", ""}, {"reason", describe(error)}});
        std::printf("%s\n",
                    json::dump(json::Value::object(
                                   {{"run", nullptr}, {"status", "failed"}, {"failure", failure}}))
                        .c_str());
    }
    return kWrongInput;
}

int run(const Words& words) {
    const auto options = Options::parse(words, {{"--json", "--detach", "--yes", "--no-check"},
                                                {"--cluster", "--local", "--set"},
                                                1,
                                                "JOB, a job file,"});
    if (!options)
        return usageError(options.error());
    auto request = requestFrom(*options);
    if (!request)
        return refuse(request.error(), options->has("--json"));
    request->checks = !options->has("--no-check");
    request->acceptsWarnings = options->has("--yes");
    Session session({options->has("--json"), options->has("--detach")});
    session.controller().launch(std::move(*request));
    return session.exec();
}

} // namespace

const Command kRunCommand = {"run", "train a job on the workers of a cluster, or on N local ones",
                             kHelp, &run};

} // namespace lockstep::ctl
