// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// How rows of the item models are painted: a worker as a card, a log line, the status and the small
// curve of a run. GUI thread.

#include "ui/widgets/theme.h"

#include <QStyledItemDelegate>

namespace lockstep::ui {

/// A row of WorkersModel as a card: grip, star of the chief, name, task, address, machine, problem.
class WorkerDelegate final : public QStyledItemDelegate {
    Q_OBJECT
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

/// A row of LogModel: time, task in its colour, text in fixed width, cut at the edge.
class LogDelegate final : public QStyledItemDelegate {
    Q_OBJECT
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

/// A cell of RunsModel: the status with its dot, the curve, or text; a line below each row.
class RunDelegate final : public QStyledItemDelegate {
    Q_OBJECT
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

/// A small line over `box` without axes; values that are not finite are gaps.
void paintCurve(QPainter& painter, const QRectF& box, const QList<double>& values,
                const QColor& color);

} // namespace lockstep::ui
