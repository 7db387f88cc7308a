// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/widgets/check_delegates.h"

#include "ui/models/check_models.h"
#include "ui/widgets/icons.h"
#include "ui/widgets/state_dot.h"

#include <QAbstractItemView>
#include <QPainter>

#include <algorithm>

namespace lockstep::ui {
namespace {

constexpr int kPad = 8;
constexpr int kSign = 24; // width of the sign and its gap
constexpr int kGap = 3;

QColor tinted(const QColor& color, int alpha) {
    QColor tint = color;
    tint.setAlpha(alpha);
    return tint;
}

void paintWord(QPainter& painter, const QRectF& box, const QString& word, const QColor& color) {
    QFont font = painter.font();
    font.setPixelSize(std::clamp(static_cast<int>(box.height() * 0.7), 8, 14));
    font.setBold(true);
    painter.setFont(font);
    painter.setPen(color);
    painter.drawText(box, Qt::AlignCenter, word);
}

struct Placed {
    QRect subject, what, todo;
    int height = 0;
};

Placed placeWords(const QModelIndex& index, const QFont& font, int width) {
    Placed words;
    const int room = std::max(40, width - 2 * kPad - kSign);
    int y = kPad;
    const auto put = [&](QRect& rect, const QString& text, const QFont& with) {
        if (text.isEmpty())
            return;
        rect = QFontMetrics(with).boundingRect(QRect(0, 0, room, 10000), Qt::TextWordWrap, text);
        rect.moveTo(kPad + kSign, y);
        rect.setWidth(room);
        y += rect.height() + kGap;
    };
    put(words.subject, index.data(CheckFindingsModel::SubjectRole).toString(),
        scaled(font, 0.92, QFont::DemiBold));
    put(words.what, index.data(CheckFindingsModel::WhatRole).toString(), font);
    put(words.todo, index.data(CheckFindingsModel::TodoRole).toString(), font);
    words.height = y - kGap + kPad;
    return words;
}

} // namespace

void PairDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                         const QModelIndex& index) const {
    using State = CheckPair::State;
    const Tokens& t = currentTokens();
    const auto state = static_cast<State>(index.data(CheckPairsModel::StateRole).toInt());
    const QRectF cell = QRectF(option.rect).adjusted(1, 1, -1, -1);
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    painter->setPen(Qt::NoPen);
    const bool isBad = state == State::Refused || state == State::Dropped ||
                       state == State::WrongAnswer || state == State::NameUnknown;
    const QColor color = state == State::Good      ? t.good
                         : state == State::Warning ? t.warning
                         : isBad                   ? t.error
                         : state == State::Working ? t.accent
                                                   : t.muted;
    if (state != State::Self) {
        const bool told = isBad || state == State::Good || state == State::Warning;
        painter->setBrush(tinted(color, told ? 46 : 18));
        painter->drawRoundedRect(cell, 3, 3);
    }
    const qreal diameter = std::min<qreal>(9, cell.height() * 0.5);
    switch (state) {
    case State::Good:
        paintDot(*painter, cell, DotShape::Full, color, diameter);
        break;
    case State::Warning:
        paintDot(*painter, cell, DotShape::Half, color, diameter);
        break;
    case State::Refused:
        paintDot(*painter, cell, DotShape::Cross, color, diameter);
        break;
    case State::Dropped:
        paintDot(*painter, cell, DotShape::Ring, color, diameter);
        break;
    case State::WrongAnswer:
        paintWord(*painter, cell, QStringLiteral("≠"), color);
        break;
    case State::NameUnknown:
        paintWord(*painter, cell, QStringLiteral("?"), color);
        break;
    case State::Working:
        paintWord(*painter, cell, QStringLiteral("…"), color);
        break;
    case State::Skipped:
        paintWord(*painter, cell, QStringLiteral("–"), color);
        break;
    case State::Waiting:
    case State::Self:
        break;
    }
    if (option.state.testFlag(QStyle::State_Selected)) {
        painter->setBrush(Qt::NoBrush);
        painter->setPen(QPen(t.accent, 2));
        painter->drawRoundedRect(cell, 3, 3);
    }
    painter->restore();
}

void HostFactDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                             const QModelIndex& index) const {
    const Tokens& t = currentTokens();
    const QRect row = option.rect;
    painter->save();
    if (option.state.testFlag(QStyle::State_Selected))
        painter->fillRect(row, t.accentTint);
    painter->setPen(t.line);
    painter->drawLine(row.bottomLeft(), row.bottomRight());
    const bool differs = index.data(CheckHostsModel::DiffersRole).toBool();
    const auto state =
        static_cast<CheckHost::State>(index.data(CheckHostsModel::StateRole).toInt());
    QRect words = row.adjusted(kPad, 0, -kPad, 0);
    QColor color = index.column() >= CheckHostsModel::State ? t.muted : t.text;
    if (index.column() == CheckHostsModel::State) {
        const DotShape shape = state == CheckHost::State::Done      ? DotShape::Full
                               : state == CheckHost::State::Failed  ? DotShape::Cross
                               : state == CheckHost::State::Working ? DotShape::Half
                                                                    : DotShape::Ring;
        color = state == CheckHost::State::Failed ? t.error : t.text;
        const QColor dot = state == CheckHost::State::Done      ? t.good
                           : state == CheckHost::State::Failed  ? t.error
                           : state == CheckHost::State::Working ? t.accent
                                                                : t.muted;
        paintDot(*painter, QRectF(words.left(), words.top(), 12, words.height()), shape, dot);
        words.adjust(18, 0, 0, 0);
    } else if (index.column() >= CheckHostsModel::FirstFact) {
        color = differs ? t.warning : t.text;
    }
    if (differs) {
        painter->fillRect(row.adjusted(2, 3, -2, -3), t.warningTint);
        painter->setFont(scaled(option.font, 1, QFont::DemiBold));
    } else {
        painter->setFont(index.column() == CheckHostsModel::Task
                             ? scaled(option.font, 1, QFont::DemiBold)
                             : scaled(option.font, 1));
    }
    painter->setPen(color);
    const QString text =
        (differs ? QStringLiteral("≠ ") : QString()) + index.data(Qt::DisplayRole).toString();
    painter->drawText(words, Qt::AlignLeft | Qt::AlignVCenter,
                      painter->fontMetrics().elidedText(text, Qt::ElideRight, words.width()));
    painter->restore();
}

QSize HostFactDelegate::sizeHint(const QStyleOptionViewItem& option,
                                 const QModelIndex& index) const {
    const QFontMetrics metrics(scaled(option.font, 1, QFont::DemiBold));
    const int sign = index.column() == CheckHostsModel::State ? 18
                     : index.data(CheckHostsModel::DiffersRole).toBool()
                         ? metrics.horizontalAdvance(QStringLiteral("≠ "))
                         : 0;
    return {metrics.horizontalAdvance(index.data(Qt::DisplayRole).toString()) + 2 * kPad + sign + 4,
            metrics.height() + 12};
}

void FindingDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                            const QModelIndex& index) const {
    const Tokens& t = currentTokens();
    const auto kind = static_cast<FindingKind>(index.data(CheckFindingsModel::KindRole).toInt());
    const Placed words = placeWords(index, option.font, option.rect.width());
    painter->save();
    if (option.state.testFlag(QStyle::State_Selected))
        painter->fillRect(option.rect, t.accentTint);
    const QColor color = kind == FindingKind::Error     ? t.error
                         : kind == FindingKind::Warning ? t.warning
                                                        : t.muted;
    drawIcon(*painter, QRectF(option.rect.left() + kPad - 2, option.rect.top() + kPad, 16, 16),
             kind == FindingKind::Error     ? "error"
             : kind == FindingKind::Warning ? "warning"
                                            : "info",
             color);
    painter->translate(option.rect.topLeft());
    painter->setFont(scaled(option.font, 0.92, QFont::DemiBold));
    painter->setPen(color);
    painter->drawText(words.subject, Qt::TextWordWrap,
                      index.data(CheckFindingsModel::SubjectRole).toString());
    painter->setFont(option.font);
    painter->setPen(t.text);
    painter->drawText(words.what, Qt::TextWordWrap,
                      index.data(CheckFindingsModel::WhatRole).toString());
    painter->setPen(t.muted);
    painter->drawText(words.todo, Qt::TextWordWrap,
                      index.data(CheckFindingsModel::TodoRole).toString());
    painter->setPen(t.line);
    painter->drawLine(0, option.rect.height() - 1, option.rect.width(), option.rect.height() - 1);
    painter->restore();
}

QSize FindingDelegate::sizeHint(const QStyleOptionViewItem& option,
                                const QModelIndex& index) const {
    const auto* view = qobject_cast<const QAbstractItemView*>(option.widget);
    const int width = view ? view->viewport()->width() : 300;
    return {width, placeWords(index, option.font, width).height};
}

} // namespace lockstep::ui
