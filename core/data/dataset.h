// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Rows in memory, and views of some of them. Immutable once loaded, so any thread may read.

#include "core/base/problem.h"
#include "core/job/job_spec.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lockstep::data {

struct Dataset {
    std::int64_t rows = 0;
    std::int64_t features = 0; ///< columns of a row's features
    std::int64_t labels = 0;   ///< columns of a row's labels

    std::vector<float> featureValues; ///< [rows, features], row major
    std::vector<float> labelValues;   ///< [rows, labels]; classes are whole numbers here

    std::string path;                     ///< of the source in the job: "data.train"
    std::string file;                     ///< that it was read from; empty for a generated one
    std::vector<std::int64_t> lines;      ///< line of each row in `file`; empty for a generated one
    std::int64_t labelColumn = 0;         ///< 1-based, in `file`
    std::vector<std::string> columnNames; ///< features then labels; empty without a header
    std::uint64_t bytesRead = 0;          ///< of the file, after decompression

    std::span<const float> featuresOf(std::int64_t row) const {
        return {featureValues.data() + row * features, static_cast<std::size_t>(features)};
    }
    std::span<const float> labelsOf(std::int64_t row) const {
        return {labelValues.data() + row * labels, static_cast<std::size_t>(labels)};
    }
    /// Where a row came from, for messages: "digits.csv:17", or "row 17 of data.train".
    std::string placeOf(std::int64_t row) const;
};

/// Some rows of a data set, in the order of the data set. Every number of a row elsewhere ("row
/// id") is its place in the data set.
struct RowSet {
    std::shared_ptr<const Dataset> dataset;
    std::vector<std::int64_t> ids;
    std::int64_t size() const { return static_cast<std::int64_t>(ids.size()); }
};
RowSet allRows(std::shared_ptr<const Dataset> dataset);

struct Split {
    RowSet train;
    RowSet validation;
};
/// Draws job::validationRows() of the rows at random from `seed` alone: the same for any number of
/// workers, before shuffle and sharding.
Split splitValidation(const RowSet& rows, double fraction, std::uint64_t seed);

/// Reads or makes the rows of a source. Relative paths start at `folder`. Adds to `problems` and
/// gives nothing where the data cannot be used; the first five bad places are named by file, line
/// and column, and the rest counted. `path` is the source's place in `job`.
std::shared_ptr<const Dataset> load(const job::JobSpec& job, const job::Source& source,
                                    const std::string& path, const std::string& folder,
                                    Problems& problems);

/// One row of random_uniform alone: a function of seed and row. `out`: features then labels.
void randomUniformRow(std::uint64_t seed, std::int64_t row, std::span<float> out);

/// The first label that is no whole number from 0 to classes - 1, as a Problem that names its file,
/// line and column; nothing where all fit.
std::optional<Problem> checkLabels(const RowSet& rows, std::int64_t classes);

} // namespace lockstep::data
