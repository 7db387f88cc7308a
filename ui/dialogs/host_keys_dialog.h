// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Unknown host keys, all in one table. Nothing is ticked by itself; ticking all is offered once all
// rows have been on the screen. GUI thread.

#include "ui/models/host_keys_model.h"

#include <QDialog>

class QLabel;
class QPushButton;
class QTableView;

namespace lockstep::ui {

class HostKeysDialog final : public QDialog {
    Q_OBJECT
public:
    explicit HostKeysDialog(HostKeysModel* model, QWidget* parent = nullptr);

private:
    void refresh();
    void noteSeen();
    void showNotes();

    HostKeysModel* m_model;
    QTableView* m_table;
    QLabel* m_head;
    QLabel* m_notes;
    QLabel* m_file;
    QPushButton* m_tickAll;
    QPushButton* m_accept;
    int m_seen = 0; ///< rows from the top that have been on the screen
};

} // namespace lockstep::ui
