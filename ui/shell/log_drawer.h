// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The merged log of the shown run: one line while closed, a list with a filter while open.

#include "ui/models/log_model.h"
#include "ui/models/run_desk.h"

#include <QFrame>

class QComboBox;
class QLineEdit;
class QListView;
class QPushButton;

namespace lockstep::ui {

class ElidedLabel;

class LogDrawer final : public QFrame {
    Q_OBJECT
public:
    explicit LogDrawer(RunDesk* desk, QWidget* parent = nullptr);
    bool isOpen() const { return m_isOpen; }
    void setOpen(bool open);
    void toggle() { setOpen(!m_isOpen); }
    void find(); ///< opens it with the keyboard in the filter
    LogModel* model() const { return m_model; }
    void refresh();

private:
    QWidget* makeTools();
    void showSession();
    void setFilter();
    void copySelected();

    RunDesk* m_desk;
    LogModel* m_model;
    QPushButton* m_title;
    ElidedLabel* m_line;
    QWidget* m_tools;
    QLineEdit* m_text;
    QComboBox* m_task;
    QComboBox* m_level;
    QListView* m_list;
    bool m_isOpen = false;
};

} // namespace lockstep::ui
