// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/widgets/theme.h"

#include "ui/widgets/style_sheet.h"

#include <QApplication>
#include <QFontDatabase>
#include <QStyle>
#include <QStyleFactory>
#include <QWidget>

#include <cmath>

namespace lockstep::ui {
namespace {

constexpr int kFontPixels = 13; ///< where the system sets no size

QColor hex(const char* text) {
    return QColor(QLatin1String(text));
}

std::array<QColor, 8> seriesBase() {
    return {hex("#0072B2"), hex("#D55E00"), hex("#009E73"), hex("#CC79A7"),
            hex("#56B4E9"), hex("#B8860B"), hex("#C6252D"), hex("#6B7280")};
}

Tokens makeTokens(bool dark) {
    Tokens t;
    t.dark = dark;
    t.window = hex(dark ? "#15181B" : "#F6F7F9");
    t.surface = hex(dark ? "#1D2125" : "#FFFFFF");
    t.raised = hex(dark ? "#262B30" : "#EEF1F4");
    t.line = hex(dark ? "#30363C" : "#E1E5EA");
    t.text = hex(dark ? "#E7EBEF" : "#1A1E23");
    t.muted = hex(dark ? "#9AA5B0" : "#59636E");
    t.accent = hex(dark ? "#74A9FF" : "#1F5FD6");
    t.onAccent = hex(dark ? "#0B1626" : "#FFFFFF");
    t.accentTint = hex(dark ? "#22304A" : "#E6EEFC");
    t.good = hex(dark ? "#4AC26B" : "#1A7F37");
    t.warning = hex(dark ? "#D4A72C" : "#9A6700");
    t.error = hex(dark ? "#FF7B72" : "#C6252D");
    t.warningTint = hex(dark ? "#352D17" : "#FEF9EB");
    t.errorTint = hex(dark ? "#3A2224" : "#FCEBEC");
    t.input = hex(dark ? "#E8A33D" : "#C77700");
    t.compute = hex(dark ? "#62B0F0" : "#1F6FB2");
    t.allReduce = hex(dark ? "#C39BF0" : "#8A4BC2");
    t.update = hex(dark ? "#66C9A8" : "#2E8B6F");
    t.series = seriesBase();
    for (QColor& color : t.series)
        color = readable(color, t.surface, 4.5);
    return t;
}

double channel(double value) {
    return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
}

double luminance(const QColor& color) {
    return 0.2126 * channel(color.redF()) + 0.7152 * channel(color.greenF()) +
           0.0722 * channel(color.blueF());
}

QPalette paletteOf(const Tokens& t) {
    QPalette p;
    p.setColor(QPalette::Window, t.window);
    p.setColor(QPalette::WindowText, t.text);
    p.setColor(QPalette::Base, t.surface);
    p.setColor(QPalette::AlternateBase, t.window);
    p.setColor(QPalette::Text, t.text);
    p.setColor(QPalette::PlaceholderText, t.muted);
    p.setColor(QPalette::Button, t.surface);
    p.setColor(QPalette::ButtonText, t.text);
    p.setColor(QPalette::BrightText, t.onAccent);
    p.setColor(QPalette::Highlight, t.accent);
    p.setColor(QPalette::HighlightedText, t.onAccent);
    p.setColor(QPalette::ToolTipBase, t.surface);
    p.setColor(QPalette::ToolTipText, t.text);
    p.setColor(QPalette::Link, t.accent);
    p.setColor(QPalette::LinkVisited, t.accent);
    p.setColor(QPalette::Light, t.surface);
    p.setColor(QPalette::Midlight, t.raised);
    p.setColor(QPalette::Mid, t.line);
    p.setColor(QPalette::Dark, t.line);
    p.setColor(QPalette::Shadow, t.dark ? QColor(Qt::black) : t.line);
    for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
        p.setColor(QPalette::Disabled, role, t.muted);
    return p;
}

/// The style's own palette follows the desktop's dark mode only where Qt does; its lightness says.
bool systemIsDark(const QApplication& application) {
    static const bool dark = application.palette().color(QPalette::Window).lightness() < 128;
    return dark;
}

} // namespace

QColor Tokens::tone(Tone tone) const {
    switch (tone) {
    case Tone::Neutral:
        return text;
    case Tone::Muted:
        return muted;
    case Tone::Accent:
        return accent;
    case Tone::Good:
        return good;
    case Tone::Warning:
        return warning;
    case Tone::Error:
        return error;
    }
    return text;
}

QColor Tokens::seriesColor(int n) const {
    return series[static_cast<std::size_t>(std::max(n, 0)) % series.size()];
}

const Tokens& lightTokens() {
    static const Tokens tokens = makeTokens(false);
    return tokens;
}

const Tokens& darkTokens() {
    static const Tokens tokens = makeTokens(true);
    return tokens;
}

const Tokens& currentTokens() {
    return QApplication::palette().color(QPalette::Window).lightness() < 128 ? darkTokens()
                                                                             : lightTokens();
}

double contrast(const QColor& a, const QColor& b) {
    const double la = luminance(a);
    const double lb = luminance(b);
    return (std::max(la, lb) + 0.05) / (std::min(la, lb) + 0.05);
}

QColor readable(QColor color, const QColor& ground, double ratio) {
    const double towards = luminance(ground) < 0.18 ? 1.0 : 0.0;
    for (int i = 0; i < 40 && contrast(color, ground) < ratio; ++i) {
        const auto mix = [&](double c) { return c + (towards - c) * 0.06; };
        color = QColor::fromRgbF(static_cast<float>(mix(color.redF())),
                                 static_cast<float>(mix(color.greenF())),
                                 static_cast<float>(mix(color.blueF())));
    }
    return color;
}

void applyTheme(QApplication& application, ThemeChoice choice) {
    const bool system = systemIsDark(application);
    const bool dark = choice == ThemeChoice::System ? system : choice == ThemeChoice::Dark;
    const Tokens& tokens = dark ? darkTokens() : lightTokens();
    if (!application.style() || application.style()->name() != QLatin1String("fusion"))
        QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
    QFont font = QFontDatabase::systemFont(QFontDatabase::GeneralFont);
    if (font.pointSizeF() <= 0 && font.pixelSize() <= 0)
        font.setPixelSize(kFontPixels);
    // A desktop without settings gives 9 pt, which is 12 px at 96 dpi.
    if (qEnvironmentVariableIsEmpty("XDG_CURRENT_DESKTOP"))
        font.setPixelSize(kFontPixels);
    QApplication::setFont(font);
    QApplication::setPalette(paletteOf(tokens));
    application.setStyleSheet(styleSheet(tokens));
}

void setLook(QWidget* widget, const char* property, const QString& value) {
    if (widget->property(property).toString() == value)
        return;
    widget->setProperty(property, value);
    widget->style()->unpolish(widget);
    widget->style()->polish(widget);
}

QFont monospace(const QFont& base) {
    QFont font = QFontDatabase::systemFont(QFontDatabase::FixedFont);
    if (base.pixelSize() > 0)
        font.setPixelSize(base.pixelSize());
    else
        font.setPointSizeF(base.pointSizeF());
    font.setStyleHint(QFont::Monospace);
    return font;
}

QFont scaled(const QFont& base, double scale, QFont::Weight weight) {
    QFont font = base;
    if (base.pixelSize() > 0)
        font.setPixelSize(static_cast<int>(std::lround(base.pixelSize() * scale)));
    else
        font.setPointSizeF(base.pointSizeF() * scale);
    font.setWeight(weight);
    return font;
}

} // namespace lockstep::ui
