// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/document/documents.h"

#include "core/base/files.h"
#include "core/document/detail/origin.h"
#include "core/document/format.h"

namespace lockstep::document {

using detail::originOf;
using detail::save;

namespace {

constexpr std::size_t kLimit = 64u << 20;

} // namespace

void JobDocument::setDocument(const json::Value& document) {
    problems.clear();
    spec = job::parseJob(document, origin.path, problems);
}

Result<ClusterDocument> readCluster(std::string_view text, const std::string& path,
                                    cluster::ValidateOptions options) {
    auto opened = open(text, path, clusterFormat());
    if (!opened)
        return opened.error();
    auto origin = originOf(text, path, *opened, clusterFormat());
    if (!origin)
        return origin.error();
    options.file = path;
    ClusterDocument document{
        cluster::ClusterSpec(std::move(opened->document)), {}, std::move(*origin)};
    document.problems = cluster::validate(document.spec, options);
    return document;
}

Result<JobDocument> readJob(std::string_view text, const std::string& path) {
    auto opened = open(text, path, jobFormat());
    if (!opened)
        return opened.error();
    auto origin = originOf(text, path, *opened, jobFormat());
    if (!origin)
        return origin.error();
    JobDocument document{{}, {}, std::move(*origin)};
    document.setDocument(std::move(opened->document));
    return document;
}

Result<ClusterDocument> loadCluster(const std::string& path, cluster::ValidateOptions options) {
    const auto text = files::read(path, kLimit);
    if (!text)
        return text.error();
    return readCluster(*text, path, std::move(options));
}

Result<JobDocument> loadJob(const std::string& path) {
    const auto text = files::read(path, kLimit);
    if (!text)
        return text.error();
    return readJob(*text, path);
}

ClusterDocument newCluster(cluster::ClusterSpec spec) {
    Problems problems = cluster::validate(spec);
    return {std::move(spec), std::move(problems), {}};
}

JobDocument newJob(const std::string& name) {
    JobDocument document;
    document.setDocument(job::newJobDocument(name));
    return document;
}

Status saveCluster(ClusterDocument& document, const std::string& path) {
    json::Value value = document.spec.document();
    LOCKSTEP_TRY(save(document.origin, value, path, clusterFormat()));
    document.spec = cluster::ClusterSpec(std::move(value));
    return {};
}

Status saveJob(JobDocument& document, const std::string& path) {
    json::Value value = document.spec.document;
    LOCKSTEP_TRY(save(document.origin, value, path, jobFormat()));
    document.setDocument(std::move(value));
    return {};
}

} // namespace lockstep::document
