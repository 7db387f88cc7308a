// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/widgets/state_dot.h"

#include <QPainter>

namespace lockstep::ui {

void paintDot(QPainter& painter, const QRectF& box, DotShape shape, const QColor& color,
              qreal diameter) {
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    const QPointF c = box.center();
    const qreal r = diameter / 2;
    const QRectF disc(c.x() - r, c.y() - r, diameter, diameter);
    const QRectF rim = disc.adjusted(0.75, 0.75, -0.75, -0.75);
    painter.setPen(Qt::NoPen);
    painter.setBrush(color);
    switch (shape) {
    case DotShape::Full:
        painter.drawEllipse(disc);
        break;
    case DotShape::Half:
        painter.drawPie(rim, 90 * 16, 180 * 16);
        [[fallthrough]];
    case DotShape::Ring:
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(color, 1.5));
        painter.drawEllipse(rim);
        break;
    case DotShape::Cross:
        painter.setPen(QPen(color, 2, Qt::SolidLine, Qt::RoundCap));
        painter.drawLine(rim.topLeft(), rim.bottomRight());
        painter.drawLine(rim.topRight(), rim.bottomLeft());
        break;
    }
    painter.restore();
}

DotShape shapeOf(Mood mood) {
    switch (mood) {
    case Mood::Idle:
        return DotShape::Ring;
    case Mood::Busy:
    case Mood::Slow:
        return DotShape::Half;
    case Mood::Good:
        return DotShape::Full;
    case Mood::Bad:
        return DotShape::Cross;
    }
    return DotShape::Ring;
}

Tone toneOf(Mood mood) {
    switch (mood) {
    case Mood::Idle:
        return Tone::Muted;
    case Mood::Busy:
        return Tone::Accent;
    case Mood::Good:
        return Tone::Good;
    case Mood::Slow:
        return Tone::Warning;
    case Mood::Bad:
        return Tone::Error;
    }
    return Tone::Muted;
}

StateDot::StateDot(QWidget* parent)
    : QWidget(parent) {
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
}

void StateDot::setState(DotShape shape, Tone tone, const QString& words) {
    m_shape = shape;
    m_tone = tone;
    setToolTip(words);
    setAccessibleName(words);
    update();
}

void StateDot::setState(const Words& words) {
    setState(shapeOf(words.mood), toneOf(words.mood), words.text);
}

void StateDot::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    paintDot(painter, rect(), m_shape, currentTokens().tone(m_tone));
}

} // namespace lockstep::ui
