// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/train/describe.h"

#include "app/worker/commands.h"

#include <cstdio>

namespace lockstep::worker {

int describe(const Arguments& arguments) {
    std::string job;
    int workers = 1;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (arguments[i] == "--workers") {
            const auto count =
                i + 1 < arguments.size() ? countFromText(arguments[i + 1]) : std::nullopt;
            if (!count)
                return usageError("describe: --workers needs a whole number of at least 1");
            workers = *count;
            ++i;
        } else if (arguments[i].starts_with("--") || !job.empty()) {
            return usageError("describe: unexpected \"" + arguments[i] +
                              "\"; see lockstep-worker --help");
        } else {
            job = arguments[i];
        }
    }
    if (job.empty())
        return usageError("describe: the job file is missing");

    json::Value result;
    bool isUsable = false;
    if (const auto prepared = train::prepare(job)) {
        result = train::describeJob(*prepared, workers);
        isUsable = true;
        for (const json::Value& problem : result.find("problems")->items())
            isUsable = isUsable && problem.find("severity")->toString() != "error";
    } else {
        const Error& error = prepared.error();
        const Problem problem{Severity::Error, error.where, {}, 0, error.message, "a job file", {}};
        result = json::Value::object({{"problems", json::Value::array({train::toJson(problem)})}});
    }
    std::printf("%s\n", json::dump(result).c_str());
    return isUsable ? 0 : 2;
}

} // namespace lockstep::worker
