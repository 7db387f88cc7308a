// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/pages/join_board.h"

#include "ui/models/format.h"
#include "ui/widgets/icons.h"
#include "ui/widgets/state_dot.h"

#include <QHBoxLayout>
#include <QPainter>
#include <QProgressBar>
#include <QStyledItemDelegate>
#include <QVBoxLayout>

#include <algorithm>

namespace lockstep::ui {
namespace {

constexpr int kRow = 40;
constexpr int kBoardWidth = 680;

/// Dot, task, state; address and host at the right.
class JoinDelegate final : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const override {
        return {300, kRow};
    }
    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override {
        const Tokens& t = currentTokens();
        const QRectF row = QRectF(option.rect).adjusted(4, 0, -4, 0);
        const bool missing = index.data(RunWorkersModel::IsMissingRole).toBool();
        const auto mood =
            missing ? Mood::Slow : static_cast<Mood>(index.data(RunWorkersModel::MoodRole).toInt());
        painter->save();
        paintDot(*painter, QRectF(row.left(), row.top(), 16, row.height()), shapeOf(mood),
                 t.tone(toneOf(mood)));
        const auto text = [&](qreal left, qreal width, const QFont& font, const QColor& color,
                              const QString& words, Qt::Alignment alignment = Qt::AlignLeft) {
            painter->setFont(font);
            painter->setPen(color);
            painter->drawText(QRectF(row.left() + left, row.top(), width, row.height()),
                              alignment | Qt::AlignVCenter,
                              QFontMetricsF(font).elidedText(words, Qt::ElideRight, width));
        };
        const qreal side = row.width() * 0.36;
        text(26, 110, scaled(option.font, 1, QFont::DemiBold), t.text, index.data().toString());
        QString state = index.data(RunWorkersModel::StateRole).toString();
        if (missing)
            state = tr("missing: has not joined yet");
        text(140, row.width() - 150 - side, option.font, missing ? t.warning : t.muted, state);
        text(row.width() - side, side, monospace(option.font), t.muted,
             index.data(RunWorkersModel::AddressRole).toString(), Qt::AlignRight);
        painter->setPen(t.line);
        painter->drawLine(row.bottomLeft(), row.bottomRight());
        painter->restore();
    }
};

} // namespace

/// The stages of a start as a row of words with signs: done, at work, to come.
class JoinBoard::Stages final : public QWidget {
public:
    Stages() { setFixedHeight(36); }
    void setState(run::State state) {
        const int at = static_cast<int>(std::find(std::begin(kStates), std::end(kStates), state) -
                                        std::begin(kStates));
        if (m_at == at)
            return;
        m_at = at;
        setAccessibleName(wordsOf(state).text);
        update();
    }

protected:
    void paintEvent(QPaintEvent*) override {
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        const Tokens& t = currentTokens();
        const qreal part = width() / double(std::size(kStates));
        for (int i = 0; i < static_cast<int>(std::size(kStates)); ++i) {
            const QColor color = i <= m_at ? t.accent : t.line;
            const QRectF bar(i * part, 0, part - 6, 3);
            painter.setPen(Qt::NoPen);
            painter.setBrush(color);
            painter.drawRoundedRect(bar, 1.5, 1.5);
            painter.setFont(scaled(font(), 0.92, i == m_at ? QFont::DemiBold : QFont::Normal));
            painter.setPen(i == m_at ? t.text : t.muted);
            painter.drawText(QRectF(i * part, 8, part - 6, 24), Qt::AlignLeft | Qt::AlignVCenter,
                             painter.fontMetrics().elidedText(wordsOf(kStates[i]).text,
                                                              Qt::ElideRight, int(part - 8)));
        }
    }

private:
    static constexpr run::State kStates[] = {run::State::Validating, run::State::PreparingHosts,
                                             run::State::Checking,   run::State::Deploying,
                                             run::State::Launching,  run::State::Joining};
    int m_at = 0;
};

JoinBoard::JoinBoard(RunWorkersModel* model, QWidget* parent)
    : QWidget(parent)
    , m_model(model)
    , m_stages(new Stages)
    , m_list(new QListView)
    , m_missing(makeLabel({}))
    , m_deadline(new QProgressBar) {
    m_list->setModel(model);
    m_list->setItemDelegate(new JoinDelegate(m_list));
    m_list->setAccessibleName(tr("Workers that join"));
    m_list->setSelectionMode(QAbstractItemView::NoSelection);
    m_missing->setWordWrap(true);
    m_deadline->setTextVisible(false);
    m_deadline->setFixedHeight(4);
    m_deadline->setAccessibleName(tr("Time until the join fails"));
    auto* card = new Card(tr("Starting"));
    card->body()->addWidget(m_stages);
    card->body()->addWidget(m_list, 1);
    card->body()->addWidget(m_missing);
    card->body()->addWidget(m_deadline);
    card->setMaximumWidth(kBoardWidth);
    m_list->setSizeAdjustPolicy(QAbstractScrollArea::AdjustToContents);
    card->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    row->addStretch(1);
    row->addWidget(card, 20, Qt::AlignTop);
    row->addStretch(1);
}

void JoinBoard::refresh(double nowUtcSeconds) {
    if (!m_session)
        return;
    m_stages->setState(m_session->state());
    double left = 0;
    for (const auto* worker : m_session->store().workers())
        if (worker->phase == wire::Phase::Joining && worker->joinDeadlineSeconds > 0)
            left = std::max(left, worker->joinDeadlineSeconds - (nowUtcSeconds - worker->lastTime));
    m_list->setMinimumHeight(std::min(m_model->rowCount(), 8) * kRow + 4);
    m_longest = std::max(m_longest, left);
    QStringList missing;
    for (int row = 0; row < m_model->rowCount(); ++row)
        if (const auto index = m_model->index(row);
            index.data(RunWorkersModel::IsMissingRole).toBool())
            missing.append(index.data().toString());
    const bool waiting = left > 0 && !missing.isEmpty();
    m_missing->setText(waiting
                           ? tr("Waiting for %1. The start is given up in %2 if it does not join.")
                                 .arg(missing.join(QStringLiteral(", ")), formatDuration(left))
                           : QString());
    m_deadline->setVisible(waiting);
    m_deadline->setRange(0, 1000);
    m_deadline->setValue(m_longest > 0 ? static_cast<int>(1000 * left / m_longest) : 0);
}

} // namespace lockstep::ui
