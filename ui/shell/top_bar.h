// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The top bar: both documents with their menus, what the run does, and the one primary action.

#include "ui/models/run_desk.h"

#include <QFrame>

class QMenu;
class QPushButton;

namespace lockstep::ui {

class ElidedLabel;
class ProblemsModel;
class StateDot;

class TopBar final : public QFrame {
    Q_OBJECT
public:
    explicit TopBar(RunDesk* desk, QWidget* parent = nullptr);
    void setRecent(Document document, const QStringList& paths);

Q_SIGNALS:
    void newWanted(lockstep::ui::Document document);
    void openWanted(lockstep::ui::Document document);
    void openPathWanted(lockstep::ui::Document document, const QString& path);
    void saveWanted(lockstep::ui::Document document);
    void saveAsWanted(lockstep::ui::Document document);
    /// The user chose a problem: its page should show the place.
    void problemChosen(lockstep::ui::Document document, const QString& path);

private:
    QPushButton* makeDocument(Document document);
    void fillMenu(Document document, QMenu* menu);
    void showProblems();
    void refresh();
    void showState();
    void showPrimary();

    RunDesk* m_desk;
    ProblemsModel* m_problems;
    QPushButton* m_cluster;
    QPushButton* m_job;
    StateDot* m_dot;
    ElidedLabel* m_text;
    QPushButton* m_problemButton;
    QPushButton* m_primary;
    QStringList m_recentClusters;
    QStringList m_recentJobs;
};

} // namespace lockstep::ui
