// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// A page of the window: what the shell needs to know of it. GUI thread.

#include "ui/models/workspace.h"

#include <QWidget>

class QBoxLayout;

namespace lockstep::ui {

class Page : public QWidget {
    Q_OBJECT
public:
    using QWidget::QWidget;
    /// Moves to the place of a problem: a path in the page's document.
    virtual void reveal(const QString& path) { Q_UNUSED(path); }

Q_SIGNALS:
    /// Something was done that the user may want to take back or read about.
    void noticed(const QString& text, bool canUndo);

protected:
    /// Margins of a page's edge around a vertical layout.
    QBoxLayout* makeColumn();
};

} // namespace lockstep::ui
