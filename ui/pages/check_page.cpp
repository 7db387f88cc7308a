// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/pages/check_page.h"

#include "ui/models/format.h"
#include "ui/widgets/check_delegates.h"
#include "ui/widgets/form.h"
#include "ui/widgets/icons.h"
#include "ui/widgets/state_dot.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QListView>
#include <QPointer>
#include <QProgressBar>
#include <QPushButton>
#include <QSplitter>
#include <QStackedWidget>
#include <QTableView>

#include <algorithm>

namespace lockstep::ui {
namespace {

constexpr int kVerdictWidth = 340;
constexpr int kLeastCell = 13;
constexpr int kMostCell = 40;

QTableView* makeTable(QAbstractItemModel* model, const QString& name) {
    auto* table = new QTableView;
    table->setModel(model);
    table->setAccessibleName(name);
    table->setShowGrid(false);
    table->setTabKeyNavigation(false);
    table->setSelectionMode(QAbstractItemView::SingleSelection);
    table->setEditTriggers(QAbstractItemView::NoEditTriggers);
    table->setMouseTracking(true);
    table->horizontalHeader()->setHighlightSections(false);
    table->verticalHeader()->setHighlightSections(false);
    table->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    table->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    return table;
}

} // namespace

CheckPage::CheckPage(Workspace* workspace, CheckSession* session, QWidget* parent)
    : Page(parent)
    , m_workspace(workspace)
    , m_session(session)
    , m_hostsModel(new CheckHostsModel(this))
    , m_pairsModel(new CheckPairsModel(this))
    , m_findingsModel(new CheckFindingsModel(this))
    , m_stack(new QStackedWidget) {
    auto* column = makeColumn();
    column->addLayout(makeToolbar());
    m_progress = new QProgressBar;
    m_progress->setTextVisible(false);
    m_progress->setFixedHeight(4);
    m_progress->setRange(0, 1000);
    m_progress->setAccessibleName(tr("Progress of the check"));
    QSizePolicy keeps = m_progress->sizePolicy();
    keeps.setRetainSizeWhenHidden(true);
    m_progress->setSizePolicy(keeps);
    column->addWidget(m_progress);

    auto* bands = new QWidget;
    auto* row = new QHBoxLayout(bands);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(16);
    auto* left = new QSplitter(Qt::Vertical);
    left->setChildrenCollapsible(false);
    left->setHandleWidth(16);
    left->setStyleSheet(QStringLiteral("QSplitter::handle { background: transparent; }"));
    left->addWidget(makeHosts());
    left->addWidget(makePairs());
    left->setStretchFactor(0, 1);
    left->setStretchFactor(1, 2);
    row->addWidget(left, 1);
    row->addWidget(makeFindings());
    auto* empty = new EmptyState(
        "check", tr("Not checked yet"),
        tr("A check connects to every host, compares what they are, and lets each pair of workers "
           "talk on the real ports, in both directions. It starts no training and changes nothing "
           "on the hosts."));
    connect(empty->addAction(tr("Check the cluster"), "check"), &QPushButton::clicked, this,
            [this] { start(CheckSession::Bandwidth::Leave); });
    m_stack->addWidget(bands);
    m_stack->addWidget(empty);
    column->addWidget(m_stack, 1);

    connect(session, &CheckSession::changed, this, &CheckPage::refresh);
    connect(workspace, &Workspace::clusterChanged, this, &CheckPage::refresh);
    refresh();
    setFocusProxy(m_run);
}

QBoxLayout* CheckPage::makeToolbar() {
    auto* bar = new QHBoxLayout;
    bar->setSpacing(8);
    m_dot = new StateDot;
    m_words = makeLabel({}, "title");
    m_words->setAccessibleName(tr("State of the check"));
    m_words->setProperty("elides", true);
    m_words->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    m_push = new QPushButton(tr("Push TF_CONFIG"));
    setIconBeside(m_push, "export");
    m_push->setToolTip(tr("Give each host its own tf_config.json, and files to source, for "
                          "programs that you start by hand"));
    m_bandwidth = new QPushButton(tr("Measure bandwidth"));
    m_bandwidth->setToolTip(tr("Check again, and measure how fast each pair is; it fills the "
                               "links for a while"));
    m_run = new QPushButton;
    m_run->setShortcut(QKeySequence(QStringLiteral("F5")));
    connect(m_push, &QPushButton::clicked, this, &CheckPage::push);
    connect(m_bandwidth, &QPushButton::clicked, this,
            [this] { start(CheckSession::Bandwidth::Measure); });
    connect(m_run, &QPushButton::clicked, this, [this] {
        if (m_session->view().isRunning)
            m_session->cancel();
        else
            start(CheckSession::Bandwidth::Leave);
    });
    bar->addWidget(m_dot);
    bar->addWidget(m_words, 1);
    for (auto* button : {m_push, m_bandwidth, m_run})
        bar->addWidget(button);
    return bar;
}

QWidget* CheckPage::makeHosts() {
    auto* card = new Card(tr("Hosts"));
    m_hosts = makeTable(m_hostsModel, tr("Hosts and their facts"));
    m_hosts->setItemDelegate(new HostFactDelegate(m_hosts));
    m_hosts->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_hosts->setWordWrap(false);
    m_hosts->verticalHeader()->hide();
    m_hosts->verticalHeader()->setDefaultSectionSize(30);
    m_hosts->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    card->header()->addWidget(makeLabel(tr("≠ differs from most hosts"), "muted"));
    card->body()->addWidget(m_hosts, 1);
    return card;
}

QWidget* CheckPage::makePairs() {
    auto* card = new Card(tr("Pairs"));
    m_pairs = makeTable(m_pairsModel, tr("Pairs: the row dials the column"));
    m_pairs->setItemDelegate(new PairDelegate(m_pairs));
    m_pairs->setSelectionBehavior(QAbstractItemView::SelectItems);
    m_pairs->setCornerButtonEnabled(false);
    for (QHeaderView* header : {m_pairs->horizontalHeader(), m_pairs->verticalHeader()}) {
        header->setSectionResizeMode(QHeaderView::Fixed);
        header->setMinimumSectionSize(kLeastCell);
    }
    m_pairs->verticalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    m_pair = makeLabel({});
    m_pair->setWordWrap(true);
    m_pair->setAccessibleName(tr("The chosen pair in words"));
    m_pair->setMinimumHeight(2 * fontMetrics().lineSpacing());
    m_pair->setAlignment(Qt::AlignLeft | Qt::AlignTop);
    connect(m_pairs, &QAbstractItemView::entered, this, &CheckPage::showPair);
    connect(m_pairs->selectionModel(), &QItemSelectionModel::currentChanged, this,
            &CheckPage::showPair);
    connect(m_pairsModel, &QAbstractItemModel::modelReset, this, &CheckPage::fitMatrix);
    card->header()->addWidget(
        makeLabel(tr("● good   ◐ warning   ○ dropped   ✕ refused   ≠ wrong   ? name"), "muted"));
    card->body()->addWidget(m_pairs, 1);
    card->body()->addWidget(m_pair);
    return card;
}

QWidget* CheckPage::makeFindings() {
    m_verdict = new Card(tr("Findings"));
    m_verdict->setFixedWidth(kVerdictWidth);
    m_findings = new QListView;
    m_findings->setModel(m_findingsModel);
    m_findings->setItemDelegate(new FindingDelegate(m_findings));
    m_findings->setAccessibleName(tr("Findings"));
    m_findings->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    m_findings->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_findings->setResizeMode(QListView::Adjust);
    m_verdict->body()->addWidget(m_findings, 1);
    return m_verdict;
}

void CheckPage::start(CheckSession::Bandwidth bandwidth) {
    m_session->start(m_workspace->cluster(), bandwidth);
}

void CheckPage::push() {
    m_push->setEnabled(false);
    m_session->push(m_workspace->cluster(), [self = QPointer<CheckPage>(this)](const Status& end) {
        if (!self)
            return;
        self->refresh();
        Q_EMIT self->noticed(
            end.ok() ? tr("Each host has its TF_CONFIG, read back and compared.")
                     : tr("TF_CONFIG could not be pushed: %1")
                           .arg(plainText(QString::fromStdString(describe(end.error())))),
            false);
    });
}

void CheckPage::refresh() {
    const CheckView& view = m_session->view();
    m_hostsModel->setView(view);
    m_pairsModel->setView(view);
    m_findingsModel->setView(view);
    const int errors = view.count(FindingKind::Error);
    const int warnings = view.count(FindingKind::Warning);
    const bool isEmpty = view.hosts.isEmpty() && !view.isRunning;
    m_stack->setCurrentIndex(isEmpty ? 1 : 0);
    m_dot->setVisible(!isEmpty);
    m_dot->setState(view.isRunning ? DotShape::Half
                    : errors > 0   ? DotShape::Cross
                    : warnings > 0 ? DotShape::Half
                                   : DotShape::Full,
                    view.isRunning ? Tone::Accent
                    : errors > 0   ? Tone::Error
                    : warnings > 0 ? Tone::Warning
                                   : Tone::Good,
                    view.words);
    m_words->setText(isEmpty ? tr("Check") : plainText(view.words, 200));
    m_words->setToolTip(m_words->text());
    m_progress->setVisible(view.isRunning);
    m_progress->setValue(static_cast<int>(1000 * view.progress));
    m_run->setText(view.isRunning ? tr("Cancel") : isEmpty ? tr("Check") : tr("Check again"));
    m_run->setToolTip(view.isRunning ? tr("Cancel the check (F5)") : tr("Check the cluster (F5)"));
    m_run->setShortcut(QKeySequence(QStringLiteral("F5"))); // setText takes it away
    const bool canStart = m_workspace->cluster().size() > 0;
    m_run->setEnabled(view.isRunning || canStart);
    m_bandwidth->setEnabled(!view.isRunning && canStart);
    m_push->setVisible(m_session->canPush());
    m_push->setEnabled(!view.isRunning && canStart);
    QStringList counts;
    if (errors > 0)
        counts.append(countWords(errors, tr("1 error"), tr("%1 errors")));
    if (warnings > 0)
        counts.append(countWords(warnings, tr("1 warning"), tr("%1 warnings")));
    m_verdict->setTitle(!counts.isEmpty() ? counts.join(QStringLiteral(", "))
                        : view.isRunning  ? tr("Findings")
                                          : tr("Nothing stands in the way"));
    m_hosts->resizeColumnsToContents();
    if (m_pairs->currentIndex().isValid())
        showPair(m_pairs->currentIndex());
    else
        m_pair->setText(
            tr("The row dials the column. Point at a cell, or move to it, to read it."));
    fitMatrix();
}

void CheckPage::fitMatrix() {
    const int count = std::max(1, m_pairsModel->rowCount());
    const int room = m_pairs->height() - m_pairs->horizontalHeader()->sizeHint().height() - 4;
    const int side = std::clamp(room / count, kLeastCell, kMostCell);
    QFont small = font();
    small.setPixelSize(std::clamp(side - 4, 9, 13));
    if (small.pixelSize() != m_headerPixels) {
        m_headerPixels = small.pixelSize(); // the sheet of the application wins over a font
        m_pairs->setStyleSheet(
            QStringLiteral("QHeaderView::section { border: none; padding: 0 2px; "
                           "font-size: %1px; }")
                .arg(m_headerPixels));
    }
    for (QHeaderView* header : {m_pairs->horizontalHeader(), m_pairs->verticalHeader()})
        header->setDefaultSectionSize(side);
    m_pairs->horizontalHeader()->setDefaultAlignment(Qt::AlignCenter);
    int widest = 0;
    for (int row = 0; row < m_pairsModel->rowCount(); ++row)
        widest = std::max(
            widest, QFontMetrics(small).horizontalAdvance(
                        m_pairsModel->headerData(row, Qt::Vertical, Qt::DisplayRole).toString()));
    m_pairs->verticalHeader()->setFixedWidth(widest + 12);
}

void CheckPage::resizeEvent(QResizeEvent* event) {
    Page::resizeEvent(event);
    fitMatrix();
}

void CheckPage::showPair(const QModelIndex& index) {
    if (index.isValid())
        m_pair->setText(index.data(Qt::ToolTipRole).toString());
}

} // namespace lockstep::ui
