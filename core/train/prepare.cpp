// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/train/prepare.h"

#include "core/base/hash.h"
#include "core/base/json_reader.h"
#include "core/data/inspect.h"

#include <iterator>

namespace lockstep::train {

namespace {

/// The model's JSON and where it stands; nothing (with a Problem) where its file cannot be read.
struct ModelSource {
    json::Value value;
    std::string path;
    std::string file;
};

std::optional<ModelSource> loadModel(const job::JobSpec& job, const std::string& folder,
                                     Problems& problems) {
    if (!job.model.isString())
        return ModelSource{job.model, "model", job.file};
    const std::string file = job::resolvePath(folder, job.model.toString());
    auto model = json::parseFile(file, json::Dialect::Keras);
    if (model)
        return ModelSource{std::move(*model), "", file};
    problems.push_back(job::problemAt(job, "model", describe(model.error()),
                                      "Keras' JSON of a model, or the path of a file with it",
                                      "Paths start at the job file's folder."));
    return std::nullopt;
}

void judge(Prepared& prepared, const std::string& folder) {
    data::Inspection inspection = data::inspect(prepared.job, folder);
    const bool hasData = inspection.train.dataset != nullptr;
    Problems& problems = prepared.problems;
    const auto model = loadModel(prepared.job, folder, problems);
    if (model) {
        prepared.model = model->value;
        const json::Reader reader(&model->value, model->path, model->file, &problems);
        prepared.graph =
            nn::readModel(reader, hasData ? std::optional(inspection.features) : std::nullopt);
    }
    if (prepared.graph) {
        const json::Reader root(&prepared.job.document, "", prepared.job.file, &problems);
        prepared.compile =
            nn::readCompile(root.at("compile"), *prepared.graph,
                            hasData ? std::optional(inspection.labels) : std::nullopt);
    }
    problems.insert(problems.end(), std::make_move_iterator(inspection.problems.begin()),
                    std::make_move_iterator(inspection.problems.end()));
    prepared.train = std::move(inspection.train);
    prepared.validation = std::move(inspection.validation);
    if (!prepared.compile || !hasData || prepared.compile->labels.classes == 0)
        return;
    for (const data::RowSet* rows : {&prepared.train, &prepared.validation})
        if (rows->dataset)
            if (auto problem = data::checkLabels(*rows, prepared.compile->labels.classes))
                problems.push_back(std::move(*problem));
}

} // namespace

Result<Prepared> prepare(const std::string& jobFile) {
    const auto document = json::parseFile(jobFile);
    if (!document)
        return document.error();
    Prepared prepared;
    prepared.job = job::parseJob(*document, jobFile, prepared.problems);
    if (prepared.job.kind == job::JobKind::Model && !hasErrors(prepared.problems))
        judge(prepared, job::folderOf(jobFile));
    return prepared;
}

std::string hashOf(const data::RowSet& train, const data::RowSet& validation) {
    Sha256Stream hash;
    for (const data::RowSet* rows : {&train, &validation}) {
        const std::int64_t count = rows->size();
        hash.add(std::as_bytes(std::span(&count, 1)));
        hash.add(std::as_bytes(std::span(rows->ids)));
        if (!rows->dataset)
            continue;
        hash.add(std::as_bytes(std::span(rows->dataset->featureValues)));
        hash.add(std::as_bytes(std::span(rows->dataset->labelValues)));
    }
    return toHex(hash.finish());
}

} // namespace lockstep::train
