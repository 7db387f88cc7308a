// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// What the checks of clusters and TF_CONFIG are told by their caller.

#include <functional>
#include <string>
#include <vector>

namespace lockstep::cluster {

/// The numeric addresses of a host name, empty where it is not known (yet). It is called in the
/// validating thread, so a caller that must not block answers from what it has looked up before.
using Resolve = std::function<std::vector<std::string>(const std::string& name)>;

/// What the cluster is for: ps and evaluator tasks have no place everywhere.
enum class Use {
    Mirrored, ///< any mirrored training: ps is refused, an evaluator is kept
    ModelJob, ///< training by our engine: an evaluator is refused as well
    Command,  ///< the user's own program: every task type is allowed
};

/// How many machines the tasks stand on, where the caller knows more than the addresses tell.
enum class Hosts { Unknown, One, Several };

enum class OwnTask { Required, Optional };

struct ValidateOptions {
    /// Without it addresses are compared as text, and a warning says so where that may matter.
    Resolve resolve;
    Use use = Use::Mirrored;
    Hosts hosts = Hosts::Unknown;        ///< for a TF_CONFIG; a cluster file knows by its `ssh`
    OwnTask ownTask = OwnTask::Required; ///< for a TF_CONFIG with a cluster
    std::string file;                    ///< written into every Problem
};

} // namespace lockstep::cluster
