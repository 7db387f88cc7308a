// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// State as a shape and a colour, so that it is never told by colour alone. GUI thread.

#include "ui/models/run_words.h"
#include "ui/widgets/theme.h"

#include <QWidget>

namespace lockstep::ui {

enum class DotShape {
    Full,  ///< ● all well, or at work
    Half,  ///< ◐ on the way, or slow
    Ring,  ///< ○ idle, or not there
    Cross, ///< ✕ failed
};

/// Draws the shape centred in `box`, `diameter` wide.
void paintDot(QPainter& painter, const QRectF& box, DotShape shape, const QColor& color,
              qreal diameter = 9);

DotShape shapeOf(Mood mood);
Tone toneOf(Mood mood);

class StateDot final : public QWidget {
    Q_OBJECT
public:
    explicit StateDot(QWidget* parent = nullptr);
    /// `words` is what a screen reader says and the tooltip shows.
    void setState(DotShape shape, Tone tone, const QString& words);
    void setState(const Words& words);
    QSize sizeHint() const override { return {14, 14}; }
    QSize minimumSizeHint() const override { return sizeHint(); }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    DotShape m_shape = DotShape::Ring;
    Tone m_tone = Tone::Muted;
};

} // namespace lockstep::ui
