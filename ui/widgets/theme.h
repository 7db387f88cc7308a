// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Colour and type of the whole window: the two sets of tokens, and the one function that dresses an
// application in one of them. What paints itself asks currentTokens(). GUI thread.

#include <QColor>
#include <QFont>
#include <QPalette>

#include <array>

class QApplication;
class QWidget;

namespace lockstep::ui {

enum class ThemeChoice { System, Light, Dark };

/// What a colour says; a state is told by a shape or a word as well.
enum class Tone { Neutral, Muted, Accent, Good, Warning, Error };

struct Tokens {
    bool dark = false;
    QColor window, surface, raised, line, text, muted;
    QColor accent, onAccent, accentTint;
    QColor good, warning, error, warningTint, errorTint;
    QColor input, compute, allReduce, update;
    std::array<QColor, 8> series;

    QColor tone(Tone tone) const;
    /// The n-th series colour, lightened or darkened until it reads on `surface`; wraps around.
    QColor seriesColor(int n) const;
};

const Tokens& lightTokens();
const Tokens& darkTokens();
/// The set that the application wears now; it is told by its palette. (A widget's own palette would
/// not do: style sheets change it.)
const Tokens& currentTokens();

/// Contrast of two opaque colours, 1 to 21. Source: WCAG 2.1, relative luminance.
double contrast(const QColor& a, const QColor& b);
/// `color` moved towards black or white until its contrast with `ground` is at least `ratio`.
QColor readable(QColor color, const QColor& ground, double ratio = 4.5);

/// Style, palette, font and style sheet of the application. May be called again at any time.
void applyTheme(QApplication& application, ThemeChoice choice);

/// Sets a property that the style sheet looks at (kind, tone, problem) and dresses the widget anew.
void setLook(QWidget* widget, const char* property, const QString& value);

/// The system's fixed font at the size of `base`.
QFont monospace(const QFont& base);
/// `base` at `scale` times its size, with the weight given and digits of one width.
QFont scaled(const QFont& base, double scale, QFont::Weight weight = QFont::Normal);

} // namespace lockstep::ui
