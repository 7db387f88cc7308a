// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/widgets/style_sheet.h"

#include <utility>

namespace lockstep::ui {
namespace {

const char* const kSheet = R"(
* { outline: none; }
QMainWindow, QDialog { background: @window; }
QToolTip { background: @surface; color: @text; border: 1px solid @line; padding: 4px 6px; }

QFrame[kind="card"] { background: @surface; border: 1px solid @line; border-radius: 6px; }
QFrame[kind="bar"] { background: @surface; border: none; border-bottom: 1px solid @line; }
QFrame[kind="rail"] { background: @surface; border: none; border-right: 1px solid @line; }
QFrame[kind="drawer"] { background: @surface; border: none; border-top: 1px solid @line; }
QFrame[kind="line"] { background: @line; border: none; }
QFrame[kind="notice"][tone="error"] { background: @errorTint; border: none; border-radius: 6px; }
QFrame[kind="notice"][tone="warning"] { background: @warningTint; border: none; border-radius: 6px; }
QFrame[kind="notice"][tone="accent"] { background: @accentTint; border: none; border-radius: 6px; }
QScrollArea, QScrollArea > QWidget > QWidget[kind="page"], QWidget[kind="page"] {
    background: transparent; border: none; }

QLabel { background: transparent; }
QLabel[kind="title"] { font-weight: 600; }
QLabel[kind="muted"], QLabel[kind="field"] { color: @muted; }
QLabel[kind="error"] { color: @error; }
QLabel[kind="warning"] { color: @warning; }

QPushButton, QToolButton { background: @surface; color: @text; border: 1px solid @border;
    border-radius: 6px; padding: 5px 12px; }
QToolButton { padding: 5px 8px; }
QPushButton:hover, QToolButton:hover { background: @raised; }
QPushButton:pressed, QToolButton:pressed { background: @line; }
QPushButton:focus, QToolButton:focus { border: 2px solid @accent; padding: 4px 11px; }
QToolButton:focus { padding: 4px 7px; }
QPushButton:disabled, QToolButton:disabled { color: @disabled; border-color: @line; }
QPushButton[kind="primary"] { background: @accent; color: @onAccent; border: 1px solid @accent;
    font-weight: 600; padding: 6px 18px; }
QPushButton[kind="primary"]:hover { background: @accentHover; border-color: @accentHover; }
QPushButton[kind="primary"]:focus { border: 2px solid @text; padding: 5px 17px; }
QPushButton[kind="primary"]:disabled { background: @raised; color: @muted; border-color: @line; }
QPushButton[kind="danger"] { color: @error; border: 1px solid @error; font-weight: 600;
    padding: 6px 18px; }
QPushButton[kind="danger"]:hover { background: @errorTint; }
QPushButton[kind="danger"]:focus { border: 2px solid @error; padding: 5px 17px; }
QPushButton[kind="quiet"], QToolButton[kind="quiet"] { background: transparent;
    border: 1px solid transparent; padding: 5px 8px; }
QToolButton[kind="quiet"] { padding: 4px; }
QPushButton[kind="quiet"]:hover, QToolButton[kind="quiet"]:hover { background: @raised; }
QPushButton[kind="quiet"]:focus { border: 2px solid @accent; padding: 4px 7px; }
QToolButton[kind="quiet"]:focus { border: 2px solid @accent; padding: 3px; }
QPushButton[kind="link"] { background: transparent; border: 1px solid transparent; color: @accent;
    padding: 0 6px; }
QPushButton[kind="link"]:hover { background: @raised; }
QPushButton[kind="link"]:focus { border: 1px solid @accent; padding: 0 6px; }
QPushButton[kind="document"] { background: transparent; border: 1px solid transparent;
    padding: 5px 8px; text-align: left; }
QPushButton[kind="document"]:hover { background: @raised; }
QPushButton[kind="document"]:focus { border: 2px solid @accent; padding: 4px 7px; }
QPushButton[kind="document"]::menu-indicator { width: 0; }
QPushButton::menu-indicator, QToolButton::menu-indicator { image: none; width: 0; }
QPushButton[kind="segment"] { border: 1px solid @border; border-radius: 0; padding: 5px 14px;
    color: @muted; }
QPushButton[kind="segment"][place="first"] { border-top-left-radius: 6px;
    border-bottom-left-radius: 6px; }
QPushButton[kind="segment"][place="last"] { border-top-right-radius: 6px;
    border-bottom-right-radius: 6px; border-left: none; }
QPushButton[kind="segment"]:checked { background: @accentTint; color: @accent; font-weight: 600; }
QPushButton[kind="segment"]:focus { border: 2px solid @accent; padding: 4px 13px; }

QLineEdit, QPlainTextEdit, QComboBox, QSpinBox { background: @field; color: @text;
    border: 1px solid @border; border-radius: 6px; padding: 4px 8px;
    selection-background-color: @accent; selection-color: @onAccent; }
QLineEdit:focus, QPlainTextEdit:focus, QComboBox:focus, QSpinBox:focus {
    border: 2px solid @accent; padding: 3px 7px; }
QLineEdit[problem="error"], QComboBox[problem="error"] { border-color: @error; }
QLineEdit[problem="warning"], QComboBox[problem="warning"] { border-color: @warning; }
QLineEdit:disabled, QComboBox:disabled, QSpinBox:disabled { color: @muted; background: @window; }
QLineEdit:read-only { background: @window; }
QPlainTextEdit[kind="code"] { background: @window; border: 1px solid @line; }
QComboBox::drop-down { border: none; width: 24px; }
QComboBox::down-arrow { image: url(:/icons/chevron-down-grey.svg); width: 12px; height: 12px; }
QComboBox QAbstractItemView { background: @surface; color: @text; border: 1px solid @line;
    selection-background-color: @accentTint; selection-color: @text; padding: 4px; }
QSpinBox::up-button, QSpinBox::down-button { border: none; width: 16px; background: transparent; }
QCheckBox { spacing: 8px; background: transparent; }
QCheckBox:focus { color: @accent; }
QCheckBox::indicator, QAbstractItemView::indicator { width: 15px; height: 15px; border: 1px solid @border; border-radius: 4px;
    background: @field; }
QCheckBox::indicator:checked, QAbstractItemView::indicator:checked { background: @accent; border-color: @accent; image: url(:/icons/@check.svg); }
QSpinBox::up-arrow { image: url(:/icons/chevron-up-grey.svg); width: 10px; height: 10px; }
QSpinBox::down-arrow { image: url(:/icons/chevron-down-grey.svg); width: 10px; height: 10px; }

QAbstractItemView { background: @surface; color: @text; border: none;
    selection-background-color: @accentTint; selection-color: @text; }
QTableView, QTreeView { gridline-color: transparent; }
QTableView[kind="framed"], QListView[kind="framed"] { border: 1px solid @line; border-radius: 6px; }
QTableView::item { border-bottom: 1px solid @line; padding: 0 8px; }
QTableView:focus, QListView[kind="framed"]:focus { border: 1px solid @accent; }
QHeaderView { background: transparent; border: none; }
QHeaderView::section { background: transparent; color: @muted; border: none;
    border-bottom: 1px solid @line; padding: 6px 8px; }
QTableCornerButton::section { background: transparent; border: none; }

QMenu { background: @surface; color: @text; border: 1px solid @line; padding: 4px; }
QMenu::item { padding: 6px 24px 6px 10px; border-radius: 4px; }
QMenu::item:selected { background: @accentTint; }
QMenu::item:disabled { color: @muted; }
QMenu::icon { padding-left: 8px; }
QMenu::separator { height: 1px; background: @line; margin: 4px 6px; }

QScrollBar:vertical { background: transparent; width: 10px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: 10px; margin: 0; }
QScrollBar::handle { background: @handle; border-radius: 3px; margin: 2px; }
QScrollBar::handle:vertical { min-height: 28px; }
QScrollBar::handle:horizontal { min-width: 28px; }
QScrollBar::handle:hover { background: @muted; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QAbstractScrollArea::corner { background: transparent; border: none; }
QSplitter::handle { background: @line; }
QSplitter::handle:horizontal { width: 1px; }
QSplitter::handle:vertical { height: 1px; }
QProgressBar { background: @raised; border: none; border-radius: 2px; max-height: 4px; }
QProgressBar::chunk { background: @accent; border-radius: 2px; }
)";

QColor mix(const QColor& a, const QColor& b, double share) {
    const auto part = [share](double x, double y) {
        return static_cast<float>(x + (y - x) * share);
    };
    return QColor::fromRgbF(part(a.redF(), b.redF()), part(a.greenF(), b.greenF()),
                            part(a.blueF(), b.blueF()));
}

} // namespace

QString styleSheet(const Tokens& t) {
    QString sheet = QString::fromLatin1(kSheet);
    sheet.replace(QLatin1String("@check"), QLatin1String(t.dark ? "check-dark" : "check-light"));
    // Longer names first, so that no name eats the beginning of another.
    const std::pair<const char*, QColor> colors[] = {
        {"@accentHover", mix(t.accent, t.dark ? QColor(Qt::white) : QColor(Qt::black), 0.14)},
        {"@accentTint", t.accentTint},
        {"@onAccent", t.onAccent},
        {"@accent", t.accent},
        {"@warningTint", t.warningTint},
        {"@errorTint", t.errorTint},
        {"@warning", t.warning},
        {"@error", t.error},
        {"@border", mix(t.line, t.muted, 0.28)},
        {"@handle", mix(t.line, t.muted, 0.35)},
        {"@disabled", mix(t.muted, t.surface, 0.3)},
        {"@field", t.dark ? t.window : t.surface},
        {"@window", t.window},
        {"@surface", t.surface},
        {"@raised", t.raised},
        {"@line", t.line},
        {"@text", t.text},
        {"@muted", t.muted},
    };
    for (const auto& [name, color] : colors)
        sheet.replace(QLatin1String(name), color.name());
    return sheet;
}

} // namespace lockstep::ui
