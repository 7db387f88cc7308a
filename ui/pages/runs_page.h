// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The history: a row for each run with its small curve, and what the selected one came to, with
// ways to open it, take its model and metrics along, or remove it.

#include "ui/models/run_desk.h"
#include "ui/pages/page.h"

class QGridLayout;
class QPushButton;
class QStackedWidget;
class QTableView;

namespace lockstep::ui {

class Card;
class ProblemLabel;
class RunsModel;

class RunsPage final : public Page {
    Q_OBJECT
public:
    explicit RunsPage(RunDesk* desk, QWidget* parent = nullptr);

Q_SIGNALS:
    /// The run is on its way to Monitor.
    void opened();

protected:
    void showEvent(QShowEvent* event) override;

private:
    QWidget* makeTable();
    QWidget* makeDetail();
    const RunEntry* selected() const;
    void refresh();
    void showDetail();
    void openSelected();
    void exportSelected(bool model);
    void removeSelected();

    RunDesk* m_desk;
    RunsModel* m_model;
    QStackedWidget* m_stack;
    QTableView* m_table;
    Card* m_detail;
    QGridLayout* m_values;
    ProblemLabel* m_failure;
    QPushButton* m_open;
    QPushButton* m_exportModel;
    QPushButton* m_exportMetrics;
    QPushButton* m_remove;
};

} // namespace lockstep::ui
