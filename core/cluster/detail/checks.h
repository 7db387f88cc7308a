// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The checks that a TF_CONFIG and a saved cluster share: of each address, and of all together.

#include "core/base/json.h"
#include "core/base/problem.h"
#include "core/cluster/address.h"
#include "core/cluster/task.h"
#include "core/cluster/validation.h"

#include <string>
#include <vector>

namespace lockstep::cluster::detail {

/// An address and its place in the document.
struct PlacedAddress {
    std::string path;
    int line = 0;
    std::string text;
};

enum class AllLoopback { Fine, Warn };

/// Problems of unreadable, loopback and duplicate addresses, in no promised order.
Problems addressProblems(const std::vector<PlacedAddress>& addresses, Hosts hosts,
                         AllLoopback allLoopback, const ValidateOptions& options);

/// Why a task of this type has no place in `use`; an empty message where it has one.
struct UseComplaint {
    std::string message;
    std::string hint;
};
UseComplaint useComplaint(TaskType type, Use use);

/// Sorts by where each problem's path stands in the document; what is missing comes after the
/// members that are there.
void sortByDocument(Problems& problems, const json::Value& document);

} // namespace lockstep::cluster::detail
