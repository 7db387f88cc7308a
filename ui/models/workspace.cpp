// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/models/workspace.h"

#include "core/base/json_reader.h"
#include "core/job/settings.h"

#include <QFileInfo>
#include <QHash>
#include <QUndoStack>

#include <algorithm>
#include <utility>

namespace lockstep::ui {
namespace {

constexpr int kFirstPort = 2222;
constexpr int kLocalWorkers = 2;

bool isInside(const std::string& path, const std::string& parent) {
    return path == parent ||
           (path.size() > parent.size() && path.starts_with(parent) && path[parent.size()] == '.');
}

} // namespace

/// Undo by whole documents: they are small, and nothing can be forgotten.
class Workspace::ClusterStep final : public QUndoCommand {
public:
    ClusterStep(Workspace* workspace, const QString& what, cluster::ClusterSpec after, QString key)
        : QUndoCommand(what)
        , m_workspace(workspace)
        , m_before(workspace->cluster())
        , m_after(std::move(after))
        , m_key(std::move(key)) {}
    void undo() override { m_workspace->applyCluster(m_before); }
    void redo() override { m_workspace->applyCluster(m_after); }
    int id() const override { return m_key.isEmpty() ? -1 : 1; }
    bool mergeWith(const QUndoCommand* other) override {
        const auto* step = static_cast<const ClusterStep*>(other);
        if (step->m_key != m_key)
            return false;
        m_after = step->m_after;
        return true;
    }

private:
    Workspace* m_workspace;
    cluster::ClusterSpec m_before;
    cluster::ClusterSpec m_after;
    QString m_key;
};

class Workspace::JobStep final : public QUndoCommand {
public:
    JobStep(Workspace* workspace, const QString& what, json::Value after, QString key)
        : QUndoCommand(what)
        , m_workspace(workspace)
        , m_before(workspace->jobDocument())
        , m_after(std::move(after))
        , m_key(std::move(key)) {}
    void undo() override { m_workspace->applyJob(m_before); }
    void redo() override { m_workspace->applyJob(m_after); }
    int id() const override { return m_key.isEmpty() ? -1 : 2; }
    bool mergeWith(const QUndoCommand* other) override {
        const auto* step = static_cast<const JobStep*>(other);
        if (step->m_key != m_key)
            return false;
        m_after = step->m_after;
        return true;
    }

private:
    Workspace* m_workspace;
    json::Value m_before;
    json::Value m_after;
    QString m_key;
};

Workspace::Workspace(QObject* parent)
    : QObject(parent)
    , m_undo(new QUndoStack(this)) {
    newDocument(Document::Cluster);
    newDocument(Document::Job);
}

Workspace::~Workspace() = default;

const document::Origin& Workspace::originOf(Document document) const {
    return document == Document::Cluster ? m_clusterDocument.origin : m_jobDocument.origin;
}

QString Workspace::file(Document document) const {
    return QString::fromStdString(originOf(document).path);
}

QString Workspace::title(Document document) const {
    if (const QString path = file(document); !path.isEmpty()) {
        QString name = QFileInfo(path).fileName();
        if (name.endsWith(QStringLiteral(".json")))
            name.chop(5);
        return name;
    }
    const std::string name = document == Document::Cluster ? cluster().name() : job().name;
    return name.empty() ? tr("Untitled") : QString::fromStdString(name);
}

bool Workspace::isModified(Document document) const {
    const bool isCluster = document == Document::Cluster;
    if (file(document).isEmpty())
        return isCluster ? cluster().document() != m_newCluster : jobDocument() != m_newJob;
    return isCluster ? m_clusterDocument.isModified() : m_jobDocument.isModified();
}

void Workspace::newDocument(Document document) {
    m_undo->clear();
    if (document == Document::Cluster) {
        auto spec = cluster::localCluster(kLocalWorkers, kFirstPort);
        spec.setName("local");
        m_clusterDocument = document::newCluster(std::move(spec));
        m_newCluster = cluster().document();
        clusterReplaced();
    } else {
        m_jobDocument = document::newJob("untitled");
        m_newJob = jobDocument();
        jobReplaced();
    }
}

Status Workspace::open(Document document, const QString& path) {
    if (document == Document::Cluster) {
        auto loaded = document::loadCluster(path.toStdString());
        if (!loaded.ok())
            return std::move(loaded).error();
        m_undo->clear();
        m_clusterDocument = std::move(loaded).value();
        clusterReplaced();
    } else {
        auto loaded = document::loadJob(path.toStdString());
        if (!loaded.ok())
            return std::move(loaded).error();
        m_undo->clear();
        m_jobDocument = std::move(loaded).value();
        jobReplaced();
    }
    return {};
}

Status Workspace::save(Document document, const QString& path) {
    if (document == Document::Cluster) {
        LOCKSTEP_TRY(document::saveCluster(m_clusterDocument, path.toStdString()));
        Q_EMIT filesChanged();
    } else {
        LOCKSTEP_TRY(document::saveJob(m_jobDocument, path.toStdString()));
        jobReplaced(); // relative files now start at the new folder
    }
    return {};
}

void Workspace::editCluster(const QString& what,
                            const std::function<void(cluster::ClusterSpec&)>& change,
                            const QString& mergeKey) {
    cluster::ClusterSpec changed = cluster();
    change(changed);
    if (!(changed == cluster()))
        m_undo->push(new ClusterStep(this, what, std::move(changed), mergeKey));
}

Status Workspace::editJob(const QString& what, const std::string& path, json::Value value) {
    json::Value changed = jobDocument();
    if (value.isNull()) {
        const auto dot = path.rfind('.');
        json::Value* parent = &changed;
        if (dot != std::string::npos)
            parent = const_cast<json::Value*>(json::findPath(changed, path.substr(0, dot)));
        if (!parent || !parent->remove(dot == std::string::npos ? path : path.substr(dot + 1)))
            return {};
    } else {
        LOCKSTEP_TRY(job::setValue(changed, path, std::move(value)));
    }
    if (!(changed == jobDocument()))
        m_undo->push(new JobStep(this, what, std::move(changed), QString::fromStdString(path)));
    return {};
}

Status Workspace::setJobText(const QString& text) {
    auto value = json::parse(text.toStdString(), "job");
    if (!value.ok())
        return std::move(value).error();
    if (!value->isObject())
        return Error{Code::InvalidArgument, "A job is a JSON object, which begins with {.", "job"};
    if (!(*value == jobDocument()))
        m_undo->push(
            new JobStep(this, tr("Edit JSON"), std::move(value).value(), QStringLiteral("json")));
    return {};
}

QString Workspace::jobText() const {
    return QString::fromStdString(json::dumpPretty(jobDocument()));
}

void Workspace::applyCluster(cluster::ClusterSpec cluster) {
    m_clusterDocument.spec = std::move(cluster);
    clusterReplaced();
}

void Workspace::clusterReplaced() {
    judge();
    Q_EMIT clusterChanged();
    Q_EMIT filesChanged();
}

void Workspace::applyJob(const json::Value& document) {
    m_jobDocument.setDocument(document);
    jobReplaced();
}

void Workspace::jobReplaced() {
    m_description.isCurrent = false;
    judge();
    Q_EMIT jobChanged();
    Q_EMIT filesChanged();
}

void Workspace::setDescription(JobDescription description) {
    m_description = std::move(description);
    judge();
    Q_EMIT descriptionChanged();
}

int Workspace::replicas() const {
    return static_cast<int>(cluster::rankTable(cluster()).size());
}

std::optional<std::int64_t> Workspace::trainRows() const {
    if (m_description.trainRows > 0)
        return m_description.trainRows;
    if (const auto* source = std::get_if<job::RandomUniformSource>(&job().data.train))
        return source->rows - job::validationRows(source->rows, job().data.validationFraction);
    return {};
}

job::BatchSummary Workspace::batching() const {
    return job::summarize(job(), trainRows().value_or(0), std::max(1, replicas()));
}

void Workspace::judge() {
    QList<PlacedProblem> found;
    const auto add = [&found](Document document, const Problems& problems) {
        for (const Problem& problem : problems) {
            const bool known = std::any_of(found.begin(), found.end(), [&](const auto& other) {
                return other.document == document && other.problem.path == problem.path &&
                       other.problem.message == problem.message;
            });
            if (!known)
                found.append({document, problem});
        }
    };
    cluster::ValidateOptions options;
    options.use =
        job().kind == job::JobKind::Model ? cluster::Use::ModelJob : cluster::Use::Command;
    options.file = m_clusterDocument.origin.path;
    add(Document::Cluster, cluster::validate(cluster(), options));
    add(Document::Job, m_jobDocument.problems);
    if (!hasErrors(m_jobDocument.problems)) {
        add(Document::Job, job::checkReplicas(job(), std::max(1, replicas())));
        if (m_description.isCurrent)
            add(Document::Job, m_description.problems);
    }
    if (std::exchange(m_problems, found) != m_problems)
        Q_EMIT problemsChanged();
}

const Problem* Workspace::problemAt(Document document, const std::string& path) const {
    const Problem* worst = nullptr;
    for (const PlacedProblem& placed : m_problems) {
        if (placed.document != document || !isInside(placed.problem.path, path))
            continue;
        if (!worst ||
            (worst->severity == Severity::Warning && placed.problem.severity == Severity::Error))
            worst = &placed.problem;
    }
    return worst;
}

const Problem* Workspace::problemExactlyAt(Document document, const std::string& path) const {
    for (const PlacedProblem& placed : m_problems)
        if (placed.document == document && placed.problem.path == path)
            return &placed.problem;
    return nullptr;
}

int Workspace::count(Document document, Severity severity) const {
    return static_cast<int>(
        std::count_if(m_problems.begin(), m_problems.end(), [&](const PlacedProblem& placed) {
            return placed.document == document && placed.problem.severity == severity;
        }));
}

bool Workspace::canLaunch() const {
    return cluster().size() > 0 && count(Document::Cluster, Severity::Error) == 0 &&
           count(Document::Job, Severity::Error) == 0;
}

} // namespace lockstep::ui
