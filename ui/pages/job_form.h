// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The job as a form: data, model, training, communication, or a program of the user's own. Every
// field knows its path in the document, shows what the document (or a default) says, and carries
// its problem.

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
    /// Several lines that stand for one value of the document.
    Field* lines(const QString& label, const std::string& path, std::function<QString(Job)> shown,
                 std::function<json::Value(const QString&)> read);
    Field* pushedFolder();
    void add(const std::string& path, Field* field);
    void set(const std::string& path, json::Value value);

    QWidget* makeData();
    QWidget* makeSource();
    QWidget* makeModel();
    QWidget* makeTraining();
    QWidget* makeBatch();
    QWidget* makeCommunication();
    QWidget* makeProgram();
    void chooseSource(int index);
    void browse();
    void setLearningRate(double rate);
    void refresh();
    void showLayers();

    Workspace* m_workspace;
    bool m_isRefreshing = false;
    QList<QWidget*> m_ofModel; ///< cards of a job that trains a model
    QWidget* m_program;        ///< card of one that starts a program
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
