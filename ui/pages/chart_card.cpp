// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/pages/chart_card.h"

#include "ui/widgets/icons.h"

#include <QHBoxLayout>
#include <QToolButton>
#include <QVBoxLayout>

namespace lockstep::ui {

ChartCard::ChartCard(const QString& title, const QString& unit, LineChart* chart, QWidget* parent)
    : QFrame(parent)
    , m_chart(chart)
    , m_header(new QHBoxLayout)
    , m_fill(makeIconButton("expand", tr("Fill the page (double click, Enter)"))) {
    setProperty("kind", QStringLiteral("card"));
    m_header->setSpacing(8);
    m_header->addWidget(makeLabel(title, "title"));
    m_extras.append(makeLabel(unit, "muted"));
    m_header->addWidget(m_extras.back());
    m_header->addStretch(1);
    m_header->addWidget(m_fill);
    m_fill->setIconSize(QSize(14, 14));
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(12, 6, 8, 8);
    column->setSpacing(2);
    column->addLayout(m_header);
    column->addWidget(chart, 1);
    connect(m_fill, &QToolButton::clicked, this, &ChartCard::fillRequested);
    connect(chart, &LineChart::fillRequested, this, &ChartCard::fillRequested);
    connect(chart, &LineChart::leaveRequested, this, &ChartCard::leaveRequested);
}

void ChartCard::addControl(QWidget* control) {
    m_header->insertWidget(3, control);
    m_extras.append(control);
}

void ChartCard::setCompact(bool compact) {
    for (QWidget* extra : m_extras)
        extra->setHidden(compact);
}

void ChartCard::setFilled(bool filled) {
    const QString words =
        filled ? tr("Back to all charts (Esc)") : tr("Fill the page (double click, Enter)");
    m_fill->setToolTip(words);
    m_fill->setAccessibleName(words);
    m_fill->setIcon(icon(filled ? "cancel" : "expand"));
}

} // namespace lockstep::ui
