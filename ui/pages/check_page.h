// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The check before a launch in three bands: hosts with what differs, the matrix of pairs, and the
// findings with what to do. Live while it runs.

#include "ui/models/check_models.h"
#include "ui/pages/page.h"

class QLabel;
class QListView;
class QProgressBar;
class QPushButton;
class QStackedWidget;
class QTableView;

namespace lockstep::ui {

class Card;
class StateDot;

class CheckPage final : public Page {
    Q_OBJECT
public:
    CheckPage(Workspace* workspace, CheckSession* session, QWidget* parent = nullptr);

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    QBoxLayout* makeToolbar();
    QWidget* makeHosts();
    QWidget* makePairs();
    QWidget* makeFindings();
    void start(CheckSession::Bandwidth bandwidth);
    void push();
    void refresh();
    void fitMatrix();
    void showPair(const QModelIndex& index);

    Workspace* m_workspace;
    CheckSession* m_session;
    CheckHostsModel* m_hostsModel;
    CheckPairsModel* m_pairsModel;
    CheckFindingsModel* m_findingsModel;
    StateDot* m_dot;
    QLabel* m_words;
    QProgressBar* m_progress;
    QPushButton* m_run;
    QPushButton* m_bandwidth;
    QPushButton* m_push;
    QStackedWidget* m_stack;
    QTableView* m_hosts;
    QTableView* m_pairs;
    int m_headerPixels = 0;
    QLabel* m_pair; ///< the pair under the pointer or the cursor, in words
    QListView* m_findings;
    Card* m_verdict;
};

} // namespace lockstep::ui
