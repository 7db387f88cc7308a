// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The workers of the cluster as cards, with the inspector and the TF_CONFIG of the selected one.

#include "ui/models/ssh_access.h"
#include "ui/pages/page.h"

class QLabel;
class QLineEdit;
class QListView;
class QPushButton;
class QSpinBox;
class QStackedWidget;
class QToolButton;

namespace lockstep::ui {

class TfConfigCard;
class WorkerInspector;
class WorkersModel;
class ProblemLabel;

class ClusterPage final : public Page {
    Q_OBJECT
public:
    /// Without `access` hosts can be added, but not tested.
    explicit ClusterPage(Workspace* workspace, SshAccess access = {}, QWidget* parent = nullptr);
    void reveal(const QString& path) override;

private:
    QBoxLayout* makeToolbar();
    QWidget* makeList();
    QWidget* makeSide();
    void addWorker();
    void addHosts();
    void fillMore(QToolButton* button);
    void exportHosts();
    void showHost();
    void makeLocal(int count);
    void removeSelected();
    void moveSelected(int by);
    void moveWorker(int from, int to);
    void select(int row);
    int selectedRow() const;
    void refresh();

    Workspace* m_workspace;
    SshAccess m_access;
    WorkersModel* m_model;
    QLineEdit* m_name;
    QListView* m_list;
    QStackedWidget* m_stack;
    QSpinBox* m_count;
    QPushButton* m_local;
    QToolButton* m_remove;
    QToolButton* m_up;
    QToolButton* m_down;
    ProblemLabel* m_problem; ///< of the cluster as a whole
    WorkerInspector* m_inspector;
    TfConfigCard* m_config;
};

} // namespace lockstep::ui
