// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// A line at the foot of the window that says what was just done, with Undo where it can be undone;
// it leaves by itself.

#include <QFrame>

class QLabel;
class QPushButton;
class QTimer;
class QUndoStack;

namespace lockstep::ui {

class NoticeBar final : public QFrame {
    Q_OBJECT
public:
    explicit NoticeBar(QUndoStack* undo, QWidget* parent);
    void show(const QString& text, bool canUndo);

private:
    void place();
    QLabel* m_text;
    QPushButton* m_undo;
    QTimer* m_timer;
};

} // namespace lockstep::ui
