// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The job as a form: data, model, training, communication. Every field knows its path in the
// document, shows what the document (or a default) says, and carries its problem.

#include "ui/models/workspace.h"
#include "ui/widgets/form.h"

#include <functional>
#include <optional>
#include <vector>

class QCheckBox;
class QComboBox;
class QStandardItemModel;
class QStackedWidget;
class QTableView;

namespace lockstep::ui {

class JobForm final : public QWidget {
    Q_OBJECT
public:
    explicit JobForm(Workspace* workspace, QWidget* parent = nullptr);
    /// Puts the keyboard into the field of `path`, or of the nearest path above it.
    void reveal(const QString& path);

Q_SIGNALS:
    /// The model's layers are edited as JSON.
    void jsonWanted();

private:
    using Job = const job::JobSpec&;
    Field* text(const QString& label, const std::string& path, std::function<QString(Job)> shown);
    Field* number(const QString& label, const std::string& path, NumberField::Kind kind, double min,
                  double max, double step, std::function<std::optional<double>(Job)> shown);
    Field* choice(const QString& label, const std::string& path, const QStringList& words,
                  std::function<QString(Job)> shown);
    QCheckBox* check(const QString& label, const std::string& path, std::function<bool(Job)> shown);
    void add(const std::string& path, Field* field);
    void set(const std::string& path, json::Value value);

    QWidget* makeData();
    QWidget* makeSource();
    QWidget* makeModel();
    QWidget* makeTraining();
    QWidget* makeBatch();
    QWidget* makeCommunication();
    void chooseSource(int index);
    void browse();
    void setLearningRate(double rate);
    void refresh();
    void showLayers();

    Workspace* m_workspace;
    std::vector<std::function<void(Job)>> m_refreshers;
    QList<std::pair<std::string, Field*>> m_fields;
    QStackedWidget* m_source;
    Segments* m_sourceChoice;
    Segments* m_batchChoice;
    NumberField* m_batch;
    QTableView* m_layers;
    QStandardItemModel* m_layerModel;
    QLabel* m_modelNote;
    ProblemLabel* m_modelProblem;
    QLabel* m_dataNote;
};

} // namespace lockstep::ui
