// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// What `lockstep-worker describe` says about a job, and the object that asks it in the background
// whenever the job has been quiet for a moment. GUI thread; the worker runs as a process.

#include "core/base/json.h"
#include "core/base/problem.h"

#include <QList>
#include <QObject>
#include <QString>

#include <cstdint>
#include <memory>
#include <optional>

class QProcess;
class QTemporaryDir;
class QTimer;

namespace lockstep::ui {

struct LayerRow {
    QString name;
    QString className;
    QString outputShape; ///< "(None, 64)"
    std::int64_t parameters = 0;
    bool operator==(const LayerRow&) const = default;
};

struct JobDescription {
    bool isCurrent = false; ///< of the job as it is now
    QList<LayerRow> layers;
    std::int64_t parameters = 0;
    std::int64_t trainable = 0;
    std::int64_t trainRows = 0; ///< 0 where unknown
    std::int64_t validationRows = 0;
    std::int64_t features = 0;
    std::int64_t labels = 0;
    std::int64_t memoryBytes = 0; ///< of one replica: parameters, gradients, slots, activations
    std::int64_t bytesPerAllReduce = 0;
    Problems problems;
    QString failure; ///< why there is no description, a full sentence

    /// From the object that describe prints; unknown fields are ignored.
    static JobDescription fromJson(const json::Value& value);
};

class Workspace;

/// Keeps workspace->description() up to date. Without a worker program it says so, once.
class Describer final : public QObject {
    Q_OBJECT
public:
    Describer(Workspace* workspace, QString workerProgram, QObject* parent = nullptr);
    ~Describer() override;

private:
    void ask();
    void finish();
    void fail(const QString& reason);

    Workspace* m_workspace;
    QString m_program;
    QTimer* m_quiet;
    QTimer* m_deadline;
    QProcess* m_process = nullptr;
    std::unique_ptr<QTemporaryDir> m_folder;
};

} // namespace lockstep::ui
