// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/shell/notice_bar.h"

#include "ui/widgets/form.h"
#include "ui/widgets/icons.h"

#include <QHBoxLayout>
#include <QPushButton>
#include <QTimer>
#include <QToolButton>
#include <QUndoStack>

namespace lockstep::ui {
namespace {
constexpr int kShownMilliseconds = 8000;
constexpr int kAboveFoot = 50;
} // namespace

NoticeBar::NoticeBar(QUndoStack* undo, QWidget* parent)
    : QFrame(parent)
    , m_text(makeLabel({}))
    , m_undo(new QPushButton(tr("Undo")))
    , m_timer(new QTimer(this)) {
    setProperty("kind", QStringLiteral("card"));
    setIconBeside(m_undo, "undo");
    m_undo->setToolTip(tr("Undo (Ctrl+Z)"));
    auto* close = makeIconButton("cancel", tr("Dismiss"));
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(16, 6, 6, 6);
    row->setSpacing(12);
    row->addWidget(m_text);
    row->addWidget(m_undo);
    row->addWidget(close);
    m_timer->setSingleShot(true);
    m_timer->setInterval(kShownMilliseconds);
    connect(m_timer, &QTimer::timeout, this, &QWidget::hide);
    connect(close, &QToolButton::clicked, this, &QWidget::hide);
    connect(m_undo, &QPushButton::clicked, this, [this, undo] {
        undo->undo();
        hide();
    });
    hide();
}

void NoticeBar::show(const QString& text, bool canUndo) {
    m_text->setText(fontMetrics().elidedText(text, Qt::ElideMiddle, 520));
    m_text->setToolTip(text);
    m_undo->setVisible(canUndo);
    setAccessibleName(text);
    place();
    QFrame::show();
    raise();
    m_timer->start();
}

void NoticeBar::place() {
    adjustSize();
    move((parentWidget()->width() - width()) / 2, parentWidget()->height() - height() - kAboveFoot);
}

} // namespace lockstep::ui
