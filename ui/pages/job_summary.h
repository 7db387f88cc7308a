// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// What the job comes to on this cluster, computed as it is typed with the arithmetic that the
// engine uses.

#include "ui/models/workspace.h"
#include "ui/widgets/form.h"

class QGridLayout;

namespace lockstep::ui {

class JobSummary final : public QWidget {
    Q_OBJECT
public:
    explicit JobSummary(Workspace* workspace, QWidget* parent = nullptr);

private:
    class Curve;
    QLabel* row(const QString& name, const QString& help);
    void refresh();

    Workspace* m_workspace;
    Card* m_card;
    QWidget* m_numbers;
    QGridLayout* m_grid;
    QLabel* m_replicas;
    QLabel* m_perReplica;
    QLabel* m_globalBatch;
    QLabel* m_rows;
    QLabel* m_steps;
    QLabel* m_lastBatch;
    QLabel* m_rate;
    QLabel* m_scaled;
    QLabel* m_parameters;
    QLabel* m_memory;
    QLabel* m_allReduce;
    Curve* m_curve;
    QLabel* m_curveNote;
    QLabel* m_sharding;
};

} // namespace lockstep::ui
