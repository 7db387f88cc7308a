// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/shell/rail.h"

#include "ui/models/format.h"
#include "ui/widgets/form.h"
#include "ui/widgets/icons.h"

#include <QAbstractButton>
#include <QButtonGroup>
#include <QPainter>
#include <QToolButton>
#include <QVBoxLayout>

namespace lockstep::ui {
namespace {

constexpr int kWidth = 84;
constexpr int kEntryHeight = 62;

class Entry final : public QAbstractButton {
public:
    Entry(const char* iconName, const QString& word)
        : m_icon(iconName) {
        setText(word);
        setCheckable(true);
        setFocusPolicy(Qt::StrongFocus);
        setCursor(Qt::ArrowCursor);
        setAttribute(Qt::WA_Hover);
        setFixedSize(kWidth - 12, kEntryHeight);
    }
    void setBadge(int errors, int warnings) {
        m_errors = errors;
        m_warnings = warnings;
        setAccessibleDescription(errors > 0 ? countWords(errors, tr("1 problem"), tr("%1 problems"))
                                 : warnings > 0
                                     ? countWords(warnings, tr("1 warning"), tr("%1 warnings"))
                                     : QString());
        update();
    }

protected:
    void paintEvent(QPaintEvent*) override {
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        const Tokens& t = currentTokens();
        const QRectF box = QRectF(rect()).adjusted(1, 1, -1, -1);
        if (isChecked() || underMouse()) {
            painter.setPen(Qt::NoPen);
            painter.setBrush(isChecked() ? t.accentTint : t.raised);
            painter.drawRoundedRect(box, 6, 6);
        }
        if (hasFocus()) {
            painter.setPen(QPen(t.accent, 2));
            painter.setBrush(Qt::NoBrush);
            painter.drawRoundedRect(box, 6, 6);
        }
        const QColor ink = isChecked() ? t.accent : t.muted;
        drawIcon(painter, QRectF(width() / 2.0 - 11, 9, 22, 22), m_icon, ink);
        painter.setFont(scaled(font(), 0.92, isChecked() ? QFont::DemiBold : QFont::Normal));
        painter.setPen(isChecked() ? t.accent : t.text);
        painter.drawText(QRectF(0, 34, width(), 20), Qt::AlignCenter, text());
        if (m_errors + m_warnings > 0)
            paintBadge(painter, t);
    }

private:
    void paintBadge(QPainter& painter, const Tokens& t) const {
        const QString number = QString::number(m_errors > 0 ? m_errors : m_warnings);
        painter.setFont(scaled(font(), 0.78, QFont::DemiBold));
        const qreal wide =
            std::max(16.0, QFontMetricsF(painter.font()).horizontalAdvance(number) + 8);
        const QRectF badge(width() / 2.0 + 7, 4, wide, 16);
        painter.setPen(Qt::NoPen);
        painter.setBrush(m_errors > 0 ? t.error : t.warning);
        painter.drawRoundedRect(badge, 8, 8);
        painter.setPen(t.dark ? t.window : t.surface);
        painter.drawText(badge, Qt::AlignCenter, number);
    }

    const char* m_icon;
    int m_errors = 0;
    int m_warnings = 0;
};

} // namespace

Rail::Rail(QWidget* parent)
    : QFrame(parent)
    , m_group(new QButtonGroup(this)) {
    setProperty("kind", QStringLiteral("rail"));
    setFixedWidth(kWidth);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(6, 10, 6, 8);
    column->setSpacing(4);
    m_column = column;
    column->addStretch(1);
    auto* theme = makeIconButton("theme", tr("Light or dark (Ctrl+T)"));
    theme->setShortcut(QKeySequence(QStringLiteral("Ctrl+T")));
    connect(theme, &QToolButton::clicked, this, &Rail::themeWanted);
    column->addWidget(theme, 0, Qt::AlignHCenter);
    connect(m_group, &QButtonGroup::idClicked, this, &Rail::chosen);
}

void Rail::add(const char* iconName, const QString& word) {
    const int index = static_cast<int>(m_group->buttons().size());
    auto* entry = new Entry(iconName, word);
    const QString keys = QStringLiteral("Ctrl+%1").arg(index + 1);
    entry->setShortcut(QKeySequence(keys));
    entry->setToolTip(QStringLiteral("%1 (%2)").arg(word, keys));
    entry->setAccessibleName(word);
    m_group->addButton(entry, index);
    m_column->insertWidget(index, entry, 0, Qt::AlignHCenter);
}

void Rail::setCurrent(int index) {
    m_group->button(index)->setChecked(true);
}

void Rail::setBadge(int index, int errors, int warnings) {
    static_cast<Entry*>(m_group->button(index))->setBadge(errors, warnings);
}

} // namespace lockstep::ui
