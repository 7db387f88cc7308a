// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The icon set of resources/icons, drawn in a colour of the current theme whenever it is painted,
// so that icons follow a change of theme by themselves. GUI thread.

#include "ui/widgets/theme.h"

#include <QIcon>
#include <QWidget>

class QAbstractButton;
class QPainter;

namespace lockstep::ui {

/// Which colour an icon takes; on a disabled control it is muted.
enum class Ink { Text, Muted, Accent, OnAccent, Good, Warning, Error };

/// `name` without folder and ending, as in resources/icons. An unknown name is asserted.
QIcon icon(const char* name, Ink ink = Ink::Text);

/// The icon of a button with text, with a gap between the two.
void setIconBeside(QAbstractButton* button, const char* name, Ink ink = Ink::Text);

QColor colorOf(Ink ink);

/// An icon alone, which follows the theme as a pixmap in a label would not.
class IconView final : public QWidget {
    Q_OBJECT
public:
    IconView(const char* name, Ink ink, int side, QWidget* parent = nullptr);

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    const char* m_name;
    Ink m_ink;
};

/// Draws the icon into `box` in `color`.
void drawIcon(QPainter& painter, const QRectF& box, const char* name, const QColor& color);

} // namespace lockstep::ui
