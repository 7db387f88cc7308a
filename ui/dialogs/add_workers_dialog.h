// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Hosts become workers: typed one by one, ticked from ~/.ssh/config, or pasted as a list. What will
// be added stands in one table with its proposed addresses. GUI thread.

#include "core/cluster/host_list.h"
#include "ui/models/new_workers_model.h"
#include "ui/models/ssh_access.h"

#include <QDialog>

class QComboBox;
class QLineEdit;
class QListWidget;
class QPlainTextEdit;
class QPushButton;
class QStackedWidget;
class QTableView;

namespace lockstep::ui {

class ProblemLabel;
class Segments;

class AddWorkersDialog final : public QDialog {
    Q_OBJECT
public:
    enum class From { Typed, Config, List };
    AddWorkersDialog(const cluster::ClusterSpec& spec, SshAccess access, QWidget* parent = nullptr);

    /// From::Config only where the aliases can be read.
    void show(From from);
    std::vector<cluster::Worker> workers() const { return m_model->workers(); }

private:
    QWidget* makeTyped();
    QWidget* makeConfig();
    QWidget* makeList();
    QWidget* makePreview();
    void addTyped();
    void readList();
    void openFile();
    void add(NewWorkersModel::Source source, const QString& ssh,
             const ssh::Destination& destination);
    void refresh();

    SshAccess m_access;
    NewWorkersModel* m_model;
    QList<From> m_order; ///< of the segments
    Segments* m_sources;
    QStackedWidget* m_stack;
    QLineEdit* m_typed;
    ProblemLabel* m_typedProblem;
    QListWidget* m_aliases;
    QPlainTextEdit* m_text;
    QComboBox* m_number;
    ProblemLabel* m_listProblem;
    QTableView* m_table;
    ProblemLabel* m_problem;
    QPushButton* m_add;
};

} // namespace lockstep::ui
