// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/dialogs/host_keys_dialog.h"

#include "ui/models/format.h"
#include "ui/widgets/icons.h"
#include "ui/widgets/labels.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QPushButton>
#include <QScrollBar>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QTimer>
#include <QVBoxLayout>

#include <algorithm>

namespace lockstep::ui {
namespace {

constexpr int kRow = 34;

/// Fingerprints and kinds in fixed width, notes in the colour of a warning.
class KeyDelegate final : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;

protected:
    void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
        QStyledItemDelegate::initStyleOption(option, index);
        if (index.column() == HostKeysModel::Fingerprint || index.column() == HostKeysModel::Type)
            option->font = monospace(option->font);
        if (index.column() == HostKeysModel::Note)
            option->palette.setColor(QPalette::Text, currentTokens().warning);
    }
};

} // namespace

HostKeysDialog::HostKeysDialog(HostKeysModel* model, QWidget* parent)
    : QDialog(parent)
    , m_model(model)
    , m_table(new QTableView)
    , m_head(makeLabel({}, "title"))
    , m_notes(makeLabel({}, "warning"))
    , m_file(makeLabel({}, "muted"))
    , m_tickAll(new QPushButton(tr("Tick all that I have seen")))
    , m_accept(new QPushButton) {
    setWindowTitle(tr("Unknown host keys"));
    m_head->setFont(scaled(font(), 1.15, QFont::DemiBold));
    auto* words = makeLabel(
        tr("These hosts are reached for the first time. Compare each fingerprint with the one that "
           "the host's owner gives you, or with what ssh-keygen -l -f "
           "/etc/ssh/ssh_host_ed25519_key.pub prints on the host, and tick those that are right. "
           "There is no hurry: nothing times out while you read."));
    words->setWordWrap(true);

    m_table->setModel(model);
    m_table->setItemDelegate(new KeyDelegate(m_table));
    m_table->setAccessibleName(tr("Host keys to accept"));
    m_table->setProperty("kind", QStringLiteral("framed"));
    m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_table->setSelectionMode(QAbstractItemView::SingleSelection);
    m_table->setTabKeyNavigation(false);
    m_table->setShowGrid(false);
    m_table->setWordWrap(false);
    m_table->verticalHeader()->hide();
    m_table->verticalHeader()->setDefaultSectionSize(kRow);
    m_table->horizontalHeader()->setHighlightSections(false);
    m_table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    m_table->horizontalHeader()->setStretchLastSection(true);
    m_notes->setWordWrap(true);
    m_file->setWordWrap(true);

    auto* cancel = new QPushButton(tr("Accept none"));
    cancel->setDefault(true);
    m_accept->setAutoDefault(false);
    m_tickAll->setAutoDefault(false);
    connect(cancel, &QPushButton::clicked, this, &QDialog::reject);
    connect(m_accept, &QPushButton::clicked, this, &QDialog::accept);
    connect(m_tickAll, &QPushButton::clicked, m_model, &HostKeysModel::tickAll);
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(8);
    buttons->addWidget(m_tickAll);
    buttons->addStretch(1);
    buttons->addWidget(cancel);
    buttons->addWidget(m_accept);

    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(24, 20, 24, 20);
    column->setSpacing(12);
    column->addWidget(m_head);
    column->addWidget(words);
    column->addWidget(m_table, 1);
    column->addWidget(m_notes);
    column->addWidget(m_file);
    column->addLayout(buttons);
    resize(1000, 420);

    connect(m_model, &HostKeysModel::tickedChanged, this, &HostKeysDialog::refresh);
    connect(m_table->verticalScrollBar(), &QScrollBar::valueChanged, this,
            &HostKeysDialog::noteSeen);
    connect(m_table->verticalScrollBar(), &QScrollBar::rangeChanged, this,
            &HostKeysDialog::noteSeen);
    connect(m_table->selectionModel(), &QItemSelectionModel::currentChanged, this,
            &HostKeysDialog::showNotes);
    refresh();
    m_table->setCurrentIndex(m_model->index(0, 0));
    m_table->setFocus();
}

void HostKeysDialog::refresh() {
    const int count = m_model->rowCount();
    const int ticked = m_model->ticked();
    m_head->setText(
        countWords(count, tr("1 host is not known yet"), tr("%1 hosts are not known yet")));
    m_accept->setText(ticked == 0 ? tr("Accept the ticked")
                                  : countWords(ticked, tr("Accept 1 key"), tr("Accept %1 keys")));
    m_accept->setEnabled(ticked > 0);
    const QStringList files = m_model->files();
    m_file->setText(files.isEmpty() ? QString()
                                    : tr("Accepted keys are written to %1. Hosts without a tick "
                                         "are not connected to.")
                                          .arg(plainText(files.join(QStringLiteral(", ")), 300)));
    const int notes = [&] {
        int rows = 0;
        for (int row = 0; row < count; ++row)
            rows += m_model->notesOf(row).isEmpty() ? 0 : 1;
        return rows;
    }();
    m_table->setColumnHidden(HostKeysModel::Note, notes == 0);
    bool hops = false;
    for (int row = 0; row < count; ++row)
        hops = hops || !m_model->index(row, HostKeysModel::Hop).data().toString().isEmpty();
    m_table->setColumnHidden(HostKeysModel::Hop, !hops);
    for (const auto column :
         {HostKeysModel::Host, HostKeysModel::Hop, HostKeysModel::Type, HostKeysModel::Fingerprint})
        m_table->resizeColumnToContents(column);
    showNotes();
    QTimer::singleShot(0, this, &HostKeysDialog::noteSeen);
}

void HostKeysDialog::showNotes() {
    const QModelIndex at = m_table->currentIndex();
    const QStringList notes = at.isValid() ? m_model->notesOf(at.row()) : QStringList();
    m_notes->setVisible(!notes.isEmpty());
    m_notes->setText(notes.join(QLatin1Char(' ')));
}

void HostKeysDialog::noteSeen() {
    if (!m_table->isVisible())
        return;
    const int last = m_table->rowAt(m_table->viewport()->height() - 4);
    const int first = m_table->rowAt(2);
    const int end = last < 0 ? m_model->rowCount() : last + 1;
    if (first <= m_seen) // no rows are skipped over
        m_seen = std::max(m_seen, end);
    m_tickAll->setEnabled(m_seen >= m_model->rowCount() && m_model->rowCount() > 0);
    m_tickAll->setToolTip(m_tickAll->isEnabled() ? QString()
                                                 : tr("Look at all rows first: scroll to the end"));
}

} // namespace lockstep::ui
