// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// What is shown while a run starts: the stages, each worker with what it does, who is missing and
// how long the others still wait. Pulled by refresh().

#include "ui/models/run_workers_model.h"
#include "ui/widgets/form.h"

#include <QListView>

class QProgressBar;

namespace lockstep::ui {

class JoinBoard final : public QWidget {
    Q_OBJECT
public:
    explicit JoinBoard(RunWorkersModel* model, QWidget* parent = nullptr);
    void setSession(const RunSession* session) { m_session = session; }
    void refresh(double nowUtcSeconds);

private:
    class Stages;
    RunWorkersModel* m_model;
    const RunSession* m_session = nullptr;
    Stages* m_stages;
    QListView* m_list;
    QLabel* m_missing;
    QProgressBar* m_deadline;
    double m_longest = 0; ///< the deadline as it was first seen
};

} // namespace lockstep::ui
