// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/data/dataset.h"

#include "core/base/json.h"
#include "core/base/philox.h"
#include "core/data/detail/csv_source.h"
#include "core/job/batching.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lockstep::data {

namespace {

/// The machine's memory in bytes, or 0 where it is not known.
double machineMemory() {
    const long pages = ::sysconf(_SC_PHYS_PAGES);
    const long size = ::sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? static_cast<double>(pages) * static_cast<double>(size) : 0;
}

std::string gibibytes(double bytes) {
    return std::to_string(static_cast<std::int64_t>(std::ceil(bytes / 0x1p30))) + " GiB";
}

std::shared_ptr<const Dataset> generate(const job::JobSpec& job,
                                        const job::RandomUniformSource& source,
                                        const std::string& path, Problems& problems) {
    const std::int64_t columns = source.features + source.labels;
    const double bytes = static_cast<double>(source.rows) * static_cast<double>(columns) * 4;
    const double memory = machineMemory();
    if (memory > 0 && bytes > memory) {
        problems.push_back(
            job::problemAt(job, path + ".rows",
                           "The rows would take " + gibibytes(bytes) +
                               " of memory; this machine has " + gibibytes(memory) + ".",
                           "data that fit in memory", "Take fewer rows or fewer features."));
        return nullptr;
    }
    auto set = std::make_shared<Dataset>();
    set->path = path;
    set->rows = source.rows;
    set->features = source.features;
    set->labels = source.labels;
    set->featureValues.reserve(static_cast<std::size_t>(source.rows * source.features));
    set->labelValues.reserve(static_cast<std::size_t>(source.rows * source.labels));
    std::vector<float> row(static_cast<std::size_t>(columns));
    for (std::int64_t i = 0; i < source.rows; ++i) {
        randomUniformRow(source.seed, i, row);
        const auto labels = row.begin() + source.features;
        set->featureValues.insert(set->featureValues.end(), row.begin(), labels);
        set->labelValues.insert(set->labelValues.end(), labels, row.end());
    }
    return set;
}

} // namespace

std::string Dataset::placeOf(std::int64_t row) const {
    if (file.empty())
        return "row " + std::to_string(row) + " of " + path;
    return file + ":" + std::to_string(lines[static_cast<std::size_t>(row)]);
}

RowSet allRows(std::shared_ptr<const Dataset> dataset) {
    RowSet set;
    set.ids.resize(static_cast<std::size_t>(dataset->rows));
    std::iota(set.ids.begin(), set.ids.end(), 0);
    set.dataset = std::move(dataset);
    return set;
}

Split splitValidation(const RowSet& rows, double fraction, std::uint64_t seed) {
    const auto wanted = static_cast<std::size_t>(job::validationRows(rows.size(), fraction));
    // The first `wanted` places of a shuffled row list; both parts keep the data set's order.
    std::vector<std::size_t> places(rows.ids.size());
    std::iota(places.begin(), places.end(), 0);
    PhiloxStream random(seed, RandomUse::ValidationSplit);
    std::vector<bool> taken(places.size(), false);
    for (std::size_t i = 0; i < wanted; ++i) {
        std::swap(places[i], places[i + random.nextBelow(places.size() - i)]);
        taken[places[i]] = true;
    }
    Split split{{rows.dataset, {}}, {rows.dataset, {}}};
    split.train.ids.reserve(places.size() - wanted);
    split.validation.ids.reserve(wanted);
    for (std::size_t i = 0; i < places.size(); ++i)
        (taken[i] ? split.validation : split.train).ids.push_back(rows.ids[i]);
    return split;
}

std::shared_ptr<const Dataset> load(const job::JobSpec& job, const job::Source& source,
                                    const std::string& path, const std::string& folder,
                                    Problems& problems) {
    if (const auto* csv = std::get_if<job::CsvSource>(&source))
        return detail::loadCsv(job, *csv, path, folder, problems);
    return generate(job, std::get<job::RandomUniformSource>(source), path, problems);
}

void randomUniformRow(std::uint64_t seed, std::int64_t row, std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); i += 4) {
        const PhiloxBlock block =
            philox(seed, {static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(row >> 32),
                          static_cast<std::uint32_t>(i / 4),
                          static_cast<std::uint32_t>(RandomUse::RandomSource)});
        for (std::size_t j = 0; j < 4 && i + j < out.size(); ++j)
            out[i + j] = static_cast<float>(block[j] >> 8) * 0x1.0p-24F;
    }
}

std::optional<Problem> checkLabels(const RowSet& rows, std::int64_t classes) {
    const Dataset& set = *rows.dataset;
    for (const std::int64_t id : rows.ids) {
        for (const float label : set.labelsOf(id)) {
            if (label >= 0 && label < static_cast<float>(classes) && label == std::floor(label))
                continue;
            Problem problem;
            std::string got = json::dump(json::Value(static_cast<double>(label)));
            if (got.ends_with(".0"))
                got.resize(got.size() - 2);
            problem.message = "The label " + got + " is no class of this model.";
            problem.expected = "a whole number from 0 to " + std::to_string(classes - 1);
            problem.hint = "Classes count from 0, and the model has " + std::to_string(classes) +
                           ": change its last layer, or the labels.";
            if (set.file.empty()) {
                problem.path = set.path;
                problem.message += " It is in row " + std::to_string(id) + ".";
            } else {
                problem.file = set.file;
                problem.line = static_cast<int>(set.lines[static_cast<std::size_t>(id)]);
                problem.column = static_cast<int>(set.labelColumn);
            }
            return problem;
        }
    }
    return std::nullopt;
}

} // namespace lockstep::data
