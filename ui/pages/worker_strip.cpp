// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/pages/worker_strip.h"

#include "ui/widgets/flow_layout.h"
#include "ui/widgets/icons.h"
#include "ui/widgets/labels.h"
#include "ui/widgets/state_dot.h"

#include <QHBoxLayout>
#include <QVBoxLayout>

namespace lockstep::ui {
namespace {

class Chip final : public QWidget {
public:
    Chip()
        : m_dot(new StateDot)
        , m_star(new IconView("star-filled", Ink::Muted, 12))
        , m_task(makeLabel({}, "title"))
        , m_state(makeLabel({}, "muted")) {
        auto* row = new QHBoxLayout(this);
        row->setContentsMargins(0, 0, 0, 0);
        row->setSpacing(6);
        for (QWidget* part : {static_cast<QWidget*>(m_dot), static_cast<QWidget*>(m_star),
                              static_cast<QWidget*>(m_task), static_cast<QWidget*>(m_state)})
            row->addWidget(part);
    }
    void show(const QModelIndex& index) {
        const Words words{index.data(RunWorkersModel::StateRole).toString(),
                          static_cast<Mood>(index.data(RunWorkersModel::MoodRole).toInt())};
        m_dot->setState(words);
        m_star->setVisible(index.data(RunWorkersModel::IsChiefRole).toBool());
        m_task->setText(index.data().toString());
        m_state->setText(words.text);
        setToolTip(index.data(Qt::ToolTipRole).toString());
        setAccessibleName(index.data(Qt::AccessibleTextRole).toString());
    }

private:
    StateDot* m_dot;
    IconView* m_star;
    QLabel* m_task;
    QLabel* m_state;
};

} // namespace

WorkerStrip::WorkerStrip(RunWorkersModel* model, QWidget* parent)
    : QWidget(parent)
    , m_model(model)
    , m_flow(new FlowLayout(this, 24, 6)) {
    setAccessibleName(tr("Workers of the run"));
    connect(model, &QAbstractItemModel::rowsInserted, this, &WorkerStrip::rebuild);
    connect(model, &QAbstractItemModel::rowsRemoved, this, &WorkerStrip::rebuild);
    connect(model, &QAbstractItemModel::dataChanged, this,
            [this](const QModelIndex& first, const QModelIndex& last) {
                update(first.row(), last.row());
            });
    rebuild();
}

void WorkerStrip::rebuild() {
    while (m_flow->count() > m_model->rowCount()) {
        QLayoutItem* item = m_flow->takeAt(m_flow->count() - 1);
        delete item->widget();
        delete item;
    }
    while (m_flow->count() < m_model->rowCount())
        m_flow->addWidget(new Chip);
    update(0, m_model->rowCount() - 1);
}

void WorkerStrip::update(int first, int last) {
    for (int row = first; row <= last && row < m_flow->count(); ++row)
        static_cast<Chip*>(m_flow->itemAt(row)->widget())->show(m_model->index(row));
    updateGeometry();
}

} // namespace lockstep::ui
