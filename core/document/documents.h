// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Cluster and job files, opened, edited and saved. A file with mistakes in it still opens, with its
// Problems, so that they can be shown and repaired; an Error is only what cannot be opened at all.
// Values, one thread at a time.

#include "core/base/json.h"
#include "core/base/problem.h"
#include "core/base/result.h"
#include "core/cluster/cluster_spec.h"
#include "core/job/job_spec.h"

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::document {

/// The file that a document came from, as it was when read or saved last.
struct Origin {
    std::string path; ///< empty: never saved
    std::string text; ///< its bytes
    json::Value document;
    int version = 1;                ///< that the file has
    std::vector<std::string> notes; ///< what a migration changed, for people
};

struct ClusterDocument {
    cluster::ClusterSpec spec;
    Problems problems; ///< at the time of loading; after edits use cluster::validate
    Origin origin;

    bool isModified() const { return spec.document() != origin.document; }
};

struct JobDocument {
    job::JobSpec spec; ///< read from spec.document
    Problems problems;
    Origin origin;

    bool isModified() const { return spec.document != origin.document; }
    /// Replaces the document and reads it again: spec and problems are new.
    void setDocument(const json::Value& document);
};

/// `options.file` is set to the path.
Result<ClusterDocument> loadCluster(const std::string& path, cluster::ValidateOptions options = {});
Result<JobDocument> loadJob(const std::string& path);

/// The same from bytes; `path` is only remembered and named.
Result<ClusterDocument> readCluster(std::string_view text, const std::string& path,
                                    cluster::ValidateOptions options = {});
Result<JobDocument> readJob(std::string_view text, const std::string& path);

/// New ones, never saved.
ClusterDocument newCluster(cluster::ClusterSpec spec);
JobDocument newJob(const std::string& name);

/// Writes the file whole or not at all and remembers it as the origin. What was not modified is
/// written back in the bytes that were read. A file that was migrated is first kept beside it as
/// "<path>.v<version>".
Status saveCluster(ClusterDocument& document, const std::string& path);
Status saveJob(JobDocument& document, const std::string& path);

} // namespace lockstep::document
