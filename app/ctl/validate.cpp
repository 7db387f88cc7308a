// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "app/ctl/commands.h"
#include "app/ctl/options.h"
#include "core/base/files.h"
#include "core/document/documents.h"
#include "core/run/preflight.h"
#include "core/run/run_folder.h"

#include <QCoreApplication>
#include <QTimer>

#include <algorithm>
#include <cstdio>

namespace lockstep::ctl {

namespace {

constexpr const char* kHelp =
    "usage: lockstepctl validate FILE [--workers N] [--json]\n\n"
    "FILE is a cluster file, a job file, or a TF_CONFIG. A job is also judged by the worker\n"
    "program: layers and shapes of the model, rows and columns of the data.\n\n"
    "  --workers N  judge a job for N workers (1)\n"
    "  --json       print one line of JSON: file, problems, and for a job its description\n\n"
    "exit codes: 0 no errors, 2 errors\n";

struct Judgement {
    Problems problems;
    json::Value description;
};

Judgement judgeJob(const std::string& file, const json::Value& job, int workers) {
    Judgement judgement;
    run::JobDescriber describer(run::defaultRoot(), run::defaultHosts());
    describer.describe(job, file, workers, [&](run::JobDescription description) {
        judgement = {std::move(description.problems), std::move(description.object)};
        QCoreApplication::quit();
    });
    QCoreApplication::exec();
    return judgement;
}

Result<Judgement> judge(const std::string& file, int workers) {
    auto text = files::read(file, 64u << 20);
    if (!text)
        return text.error();
    auto value = json::parse(*text, file);
    if (!value)
        return value.error();
    const json::Value* format = value->find("format");
    if (!format && value->find("cluster")) {
        auto config = cluster::TfConfig::parse(*text, file);
        if (!config)
            return config.error();
        cluster::ValidateOptions options;
        options.file = file;
        return Judgement{cluster::validate(*config, options), {}};
    }
    if (format && format->isString() && format->toString() == "lockstep-cluster") {
        auto cluster = document::readCluster(*text, file);
        if (!cluster)
            return cluster.error();
        return Judgement{cluster->problems, {}};
    }
    auto job = document::readJob(*text, file);
    if (!job)
        return job.error();
    return judgeJob(file, job->origin.document, workers);
}

json::Value toJson(const Problems& problems) {
    json::Value list = json::Value::array();
    for (const Problem& p : problems)
        list.append(
            json::Value::object({{"severity", p.severity == Severity::Error ? "error" : "warning"},
                                 {"file", p.file},
                                 {"path", p.path},
                                 {"line", p.line},
                                 {"message", p.message},
                                 {"expected", p.expected},
                                 {"hint", p.hint}}));
    return list;
}

int run(const Words& words) {
    const auto options = Options::parse(words, {{"--json"}, {"--workers"}, 1, "FILE"});
    if (!options)
        return usageError(options.error());
    int workers = 1;
    if (options->has("--workers")) {
        const auto number = toNumber("--workers", options->value("--workers"), 1, 100'000);
        if (!number)
            return usageError(number.error());
        workers = *number;
    }
    const std::string& file = options->word();
    auto judgement = judge(file, workers);
    if (!judgement) {
        if (!options->has("--json"))
            return usageError(judgement.error());
        judgement =
            Judgement{{{Severity::Error, file, "", 0, judgement.error().message, "", ""}}, {}};
    }
    const Problems& problems = judgement->problems;
    if (options->has("--json")) {
        json::Value line = json::Value::object({{"file", file}, {"problems", toJson(problems)}});
        if (judgement->description.isObject())
            line.set("description", judgement->description);
        std::printf("%s\n", json::dump(line).c_str());
        return hasErrors(problems) ? kWrongInput : kDone;
    }
    printProblems(problems);
    const auto errors = std::count_if(problems.begin(), problems.end(), [](const Problem& p) {
        return p.severity == Severity::Error;
    });
    const auto warnings = static_cast<std::ptrdiff_t>(problems.size()) - errors;
    if (problems.empty())
        std::printf("%s: no problems\n", file.c_str());
    else
        std::printf("%s: %td error%s, %td warning%s\n", file.c_str(), errors,
                    errors == 1 ? "" : "s", warnings, warnings == 1 ? "" : "s");
    return errors > 0 ? kWrongInput : kDone;
}

} // namespace

const Command kValidateCommand = {"validate", "judge a cluster file, a job file or a TF_CONFIG",
                                  kHelp, &run};

} // namespace lockstep::ctl
