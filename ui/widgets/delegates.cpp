// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/widgets/delegates.h"

#include "ui/models/format.h"
#include "ui/models/log_model.h"
#include "ui/models/run_words.h"
#include "ui/models/runs_model.h"
#include "ui/models/workers_model.h"
#include "ui/widgets/icons.h"
#include "ui/widgets/state_dot.h"

#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <cmath>

namespace lockstep::ui {
namespace {

constexpr int kCardGap = 8;
constexpr int kRunRow = 44;
constexpr int kLogTime = 62;
constexpr int kLogTask = 84;

QString elided(const QFont& font, const QString& text, qreal width,
               Qt::TextElideMode mode = Qt::ElideRight) {
    return QFontMetricsF(font).elidedText(text, mode, std::max(0.0, width));
}

void drawText(QPainter& painter, const QRectF& box, const QFont& font, const QColor& color,
              const QString& text, Qt::Alignment alignment = Qt::AlignLeft | Qt::AlignVCenter) {
    painter.setFont(font);
    painter.setPen(color);
    painter.drawText(box, alignment, elided(font, text, box.width()));
}

/// A rounded tag; returns its right edge.
qreal drawTag(QPainter& painter, const QPointF& at, const QFont& font, const QString& text,
              const QColor& ground, const QColor& ink) {
    const QFontMetricsF metrics(font);
    const QRectF box(at.x(), at.y(), metrics.horizontalAdvance(text) + 12, metrics.height() + 2);
    painter.setPen(Qt::NoPen);
    painter.setBrush(ground);
    painter.drawRoundedRect(box, 4, 4);
    painter.setFont(font);
    painter.setPen(ink);
    painter.drawText(box, Qt::AlignCenter, text);
    return box.right();
}

QColor levelColor(const Tokens& t, wire::Level level) {
    return level == wire::Level::Error     ? t.error
           : level == wire::Level::Warning ? t.warning
           : level == wire::Level::Debug   ? t.muted
                                           : t.text;
}

} // namespace

void paintCurve(QPainter& painter, const QRectF& box, const QList<double>& values,
                const QColor& color) {
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    for (const double value : values)
        if (std::isfinite(value)) {
            low = std::min(low, value);
            high = std::max(high, value);
        }
    if (!(high >= low))
        return;
    const double span = high > low ? high - low : 1;
    const auto at = [&](qsizetype i) {
        const double x = values.size() > 1 ? double(i) / double(values.size() - 1) : 0.5;
        return QPointF(box.left() + x * box.width(),
                       box.bottom() - (values[i] - low) / span * box.height());
    };
    QPainterPath path;
    bool down = false;
    for (qsizetype i = 0; i < values.size(); ++i) {
        if (!std::isfinite(values[i])) {
            down = false;
            continue;
        }
        if (down)
            path.lineTo(at(i));
        else
            path.moveTo(at(i));
        down = true;
    }
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(color, 1.5, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
    painter.drawPath(path);
    if (std::isfinite(values.back())) {
        painter.setPen(Qt::NoPen);
        painter.setBrush(color);
        painter.drawEllipse(at(values.size() - 1), 2.2, 2.2);
    }
    painter.restore();
}

QSize WorkerDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const {
    const int line = QFontMetrics(option.font).height();
    const bool problem = !index.data(WorkersModel::ProblemRole).toString().isEmpty();
    return {220, 24 + line * 2 + 6 + (problem ? line + 6 : 0) + kCardGap};
}

void WorkerDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                           const QModelIndex& index) const {
    const Tokens& t = currentTokens();
    const bool selected = option.state & QStyle::State_Selected;
    const bool focused = option.state & QStyle::State_HasFocus;
    const bool hover = option.state & QStyle::State_MouseOver;
    const bool error = index.data(WorkersModel::HasErrorRole).toBool();
    const bool warning = index.data(WorkersModel::HasWarningRole).toBool();
    const bool chief = index.data(WorkersModel::IsChiefRole).toBool();
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    const QRectF card = QRectF(option.rect).adjusted(1, 1, -1, -kCardGap - 1);
    const QColor edge = error ? t.error : selected ? t.accent : hover ? t.muted : t.line;
    painter->setBrush(selected ? t.accentTint : t.surface);
    painter->setPen(QPen(edge, selected && focused ? 2 : 1));
    painter->drawRoundedRect(card.adjusted(0.5, 0.5, -0.5, -0.5), 6, 6);

    const int line = QFontMetrics(option.font).height();
    const qreal top = card.top() + 12;
    drawIcon(*painter, QRectF(card.left() + 6, top + line / 2.0 - 5, 16, 16), "grip", t.muted);
    const QRectF mark(card.left() + 28, top + line / 2.0 - 5, 18, 18);
    if (chief)
        drawIcon(*painter, mark, "star-filled", t.input);
    else
        paintDot(*painter, mark, error ? DotShape::Cross : DotShape::Ring,
                 error ? t.error : t.muted, 9);
    const qreal left = card.left() + 56;
    const QFont bold = scaled(option.font, 1.0, QFont::DemiBold);
    const QFont small = scaled(option.font, 0.88);
    const QFont mono = monospace(option.font);
    const QString rank = index.data(WorkersModel::RankRole).toInt() >= 0
                             ? tr("rank %1").arg(index.data(WorkersModel::RankRole).toInt())
                             : tr("no rank");
    const qreal right = card.right() - 14;
    const qreal rankWidth = QFontMetricsF(small).horizontalAdvance(rank);
    drawText(*painter, QRectF(right - rankWidth - 1, top, rankWidth + 2, line), small, t.muted,
             rank, Qt::AlignRight | Qt::AlignVCenter);
    const QString name = index.data(WorkersModel::NameRole).toString();
    const QString task = index.data(WorkersModel::TaskRole).toString();
    const qreal taskWidth = name == task ? 0 : QFontMetricsF(small).horizontalAdvance(task) + 20;
    const qreal room = right - rankWidth - 12 - left - taskWidth;
    const qreal used = std::min(room, QFontMetricsF(bold).horizontalAdvance(name) + 2);
    drawText(*painter, QRectF(left, top, room, line), bold, t.text, name);
    if (taskWidth > 0)
        drawTag(*painter, {left + used + 8, top - 1}, small, task, t.raised, t.muted);
    const qreal second = top + line + 6;
    const QString address = index.data(WorkersModel::AddressRole).toString();
    const qreal addressWidth =
        std::min(QFontMetricsF(mono).horizontalAdvance(address) + 2, (right - left) * 0.62);
    drawText(*painter, QRectF(left, second, addressWidth, line), mono, t.text, address);
    drawText(*painter,
             QRectF(left + addressWidth + 14, second, right - left - addressWidth - 14, line),
             option.font, t.muted, index.data(WorkersModel::MachineRole).toString());
    if (const QString problem = index.data(WorkersModel::ProblemRole).toString();
        !problem.isEmpty()) {
        const qreal third = second + line + 6;
        const QColor ink = warning ? t.warning : t.error;
        drawIcon(*painter, QRectF(left, third + line / 2.0 - 7, 14, 14),
                 warning ? "warning" : "error", ink);
        drawText(*painter, QRectF(left + 20, third, right - left - 20, line), option.font, ink,
                 problem);
    }
    painter->restore();
}

QSize LogDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex&) const {
    return {200, QFontMetrics(option.font).height() + 4};
}

void LogDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                        const QModelIndex& index) const {
    const Tokens& t = currentTokens();
    const QRectF row(option.rect);
    if (option.state & QStyle::State_Selected)
        painter->fillRect(row, t.accentTint);
    const QFont mono = monospace(scaled(option.font, 0.92));
    const int rank = index.data(LogModel::RankRole).toInt();
    const QColor taskColor = rank < 0 ? t.muted : t.seriesColor(rank);
    const auto level = static_cast<wire::Level>(index.data(LogModel::LevelRole).toInt());
    painter->save();
    drawText(*painter, QRectF(row.left() + 12, row.top(), kLogTime, row.height()), mono, t.muted,
             index.data(LogModel::TimeRole).toString());
    drawText(*painter, QRectF(row.left() + 16 + kLogTime, row.top(), kLogTask, row.height()), mono,
             taskColor, index.data(LogModel::TaskRole).toString());
    const qreal left = row.left() + 24 + kLogTime + kLogTask;
    drawText(*painter, QRectF(left, row.top(), row.right() - left - 8, row.height()), mono,
             levelColor(t, level), index.data(LogModel::TextRole).toString().left(1000));
    painter->restore();
}

QSize RunDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const {
    const QSize size = QStyledItemDelegate::sizeHint(option, index);
    return {size.width() + 24, kRunRow};
}

void RunDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                        const QModelIndex& index) const {
    const Tokens& t = currentTokens();
    const QRectF cell(option.rect);
    const auto column = static_cast<RunsModel::Column>(index.column());
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    if (option.state & QStyle::State_Selected)
        painter->fillRect(cell, t.accentTint);
    painter->fillRect(QRectF(cell.left(), cell.bottom() - 1, cell.width(), 1), t.line);
    const QRectF inner = cell.adjusted(12, 0, -12, 0);
    const QString text = index.data().toString();
    if (column == RunsModel::Column::Curve) {
        const auto values = index.data(RunsModel::CurveRole).value<QList<double>>();
        if (!values.isEmpty())
            paintCurve(*painter, inner.adjusted(0, 11, 0, -12), values, t.seriesColor(0));
    } else if (column == RunsModel::Column::Status) {
        const auto mood = static_cast<Mood>(index.data(RunsModel::MoodRole).toInt());
        paintDot(*painter, QRectF(inner.left(), inner.top(), 12, inner.height()), shapeOf(mood),
                 t.tone(toneOf(mood)));
        drawText(*painter, inner.adjusted(20, 0, 0, 0), option.font, t.text, text);
    } else if (column == RunsModel::Column::Name) {
        const qreal half = inner.height() / 2;
        const QModelIndex workers = index.siblingAtColumn(int(RunsModel::Column::Workers));
        drawText(*painter, inner.adjusted(0, 6, 0, -half + 2),
                 scaled(option.font, 1, QFont::DemiBold), t.text, text);
        drawText(*painter, inner.adjusted(0, half, 0, -5), scaled(option.font, 0.88), t.muted,
                 countWords(workers.data().toInt(), tr("1 worker"), tr("%1 workers")));
    } else {
        const auto alignment =
            Qt::Alignment(index.data(Qt::TextAlignmentRole).toInt()) | Qt::AlignVCenter;
        drawText(*painter, inner, option.font, column == RunsModel::Column::Loss ? t.text : t.muted,
                 text, alignment);
    }
    painter->restore();
}

} // namespace lockstep::ui
