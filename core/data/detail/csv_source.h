// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The rows of a CSV file as a Dataset.

#include "core/data/dataset.h"

namespace lockstep::data::detail {

std::shared_ptr<const Dataset> loadCsv(const job::JobSpec& job, const job::CsvSource& source,
                                       const std::string& path, const std::string& folder,
                                       Problems& problems);

} // namespace lockstep::data::detail
