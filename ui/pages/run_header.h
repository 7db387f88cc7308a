// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// A run at a glance: its state in a line, why it failed, and the headline numbers. Pulled by
// refresh().

#include "ui/models/run_session.h"
#include "ui/widgets/form.h"

#include <QList>

#include <utility>

namespace lockstep::ui {

class FlowLayout;
class StateDot;

class RunHeader final : public QWidget {
    Q_OBJECT
public:
    explicit RunHeader(QWidget* parent = nullptr);
    void setSession(const RunSession* session);
    void refresh();

private:
    void clearFigures();
    void showFailure();
    void showFigures();

    const RunSession* m_session = nullptr;
    StateDot* m_dot;
    QLabel* m_state;
    ElidedLabel* m_progress;
    QFrame* m_notice;
    ProblemLabel* m_failure;
    FlowLayout* m_row;
    QList<std::pair<QString, Figure*>> m_figures; ///< by name, in the order of the row
};

} // namespace lockstep::ui
