// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The workers of a run as chips that break like words: dot, task, state.

#include "ui/models/run_workers_model.h"

#include <QWidget>

namespace lockstep::ui {

class FlowLayout;

class WorkerStrip final : public QWidget {
    Q_OBJECT
public:
    explicit WorkerStrip(RunWorkersModel* model, QWidget* parent = nullptr);

private:
    void rebuild();
    void update(int first, int last);
    RunWorkersModel* m_model;
    FlowLayout* m_flow;
};

} // namespace lockstep::ui
