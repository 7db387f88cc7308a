// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/models/job_description.h"

#include "core/base/files.h"
#include "core/job/settings.h"
#include "ui/models/workspace.h"

#include <QDir>
#include <QFileInfo>
#include <QProcess>
#include <QTemporaryDir>
#include <QTimer>

namespace lockstep::ui {
namespace {

constexpr int kQuietMilliseconds = 350;
constexpr int kDeadlineMilliseconds = 30'000;

QString textOf(const json::Value& object, const char* key) {
    const json::Value* value = object.find(key);
    if (!value || value->isNull())
        return {};
    return QString::fromStdString(value->isString() ? value->toString() : json::dump(*value));
}

std::int64_t countOf(const json::Value* object, const char* key) {
    const json::Value* value = object ? object->find(key) : nullptr;
    return value && value->isNumber() ? static_cast<std::int64_t>(value->toNumber()) : 0;
}

/// [null, 64] as Keras prints it: (None, 64).
QString shapeOf(const json::Value& layer) {
    const json::Value* shape = layer.find("output_shape");
    if (!shape || !shape->isArray())
        return textOf(layer, "output_shape");
    QStringList parts;
    for (const json::Value& size : shape->items())
        parts.append(size.isNull() ? QStringLiteral("None")
                                   : QString::fromStdString(json::dump(size)));
    return QStringLiteral("(%1)").arg(parts.join(QStringLiteral(", ")));
}

Problem problemOf(const json::Value& value) {
    Problem problem;
    problem.severity = textOf(value, "severity") == QStringLiteral("warning") ? Severity::Warning
                                                                              : Severity::Error;
    problem.path = textOf(value, "path").toStdString();
    problem.line = static_cast<int>(countOf(&value, "line"));
    problem.message = textOf(value, "message").toStdString();
    problem.expected = textOf(value, "expected").toStdString();
    problem.hint = textOf(value, "hint").toStdString();
    problem.file = textOf(value, "file").toStdString();
    return problem;
}

} // namespace

JobDescription JobDescription::fromJson(const json::Value& value) {
    JobDescription description;
    description.isCurrent = true;
    if (const json::Value* problems = value.find("problems"); problems && problems->isArray())
        for (const json::Value& problem : problems->items())
            description.problems.push_back(problemOf(problem));
    if (const json::Value* model = value.find("model"); model && model->isObject()) {
        description.parameters = countOf(model, "parameters");
        description.trainable = countOf(model, "trainable");
        if (const json::Value* layers = model->find("layers"); layers && layers->isArray())
            for (const json::Value& layer : layers->items())
                description.layers.append({textOf(layer, "name"), textOf(layer, "class"),
                                           shapeOf(layer), countOf(&layer, "parameters")});
    }
    const json::Value* data = value.find("data");
    description.trainRows = countOf(data, "train_rows");
    description.validationRows = countOf(data, "validation_rows");
    description.features = countOf(data, "features");
    description.labels = countOf(data, "labels");
    if (const json::Value* memory = value.find("memory"); memory && memory->isObject()) {
        description.memoryBytes = countOf(memory, "total_bytes");
        if (description.memoryBytes == 0)
            for (const json::Member& part : memory->members())
                if (part.value.isNumber() && part.key.ends_with("_bytes"))
                    description.memoryBytes += static_cast<std::int64_t>(part.value.toNumber());
    }
    description.bytesPerAllReduce = countOf(&value, "bytes_per_all_reduce");
    return description;
}

Describer::Describer(Workspace* workspace, QString workerProgram, QObject* parent)
    : QObject(parent)
    , m_workspace(workspace)
    , m_program(std::move(workerProgram))
    , m_quiet(new QTimer(this))
    , m_deadline(new QTimer(this))
    , m_folder(std::make_unique<QTemporaryDir>()) {
    m_quiet->setSingleShot(true);
    m_quiet->setInterval(kQuietMilliseconds);
    m_deadline->setSingleShot(true);
    m_deadline->setInterval(kDeadlineMilliseconds);
    connect(m_quiet, &QTimer::timeout, this, &Describer::ask);
    connect(m_deadline, &QTimer::timeout, this, [this] {
        fail(tr("The worker program did not describe the job within %1 s.")
                 .arg(kDeadlineMilliseconds / 1000));
    });
    const auto later = [this] { m_quiet->start(); };
    connect(workspace, &Workspace::jobChanged, this, later);
    connect(workspace, &Workspace::clusterChanged, this, later);
    m_quiet->start();
}

Describer::~Describer() {
    if (m_process)
        m_process->disconnect(this);
    delete m_process; // kills it
}

void Describer::ask() {
    if (m_process) {
        m_process->disconnect(this);
        m_process->kill();
        m_process->deleteLater();
        m_process = nullptr;
    }
    if (!QFileInfo(m_program).isExecutable())
        return fail(tr("The worker program was not found at %1.").arg(m_program));
    // The job as it is on the screen, in a file of its own; its relative files stay findable.
    json::Value document = m_workspace->jobDocument();
    const std::string folder = job::folderOf(m_workspace->file(Document::Job).toStdString());
    for (const auto& reference : job::fileReferences(m_workspace->job())) {
        if (reference.isAbsolute())
            continue;
        const auto path = QDir::current().absoluteFilePath(
            QString::fromStdString(job::resolvePath(folder, reference.file)));
        if (!job::setValue(document, reference.path, path.toStdString()).ok())
            return;
    }
    const QString file = m_folder->filePath(QStringLiteral("described.job.json"));
    if (const auto written = files::writeAtomic(file.toStdString(), json::dumpPretty(document),
                                                files::Durability::Renamed);
        !written.ok())
        return fail(QString::fromStdString(describe(written.error())));
    m_process = new QProcess(this);
    connect(m_process, &QProcess::finished, this, &Describer::finish);
    connect(m_process, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error == QProcess::FailedToStart)
            fail(tr("The worker program could not be started: %1.").arg(m_process->errorString()));
    });
    m_process->start(m_program, {QStringLiteral("describe"), file, QStringLiteral("--workers"),
                                 QString::number(std::max(1, m_workspace->replicas()))});
    m_deadline->start();
}

void Describer::finish() {
    m_deadline->stop();
    const QByteArray bytes = m_process->readAllStandardOutput();
    const QByteArray errors = m_process->readAllStandardError().left(2000);
    m_process->deleteLater();
    m_process = nullptr;
    auto value = json::parse(
        std::string_view(bytes.constData(), static_cast<std::size_t>(bytes.size())), "describe");
    if (!value.ok())
        return fail(errors.isEmpty() ? tr("The worker program gave no description of the job.")
                                     : QString::fromUtf8(errors).trimmed());
    JobDescription description = JobDescription::fromJson(*value);
    // Lines count in the copy; in the document they are where its own values stand.
    for (Problem& problem : description.problems)
        problem.file = m_workspace->file(Document::Job).toStdString();
    m_workspace->setDescription(std::move(description));
}

void Describer::fail(const QString& reason) {
    m_deadline->stop();
    if (m_process) {
        m_process->disconnect(this);
        m_process->kill();
        m_process->deleteLater();
        m_process = nullptr;
    }
    JobDescription description;
    description.failure = reason;
    m_workspace->setDescription(std::move(description));
}

} // namespace lockstep::ui
