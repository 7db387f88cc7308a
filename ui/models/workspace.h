// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The two documents of the window, cluster and job, with everything that follows from them: what is
// wrong with them, what the job comes to on this cluster, undo. The one place that changes them.
// GUI thread.

#include "core/base/problem.h"
#include "core/cluster/cluster_spec.h"
#include "core/document/documents.h"
#include "core/job/batching.h"
#include "core/job/job_spec.h"
#include "ui/models/job_description.h"

#include <QObject>
#include <QString>

#include <functional>
#include <optional>

class QUndoStack;

namespace lockstep::ui {

enum class Document { Cluster, Job };

struct PlacedProblem {
    Document document = Document::Cluster;
    Problem problem;
    bool operator==(const PlacedProblem&) const = default;
};

class Workspace final : public QObject {
    Q_OBJECT
public:
    explicit Workspace(QObject* parent = nullptr);
    ~Workspace() override;

    const cluster::ClusterSpec& cluster() const { return m_clusterDocument.spec; }
    const job::JobSpec& job() const { return m_jobDocument.spec; }
    const json::Value& jobDocument() const { return m_jobDocument.spec.document; }

    /// Path on disk; empty for one that was never saved.
    QString file(Document document) const;
    /// What people call it: the file's name, else the document's.
    QString title(Document document) const;
    bool isModified(Document document) const;

    void newDocument(Document document);
    Status open(Document document, const QString& path);
    Status save(Document document, const QString& path);

    /// Applies `change` as one step of undo called `what`. Steps in a row with the same `mergeKey`
    /// become one, so that typing is undone at once.
    void editCluster(const QString& what, const std::function<void(cluster::ClusterSpec&)>& change,
                     const QString& mergeKey = {});
    /// Sets one value of the job document by its path; a null removes it.
    Status editJob(const QString& what, const std::string& path, json::Value value);
    /// The whole job document as text; an Error with line where it is no JSON object.
    Status setJobText(const QString& text);
    QString jobText() const;
    QUndoStack* undoStack() const { return m_undo; }

    /// Training tasks: what the job's arithmetic calls replicas. 0 for an empty cluster.
    int replicas() const;
    /// Rows that an epoch trains on, where known without reading a file or from the description.
    std::optional<std::int64_t> trainRows() const;
    job::BatchSummary batching() const;

    const QList<PlacedProblem>& problems() const { return m_problems; }
    /// The worst problem at `path` or inside it; nullptr where there is none.
    const Problem* problemAt(Document document, const std::string& path) const;
    /// The same, only at `path` itself.
    const Problem* problemExactlyAt(Document document, const std::string& path) const;
    int count(Document document, Severity severity) const;
    bool canLaunch() const;

    /// What the worker program said about the job; problems of it join problems().
    const JobDescription& description() const { return m_description; }
    void setDescription(JobDescription description);

Q_SIGNALS:
    void clusterChanged();
    void jobChanged();
    void descriptionChanged();
    void problemsChanged();
    void filesChanged(); ///< names, paths, or whether they are modified

private:
    class ClusterStep;
    class JobStep;
    void applyCluster(cluster::ClusterSpec cluster);
    void applyJob(const json::Value& document);
    void clusterReplaced();
    void jobReplaced();
    void judge();
    const document::Origin& originOf(Document document) const;

    document::ClusterDocument m_clusterDocument;
    document::JobDocument m_jobDocument;
    json::Value m_newCluster; ///< as a new one begins, to tell an untouched one
    json::Value m_newJob;
    JobDescription m_description;
    QList<PlacedProblem> m_problems;
    QUndoStack* m_undo;
};

} // namespace lockstep::ui
