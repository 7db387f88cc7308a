// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/job/job_spec.h"

#include "core/base/json_reader.h"
#include "core/job/detail/read_command.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <type_traits>

namespace lockstep::job {

namespace {

using detail::filledText;
using json::Reader;

constexpr std::int64_t kMostRows = std::int64_t{1} << 40;
constexpr std::int64_t kMostColumns = std::int64_t{1} << 24;
/// A million seconds: far beyond use, and safe in every clock's arithmetic.
constexpr double kMostSeconds = 1e6;
constexpr double kLeastSeconds = 0.001;

std::string upper(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return text;
}

/// oneOf() with any case: TensorFlow takes "ring" for RING.
std::optional<std::string> oneOfAnyCase(const Reader& at, const std::vector<std::string>& choices) {
    if (at.value() && at.value()->isString()) {
        const std::string word = upper(at.value()->toString());
        if (std::find(choices.begin(), choices.end(), word) != choices.end())
            return word;
    }
    return at.oneOf(choices);
}

std::optional<KerasObject> readKerasObject(const Reader& at, const std::string& expected) {
    if (at.isAbsent()) {
        if (at.exists())
            at.error("Null does not belong here.", expected);
        return std::nullopt;
    }
    KerasObject object;
    object.path = at.path();
    object.line = at.line();
    if (at.value()->isString()) {
        const auto name = filledText(at, expected);
        object.className = name.value_or("");
        return name ? std::optional(object) : std::nullopt;
    }
    if (!at.value()->isObject()) {
        at.error("This is " + json::nameOf(*at.value()) + ".", expected);
        return std::nullopt;
    }
    const Reader name = at.require("class_name", "the name of a Keras class, a text");
    const auto className = filledText(name, "the name of a Keras class");
    const Reader config = at.at("config");
    if (!config.isAbsent() && config.isObject())
        object.config = *config.value();
    if (!className)
        return std::nullopt;
    object.className = *className;
    return object;
}

void readCompile(const Reader& at, Compile& compile) {
    if (!at.isObject())
        return;
    at.warnUnknown({"optimizer", "loss", "metrics"});
    const std::string optimizer =
        "an optimizer's name such as \"adam\", or {\"class_name\": …, \"config\": {…}}";
    const std::string loss =
        "a loss's name such as \"mse\", or {\"class_name\": …, \"config\": {…}}";
    if (auto object = readKerasObject(at.require("optimizer", optimizer), optimizer))
        compile.optimizer = std::move(*object);
    if (auto object = readKerasObject(at.require("loss", loss), loss))
        compile.loss = std::move(*object);
    for (const Reader& metric : at.at("metrics").items()) {
        const std::string expected =
            "a metric's name such as \"accuracy\", or {\"class_name\": …, \"config\": {…}}";
        if (auto object = readKerasObject(metric, expected))
            compile.metrics.push_back(std::move(*object));
    }
}

CsvSource readCsv(const Reader& at) {
    at.warnUnknown({"source", "path", "header", "skip_lines", "label", "scale"});
    CsvSource csv;
    const std::string path = "the path of a CSV file (also gzipped), relative to the job file";
    csv.path = filledText(at.require("path", path), path).value_or("");
    csv.header = at.at("header").boolean().value_or(false);
    csv.skipLines = at.at("skip_lines").integer(0, kMostRows).value_or(0);
    const Reader label = at.at("label");
    if (!label.isAbsent()) {
        if (label.value()->isString()) {
            csv.label = label.value()->toString();
            if (!csv.header)
                label.error("The label is given by name, but the file has no header.",
                            "a column's number from 0 (negative from the end), or a name with "
                            "\"header\": true");
        } else if (label.value()->isInteger()) {
            const auto place = label.integer(-kMostColumns, kMostColumns);
            csv.label = place.value_or(-1);
        } else {
            label.error("This is " + json::nameOf(*label.value()) + ".",
                        "a column's name, or its number from 0, negative from the end");
        }
    }
    const Reader scale = at.at("scale");
    csv.scale = scale.number().value_or(1);
    if (csv.scale == 0)
        scale.error("A scale of 0 makes every feature 0.", "a number other than 0");
    return csv;
}

RandomUniformSource readRandomUniform(const Reader& at) {
    at.warnUnknown({"source", "rows", "features", "labels", "seed"});
    RandomUniformSource source;
    source.rows = at.require("rows", "the number of rows").integer(1, kMostRows).value_or(0);
    source.features =
        at.require("features", "the number of features").integer(1, kMostColumns).value_or(0);
    source.labels = at.at("labels").integer(1, kMostColumns).value_or(1);
    source.seed = static_cast<std::uint64_t>(
        at.at("seed").integer(0, std::numeric_limits<std::int64_t>::max()).value_or(0));
    return source;
}

std::optional<Source> readSource(const Reader& at) {
    if (at.isAbsent() || !at.isObject())
        return std::nullopt;
    const Reader kind = at.require("source", "\"csv\" or \"random_uniform\"");
    const auto word = kind.oneOf({"csv", "random_uniform"});
    if (!word)
        return std::nullopt;
    if (*word == "csv")
        return readCsv(at);
    return readRandomUniform(at);
}

void readShuffle(const Reader& at, Data& data) {
    if (at.value() && at.value()->isBool()) {
        data.shuffle = at.value()->toBool() ? kShuffleAll : 0;
        return;
    }
    if (at.value() && !at.isAbsent() && !at.value()->isInteger()) {
        at.error("This is " + json::nameOf(*at.value()) + ".",
                 "the rows in the shuffle buffer, a whole number of at least 0, or true for all");
        return;
    }
    data.shuffle = at.integer(0).value_or(0);
}

void readPolicy(const Reader& at, Data& data) {
    const auto policy = oneOfAnyCase(at, {"AUTO", "DATA", "OFF", "FILE"});
    if (!policy)
        return;
    if (*policy == "DATA")
        data.shardPolicy = ShardPolicy::Data;
    if (*policy == "OFF")
        data.shardPolicy = ShardPolicy::Off;
    if (*policy == "FILE") {
        data.shardPolicy = ShardPolicy::File;
        at.error("The policy FILE is not built yet in this version.",
                 "\"AUTO\", \"DATA\" or \"OFF\"",
                 "Take DATA: every worker reads the same file, and each row is trained once.");
    }
}

void readData(const Reader& at, Data& data) {
    if (!at.isObject())
        return;
    at.warnUnknown({"train", "validation", "validation_fraction", "shuffle", "drop_remainder",
                    "auto_shard_policy"});
    const Reader train = at.require("train", "a source: {\"source\": \"csv\", \"path\": …}");
    if (train.exists() && train.isAbsent())
        train.error("Null does not belong here.", "a source");
    if (auto source = readSource(train))
        data.train = std::move(*source);
    data.validation = readSource(at.at("validation"));

    const Reader fraction = at.at("validation_fraction");
    data.validationFraction = fraction.number(0, 1).value_or(0);
    if (data.validationFraction >= 1) {
        fraction.error("A fraction of 1 leaves no rows to train with.",
                       "a number of at least 0 and below 1");
        data.validationFraction = 0;
    }
    if (data.validation && data.validationFraction > 0) {
        fraction.error("The job has both a validation source and a validation fraction.",
                       "one of the two", "Remove data.validation or data.validation_fraction.");
        data.validationFraction = 0;
    }
    readShuffle(at.at("shuffle"), data);
    if (at.at("drop_remainder").boolean().value_or(false))
        data.remainder = Remainder::Drop;
    readPolicy(at.at("auto_shard_policy"), data);
}

void readFit(const Reader& at, Fit& fit) {
    if (at.exists() && !at.isObject()) {
        fit.globalBatchSize = 32;
        return;
    }
    at.warnUnknown({"epochs", "global_batch_size", "batch_size_per_replica",
                    "learning_rate_scaling", "warmup_steps"});
    fit.epochs = at.at("epochs").integer(1, 1'000'000'000).value_or(1);
    const Reader global = at.at("global_batch_size");
    const Reader perReplica = at.at("batch_size_per_replica");
    fit.globalBatchSize = global.integer(1, kMostRows);
    fit.batchSizePerReplica = perReplica.integer(1, kMostRows);
    if (!global.isAbsent() && !perReplica.isAbsent()) {
        perReplica.error(
            "The job gives both global_batch_size and batch_size_per_replica.", "one of the two",
            "Keep global_batch_size for the same training on any number of workers, or "
            "batch_size_per_replica for a batch that grows with them.");
        fit.batchSizePerReplica.reset();
    }
    if (!fit.globalBatchSize && !fit.batchSizePerReplica)
        fit.globalBatchSize = 32;
    const auto scaling = at.at("learning_rate_scaling").oneOf({"none", "linear", "sqrt"});
    if (scaling == "linear")
        fit.rateScaling = RateScaling::Linear;
    if (scaling == "sqrt")
        fit.rateScaling = RateScaling::Sqrt;
    fit.warmupSteps = at.at("warmup_steps").integer(0, kMostRows).value_or(0);
}

double readSeconds(const Reader& at, double otherwise) {
    const auto seconds = at.number();
    if (!seconds)
        return otherwise;
    if (*seconds < kLeastSeconds || *seconds > kMostSeconds) {
        at.error(json::dump(*at.value()) + " is out of range.", "seconds from 0.001 to 1000000",
                 *seconds == 0 ? "No wait is endless here: give a number of seconds."
                               : std::string());
        return otherwise;
    }
    return *seconds;
}

void readCommunication(const Reader& at, Communication& communication) {
    if (at.isAbsent() || !at.isObject())
        return;
    at.warnUnknown({"implementation", "timeout_seconds", "join_timeout_seconds",
                    "heartbeat_timeout_seconds", "bytes_per_pack"});
    const Reader implementation = at.at("implementation");
    const auto word = oneOfAnyCase(implementation, {"AUTO", "RING", "NCCL"});
    if (word == "RING")
        communication.implementation = Implementation::Ring;
    if (word == "NCCL") {
        communication.implementation = Implementation::Nccl;
        implementation.error("NCCL needs workers that train on GPUs, which this version does not.",
                             "\"AUTO\" or \"RING\"");
    }
    communication.timeoutSeconds =
        readSeconds(at.at("timeout_seconds"), communication.timeoutSeconds);
    communication.joinTimeoutSeconds =
        readSeconds(at.at("join_timeout_seconds"), communication.joinTimeoutSeconds);
    communication.heartbeatTimeoutSeconds =
        readSeconds(at.at("heartbeat_timeout_seconds"), communication.heartbeatTimeoutSeconds);
    communication.bytesPerPack =
        at.at("bytes_per_pack").integer(0, std::int64_t{1} << 40).value_or(0);
}

void readModel(const Reader& root, JobSpec& job) {
    const std::string expected =
        "Keras' JSON of the model, or the path of a file with it (written by model.to_json())";
    const Reader model = root.require("model", expected);
    if (!model.exists())
        return;
    if (model.value()->isString()) {
        if (filledText(model, expected))
            job.model = *model.value();
    } else if (model.value()->isObject()) {
        model.require("class_name", "\"Sequential\"").string();
        job.model = *model.value();
    } else {
        model.error("This is " + json::nameOf(*model.value()) + ".", expected);
    }
}

void readModelJob(const Reader& root, JobSpec& job) {
    root.warnUnknown({"format", "version", "name", "kind", "model", "compile", "data", "fit",
                      "communication", "threads_per_worker", "seed"});
    readModel(root, job);
    readCompile(root.require("compile", "{\"optimizer\": …, \"loss\": …, \"metrics\": […]}"),
                job.compile);
    readData(root.require("data", "{\"train\": {\"source\": …}}"), job.data);
    readFit(root.at("fit"), job.fit);
    readCommunication(root.at("communication"), job.communication);
    job.threadsPerWorker = root.at("threads_per_worker").integer(1, 4096).value_or(0);
    job.seed = static_cast<std::uint64_t>(
        root.at("seed").integer(0, std::numeric_limits<std::int64_t>::max()).value_or(0));
}

} // namespace

JobSpec parseJob(const json::Value& document, const std::string& file, Problems& problems) {
    JobSpec job;
    job.document = document;
    job.file = file;
    job.fit.globalBatchSize = 32;
    const Reader root(&job.document, {}, file, &problems);
    if (!document.isObject()) {
        root.error("The document is " + json::nameOf(document) + ".",
                   "an object that begins with {\"format\": \"lockstep-job\", \"version\": 1");
        return job;
    }
    root.require("format", "\"lockstep-job\"").oneOf({kJobFormat});
    const Reader version = root.require("version", "1");
    const auto number = version.integer(1);
    if (number && *number > kJobVersion) {
        version.error("The job is of version " + std::to_string(*number) +
                          ", written by a newer Lockstep.",
                      "version " + std::to_string(kJobVersion) + " or older",
                      "Open it with a newer Lockstep.");
        return job; // its other keys may mean something else
    }
    job.name = root.at("name").string().value_or("");
    if (root.at("kind").oneOf({"model", "command"}) == "command") {
        job.kind = JobKind::Command;
        job.command = detail::readCommand(root);
    } else {
        readModelJob(root, job);
    }
    return job;
}

json::Value newJobDocument(const std::string& name) {
    using json::Value;
    const auto layer = [](const char* className, Value config) {
        return Value::object({{"class_name", className}, {"config", std::move(config)}});
    };
    const Value layers = Value::array(
        {layer("InputLayer", Value::object({{"batch_shape", Value::array({nullptr, 10})}})),
         layer("Dense", Value::object({{"units", 16}, {"activation", "relu"}})),
         layer("Dense", Value::object({{"units", 1}}))});
    return Value::object(
        {{"format", kJobFormat},
         {"version", kJobVersion},
         {"name", name},
         {"model", layer("Sequential", Value::object({{"layers", layers}}))},
         {"compile",
          Value::object(
              {{"optimizer", "adam"}, {"loss", "mse"}, {"metrics", Value::array({"mae"})}})},
         {"data", Value::object({{"train", Value::object({{"source", "random_uniform"},
                                                          {"rows", 1000},
                                                          {"features", 10},
                                                          {"labels", 1},
                                                          {"seed", 1}})},
                                 {"shuffle", 1000},
                                 {"auto_shard_policy", "DATA"}})},
         {"fit", Value::object({{"epochs", 5}, {"global_batch_size", 32}})},
         {"seed", 1}});
}

Problem problemAt(const JobSpec& job, const std::string& path, std::string message,
                  std::string expected, std::string hint, Severity severity) {
    int line = 0;
    for (std::string at = path;;) {
        const json::Value* value = at.empty() ? &job.document : json::findPath(job.document, at);
        if (value && value->line() > 0) {
            line = value->line();
            break;
        }
        if (at.empty())
            break;
        const std::size_t dot = at.rfind('.');
        at = dot == std::string::npos ? std::string() : at.substr(0, dot);
    }
    return {severity,       job.file, path, line, std::move(message), std::move(expected),
            std::move(hint)};
}

std::vector<FileReference> fileReferences(const JobSpec& job) {
    std::vector<FileReference> files;
    if (job.kind != JobKind::Model)
        return files;
    if (job.model.isString())
        files.push_back({"model", job.model.toString()});
    const auto addSource = [&](const Source& source, const std::string& path) {
        if (const auto* csv = std::get_if<CsvSource>(&source); csv && !csv->path.empty())
            files.push_back({path, csv->path});
    };
    addSource(job.data.train, "data.train.path");
    if (job.data.validation)
        addSource(*job.data.validation, "data.validation.path");
    return files;
}

std::string resolvePath(const std::string& folder, const std::string& file) {
    if (folder.empty() || file.starts_with('/'))
        return file;
    return folder.ends_with('/') ? folder + file : folder + "/" + file;
}

std::string folderOf(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos)
        return {};
    return slash == 0 ? "/" : path.substr(0, slash);
}

const char* textOf(ShardPolicy policy) {
    switch (policy) {
    case ShardPolicy::Auto:
        return "AUTO";
    case ShardPolicy::Data:
        return "DATA";
    case ShardPolicy::Off:
        return "OFF";
    case ShardPolicy::File:
        return "FILE";
    }
    return "";
}

const char* textOf(RateScaling scaling) {
    switch (scaling) {
    case RateScaling::None:
        return "none";
    case RateScaling::Linear:
        return "linear";
    case RateScaling::Sqrt:
        return "sqrt";
    }
    return "";
}

const char* textOf(Implementation implementation) {
    switch (implementation) {
    case Implementation::Auto:
        return "AUTO";
    case Implementation::Ring:
        return "RING";
    case Implementation::Nccl:
        return "NCCL";
    }
    return "";
}

} // namespace lockstep::job
