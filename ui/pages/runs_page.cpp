// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/pages/runs_page.h"

#include "ui/models/format.h"
#include "ui/models/run_words.h"
#include "ui/models/runs_model.h"
#include "ui/widgets/delegates.h"
#include "ui/widgets/form.h"
#include "ui/widgets/icons.h"

#include <QAction>
#include <QDir>
#include <QFileDialog>
#include <QGridLayout>
#include <QHeaderView>
#include <QMessageBox>
#include <QPushButton>
#include <QStackedWidget>
#include <QTableView>

namespace lockstep::ui {
namespace {
constexpr int kDetailWidth = 272;
} // namespace

RunsPage::RunsPage(RunDesk* desk, QWidget* parent)
    : Page(parent)
    , m_desk(desk)
    , m_model(new RunsModel(desk->library(), this))
    , m_stack(new QStackedWidget) {
    auto* full = new QWidget;
    auto* row = new QHBoxLayout(full);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(16);
    row->addWidget(makeTable(), 1);
    row->addWidget(makeDetail());
    auto* empty =
        new EmptyState("runs", tr("No runs yet"),
                       tr("Each launch is kept here with its charts, its log, its metrics "
                          "and the chief's model."));
    connect(empty->addAction(tr("Launch"), "launch"), &QPushButton::clicked, desk,
            &RunDesk::runPrimary);
    m_stack->addWidget(full);
    m_stack->addWidget(empty);
    makeColumn()->addWidget(m_stack, 1);
    connect(desk->library(), &RunLibrary::entriesChanged, this, &RunsPage::refresh);
    refresh();
}

QWidget* RunsPage::makeTable() {
    m_table = new QTableView;
    m_table->setModel(m_model);
    m_table->setItemDelegate(new RunDelegate(m_table));
    m_table->setProperty("kind", QStringLiteral("framed"));
    m_table->setAccessibleName(tr("Runs, newest first"));
    m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_table->setSelectionMode(QAbstractItemView::SingleSelection);
    m_table->setShowGrid(false);
    m_table->setTabKeyNavigation(false);
    m_table->verticalHeader()->hide();
    m_table->verticalHeader()->setDefaultSectionSize(44);
    auto* header = m_table->horizontalHeader();
    header->setHighlightSections(false);
    header->setSectionResizeMode(QHeaderView::Fixed);
    for (const auto& [column, width] :
         {std::pair(RunsModel::Column::Status, 100), std::pair(RunsModel::Column::Started, 112),
          std::pair(RunsModel::Column::Duration, 74), std::pair(RunsModel::Column::Loss, 86)})
        header->resizeSection(int(column), width);
    header->setSectionResizeMode(int(RunsModel::Column::Name), QHeaderView::Stretch);
    header->setSectionResizeMode(int(RunsModel::Column::Curve), QHeaderView::Fixed);
    header->resizeSection(int(RunsModel::Column::Curve), 96);
    m_table->setColumnHidden(int(RunsModel::Column::Workers), true); // stands below the name
    m_table->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    connect(m_table->selectionModel(), &QItemSelectionModel::currentChanged, this,
            &RunsPage::showDetail);
    connect(m_table, &QTableView::activated, this, &RunsPage::openSelected);
    auto* remove = new QAction(m_table);
    remove->setShortcut(QKeySequence::Delete);
    remove->setShortcutContext(Qt::WidgetShortcut);
    connect(remove, &QAction::triggered, this, &RunsPage::removeSelected);
    m_table->addAction(remove);
    return m_table;
}

QWidget* RunsPage::makeDetail() {
    m_detail = new Card(tr("Run"));
    m_detail->setFixedWidth(kDetailWidth);
    m_values = new QGridLayout;
    m_values->setVerticalSpacing(7);
    m_values->setColumnStretch(1, 1);
    m_failure = new ProblemLabel;
    m_open = new QPushButton(tr("Open charts"));
    setIconBeside(m_open, "monitor");
    m_open->setToolTip(tr("Show charts and log of this run on Monitor (Enter)"));
    m_exportModel = new QPushButton(tr("Export model"));
    setIconBeside(m_exportModel, "export");
    m_exportModel->setToolTip(tr("Save the chief's model for Keras, or as safetensors"));
    m_exportMetrics = new QPushButton(tr("Export metrics"));
    setIconBeside(m_exportMetrics, "table");
    m_exportMetrics->setToolTip(tr("Save every step and epoch as CSV"));
    m_remove = new QPushButton(tr("Remove"));
    setIconBeside(m_remove, "trash");
    m_remove->setToolTip(tr("Remove this run's folder (Del)"));
    connect(m_open, &QPushButton::clicked, this, &RunsPage::openSelected);
    connect(m_exportModel, &QPushButton::clicked, this, [this] { exportSelected(true); });
    connect(m_exportMetrics, &QPushButton::clicked, this, [this] { exportSelected(false); });
    connect(m_remove, &QPushButton::clicked, this, &RunsPage::removeSelected);
    m_detail->body()->addLayout(m_values);
    m_detail->body()->addWidget(m_failure);
    m_detail->body()->addStretch(1);
    for (QPushButton* button : {m_open, m_exportModel, m_exportMetrics, m_remove})
        m_detail->body()->addWidget(button);
    return m_detail;
}

void RunsPage::showEvent(QShowEvent* event) {
    Page::showEvent(event);
    m_desk->library()->refresh();
}

const RunEntry* RunsPage::selected() const {
    return m_model->entry(m_table->currentIndex().row());
}

void RunsPage::refresh() {
    m_stack->setCurrentIndex(m_model->rowCount() > 0 ? 0 : 1);
    if (!m_table->currentIndex().isValid() && m_model->rowCount() > 0)
        m_table->selectRow(0);
    showDetail();
}

void RunsPage::showDetail() {
    while (QLayoutItem* item = m_values->takeAt(0)) {
        delete item->widget();
        delete item;
    }
    const RunEntry* run = selected();
    for (QPushButton* button : {m_open, m_exportMetrics, m_remove})
        button->setEnabled(run);
    m_exportModel->setEnabled(run && run->hasModel);
    m_failure->setText(Tone::Error, run ? plainText(run->failure, 600) : QString());
    if (!run)
        return;
    const auto& entry = run->entry;
    m_detail->setTitle(plainText(QString::fromStdString(entry.name), 40));
    auto add = [this, at = 0](const QString& name, const QString& value) mutable {
        m_values->addWidget(makeLabel(name, "muted"), at, 0);
        auto* label = new ElidedLabel(value);
        label->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
        m_values->addWidget(label, at++, 1);
    };
    add(tr("Run"), QString::fromStdString(entry.id));
    add(tr("Status"), wordsOf(entry.status).text);
    add(tr("Started"), formatMomentShort(entry.startedAt));
    if (entry.endedAt)
        add(tr("Duration"), formatDuration(*entry.endedAt - entry.startedAt));
    add(tr("Workers"), QString::number(entry.workers));
    if (!run->losses.isEmpty())
        add(tr("Epochs"), formatCount(run->losses.size()));
    for (const auto& [name, value] : run->finalValues)
        add(plainText(name, 40), formatValue(value));
    if (run->samplesPerSecond > 0)
        add(tr("Samples/s"), formatRate(run->samplesPerSecond));
}

void RunsPage::openSelected() {
    if (const RunEntry* run = selected()) {
        m_desk->open(QString::fromStdString(run->entry.id));
        Q_EMIT opened();
    }
}

void RunsPage::exportSelected(bool model) {
    const RunEntry* run = selected();
    if (!run)
        return;
    const QString id = QString::fromStdString(run->entry.id);
    const QString name =
        QString::fromStdString(run->entry.name.empty() ? run->entry.id : run->entry.name);
    auto* dialog = new QFileDialog(window(), model ? tr("Export model") : tr("Export metrics"),
                                   QDir::currentPath());
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    if (model)
        dialog->setNameFilters({tr("Keras model (*.keras)"), tr("Keras weights (*.weights.h5)"),
                                tr("Keras 2 model (*.h5)"), tr("Tensors (*.safetensors)")});
    dialog->setDefaultSuffix(model ? QStringLiteral("keras") : QStringLiteral("csv"));
    dialog->selectFile(name + (model ? QStringLiteral(".keras") : QStringLiteral(".csv")));
    connect(dialog, &QFileDialog::fileSelected, this, [this, id, model](const QString& path) {
        const auto done = [this, path](const Status& status) {
            Q_EMIT noticed(status.ok()
                               ? tr("Saved %1.").arg(path)
                               : plainText(QString::fromStdString(describe(status.error()))),
                           false);
        };
        if (model)
            m_desk->library()->exportModel(id, path, done);
        else
            m_desk->library()->exportMetrics(id, path, done);
    });
    dialog->open();
}

void RunsPage::removeSelected() {
    const RunEntry* run = selected();
    if (!run)
        return;
    const QString id = QString::fromStdString(run->entry.id);
    auto* box = new QMessageBox(QMessageBox::Question, tr("Remove run"),
                                tr("Remove the run %1 with its metrics, logs and model?").arg(id),
                                QMessageBox::Cancel, window());
    auto* remove = box->addButton(tr("Remove"), QMessageBox::DestructiveRole);
    box->setTextFormat(Qt::PlainText);
    box->setDefaultButton(QMessageBox::Cancel);
    box->setAttribute(Qt::WA_DeleteOnClose);
    connect(remove, &QAbstractButton::clicked, this, [this, id] {
        m_desk->library()->remove(id, [this, id](const Status& status) {
            Q_EMIT noticed(status.ok()
                               ? tr("Removed the run %1.").arg(id)
                               : plainText(QString::fromStdString(describe(status.error()))),
                           false);
        });
    });
    box->open();
}

} // namespace lockstep::ui
