// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/data/inspect.h"

#include "core/base/failure.h"
#include "core/data/epoch_order.h"

#include <new>
#include <stdexcept>

namespace lockstep::data {

namespace {

void loadValidation(const job::JobSpec& job, const std::string& folder, Inspection& found) {
    if (job.data.validation) {
        const std::string path = "data.validation";
        const auto set = load(job, *job.data.validation, path, folder, found.problems);
        if (!set)
            return;
        found.validation = allRows(set);
        if (!found.train.dataset)
            return;
        const auto compare = [&](const char* what, std::int64_t here, std::int64_t there) {
            if (here != there)
                found.problems.push_back(
                    job::problemAt(job, path,
                                   "The validation data have " + std::to_string(here) + " " + what +
                                       ", the training data " + std::to_string(there) + ".",
                                   "the same columns in both"));
        };
        compare("features", set->features, found.features);
        compare("labels", set->labels, found.labels);
        return;
    }
    if (job.data.validationFraction <= 0 || !found.train.dataset)
        return;
    const std::int64_t rows = found.train.size();
    Split split = splitValidation(found.train, job.data.validationFraction, job.seed);
    if (split.train.size() == 0) {
        found.problems.push_back(job::problemAt(job, "data.validation_fraction",
                                                "Of " + std::to_string(rows) +
                                                    " rows the fraction leaves none to train with.",
                                                "a smaller fraction, or more rows"));
        return;
    }
    found.train = std::move(split.train);
    found.validation = std::move(split.validation);
}

} // namespace

Inspection inspect(const job::JobSpec& job, const std::string& folder) {
    Inspection found;
    if (job.kind != job::JobKind::Model)
        return found;
    const auto refuse = [&](const std::string& message) {
        found.problems.push_back(job::problemAt(job, "data", message));
    };
    try {
        if (auto set = load(job, job.data.train, "data.train", folder, found.problems)) {
            found.features = set->features;
            found.labels = set->labels;
            found.train = allRows(std::move(set));
        }
        loadValidation(job, folder, found);
    } catch (const std::bad_alloc&) {
        refuse("The data need more memory than this machine gives.");
    } catch (const std::length_error&) {
        refuse("The data need more memory than this machine gives.");
    } catch (const Failure& failure) {
        refuse(failure.error().message);
    }
    return found;
}

std::vector<ShardPreview> previewShards(const job::JobSpec& job, const RowSet& train, int replicas,
                                        int epoch, std::size_t idLimit) {
    const job::EpochShape shape = job::trainShape(job, train.size(), replicas);
    const std::int64_t steps = job::stepsPerEpoch(shape);
    std::vector<ShardPreview> previews;
    for (int rank = 0; rank < replicas; ++rank) {
        ShardPreview preview;
        preview.rank = rank;
        preview.rowsRead = train.size();
        EpochOrder order(train.size(), job.data.shuffle, job.seed);
        order.start(epoch, shape.sharding == job::Sharding::Off ? rank : 0);
        std::int64_t place = 0;
        for (std::int64_t step = 0; step < steps; ++step) {
            const job::RowRange own = job::stepShare(shape, step, rank).inOrder;
            preview.rows += own.count;
            preview.steps += own.count > 0 ? 1 : 0;
            if (own.count == 0 || preview.ids.size() >= idLimit)
                continue;
            order.skip(own.begin - place);
            for (place = own.begin; place < own.end() && preview.ids.size() < idLimit; ++place)
                preview.ids.push_back(train.ids[static_cast<std::size_t>(order.next())]);
        }
        previews.push_back(std::move(preview));
    }
    return previews;
}

} // namespace lockstep::data
