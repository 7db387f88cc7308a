// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/pages/cluster_page.h"

#include "ui/dialogs/add_workers_dialog.h"
#include "ui/dialogs/host_details_dialog.h"
#include "ui/models/format.h"
#include "ui/models/workers_model.h"
#include "ui/pages/tf_config_card.h"
#include "ui/pages/worker_inspector.h"
#include "ui/widgets/delegates.h"
#include "ui/widgets/form.h"
#include "ui/widgets/icons.h"

#include <QAction>
#include <QClipboard>
#include <QFileDialog>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QListView>
#include <QMenu>
#include <QPushButton>
#include <QSaveFile>
#include <QScrollArea>
#include <QSpinBox>
#include <QStackedWidget>
#include <QToolButton>

namespace lockstep::ui {
namespace {

constexpr int kSideWidth = 388;
constexpr int kFirstPort = 2222;
constexpr int kMostLocal = 64;

/// An address for one more worker: the next port on the last worker's host.
std::string nextAddress(const cluster::ClusterSpec& spec) {
    std::string host = "127.0.0.1";
    int port = kFirstPort - 1;
    for (const auto& worker : spec.workers())
        if (auto address = cluster::Address::parse(worker.address); address.ok()) {
            host = address->host;
            port = std::max(port, address->port);
        }
    cluster::Address next;
    next.host = host;
    next.port = std::min(port + 1, 65535);
    return next.text();
}

} // namespace

ClusterPage::ClusterPage(Workspace* workspace, SshAccess access, QWidget* parent)
    : Page(parent)
    , m_workspace(workspace)
    , m_access(std::move(access))
    , m_model(new WorkersModel(workspace, this))
    , m_problem(new ProblemLabel) {
    auto* column = makeColumn();
    column->addLayout(makeToolbar());
    column->addWidget(m_problem);
    auto* row = new QHBoxLayout;
    row->setSpacing(16);
    row->addWidget(makeList(), 1);
    row->addWidget(makeSide());
    column->addLayout(row, 1);

    connect(m_model, &WorkersModel::moveRequested, this, &ClusterPage::moveWorker);
    connect(m_list->selectionModel(), &QItemSelectionModel::currentChanged, this,
            &ClusterPage::refresh);
    connect(workspace, &Workspace::clusterChanged, this, &ClusterPage::refresh);
    connect(workspace, &Workspace::problemsChanged, this, &ClusterPage::refresh);
    select(0);
    refresh();
    setFocusProxy(m_list);
}

QBoxLayout* ClusterPage::makeToolbar() {
    auto* bar = new QHBoxLayout;
    bar->setSpacing(8);
    m_name = new QLineEdit;
    m_name->setFont(scaled(font(), 1.25, QFont::DemiBold));
    m_name->setAccessibleName(tr("Name of the cluster"));
    m_name->setToolTip(tr("Name of the cluster"));
    m_name->setMaximumWidth(260);
    connect(m_name, &QLineEdit::textEdited, this, [this](const QString& text) {
        m_workspace->editCluster(
            tr("Rename cluster"), [&](auto& spec) { spec.setName(text.toStdString()); },
            QStringLiteral("name"));
    });
    bar->addWidget(m_name, 1);
    bar->addStretch(1);

    m_up = makeIconButton("up", tr("Move up in rank (Alt+Up)"));
    m_down = makeIconButton("down", tr("Move down in rank (Alt+Down)"));
    m_remove = makeIconButton("trash", tr("Remove the selected worker (Del)"));
    connect(m_up, &QToolButton::clicked, this, [this] { moveSelected(-1); });
    connect(m_down, &QToolButton::clicked, this, [this] { moveSelected(1); });
    connect(m_remove, &QToolButton::clicked, this, &ClusterPage::removeSelected);
    for (auto* button : {m_up, m_down, m_remove})
        bar->addWidget(button);

    m_count = new QSpinBox;
    m_count->setRange(1, kMostLocal);
    m_count->setValue(4);
    m_count->setAccessibleName(tr("Number of local workers"));
    m_local = new QPushButton(tr("Local workers"));
    setIconBeside(m_local, "machine");
    m_local->setToolTip(tr("Make the cluster so many workers on this machine (Ctrl+Shift+L)"));
    m_local->setShortcut(QKeySequence(QStringLiteral("Ctrl+Shift+L")));
    connect(m_local, &QPushButton::clicked, this, [this] { makeLocal(m_count->value()); });
    bar->addWidget(m_count);
    bar->addWidget(m_local);
    auto* hosts = new QPushButton(tr("Add hosts"));
    setIconBeside(hosts, "plus");
    hosts->setToolTip(tr("Add workers on other machines: typed, from ~/.ssh/config, or a pasted "
                         "list (Ctrl+Shift+H)"));
    hosts->setShortcut(QKeySequence(QStringLiteral("Ctrl+Shift+H")));
    connect(hosts, &QPushButton::clicked, this, &ClusterPage::addHosts);
    bar->addWidget(hosts);
    auto* more = makeIconButton("more", tr("More"));
    fillMore(more);
    bar->addWidget(more);
    return bar;
}

QWidget* ClusterPage::makeList() {
    m_list = new QListView;
    m_list->setModel(m_model);
    m_list->setItemDelegate(new WorkerDelegate(m_list));
    m_list->setAccessibleName(tr("Workers in order of rank"));
    m_list->setMouseTracking(true);
    m_list->setDragDropMode(QAbstractItemView::InternalMove);
    m_list->setDefaultDropAction(Qt::MoveAction);
    m_list->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_list->setStyleSheet(QStringLiteral("QListView { background: transparent; }"));
    const auto shortcut = [this](const QString& keys, auto slot) {
        auto* action = new QAction(m_list);
        action->setShortcut(QKeySequence(keys));
        action->setShortcutContext(Qt::WidgetShortcut);
        connect(action, &QAction::triggered, this, slot);
        m_list->addAction(action);
    };
    shortcut(QStringLiteral("Alt+Up"), [this] { moveSelected(-1); });
    shortcut(QStringLiteral("Alt+Down"), [this] { moveSelected(1); });
    shortcut(QStringLiteral("Del"), [this] { removeSelected(); });

    auto* empty =
        new EmptyState("cluster", tr("No workers yet"),
                       tr("A cluster is the set of workers that train one model together. "
                          "Start with workers on this machine, or add the hosts that you "
                          "reach by SSH."));
    auto* local = empty->addAction(tr("4 local workers"), "machine");
    connect(local, &QPushButton::clicked, this, [this] { makeLocal(4); });
    connect(empty->addAction(tr("Add hosts"), "plus"), &QPushButton::clicked, this,
            &ClusterPage::addHosts);
    m_stack = new QStackedWidget;
    m_stack->addWidget(m_list);
    m_stack->addWidget(empty);
    return m_stack;
}

QWidget* ClusterPage::makeSide() {
    auto* side = new QWidget;
    side->setProperty("kind", QStringLiteral("page"));
    auto* column = new QVBoxLayout(side);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(16);
    m_inspector = new WorkerInspector(m_workspace);
    m_config = new TfConfigCard(m_workspace);
    column->addWidget(m_inspector);
    column->addWidget(m_config, 1);
    connect(m_inspector, &WorkerInspector::testWanted, this, &ClusterPage::showHost);
    m_inspector->setCanTest(m_access.isThere());
    connect(m_config, &TfConfigCard::noticed, this,
            [this](const QString& text) { Q_EMIT noticed(text, false); });
    auto* scroll = new QScrollArea; // long problems on a low screen
    scroll->setWidgetResizable(true);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setWidget(side);
    scroll->setFixedWidth(kSideWidth);
    scroll->setFocusPolicy(Qt::NoFocus);
    scroll->setAccessibleName(tr("Selected worker"));
    return scroll;
}

int ClusterPage::selectedRow() const {
    const QModelIndex current = m_list->currentIndex();
    return current.isValid() ? current.row() : -1;
}

void ClusterPage::select(int row) {
    if (m_model->rowCount() > 0)
        m_list->setCurrentIndex(m_model->index(std::clamp(row, 0, m_model->rowCount() - 1)));
}

void ClusterPage::addWorker() {
    cluster::Worker worker;
    worker.address = nextAddress(m_workspace->cluster());
    m_workspace->editCluster(tr("Add worker"), [&](auto& spec) { spec.add(worker); });
    select(m_model->rowCount() - 1);
    m_list->setFocus();
}

void ClusterPage::addHosts() {
    auto* dialog = new AddWorkersDialog(m_workspace->cluster(), m_access, this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &QDialog::accepted, this, [this, dialog] {
        const auto workers = dialog->workers();
        const auto count = static_cast<std::int64_t>(workers.size());
        m_workspace->editCluster(countWords(count, tr("Add 1 worker"), tr("Add %1 workers")),
                                 [&](auto& spec) {
                                     for (const auto& worker : workers)
                                         spec.add(worker);
                                 });
        select(m_model->rowCount() - static_cast<int>(count));
        m_list->setFocus();
        Q_EMIT noticed(countWords(count, tr("Added 1 worker."), tr("Added %1 workers.")), true);
    });
    dialog->open();
}

void ClusterPage::fillMore(QToolButton* button) {
    auto* menu = new QMenu(button);
    auto* one = menu->addAction(tr("Add one more worker"), this, &ClusterPage::addWorker);
    one->setShortcut(QKeySequence(QStringLiteral("Ctrl+Shift+A")));
    addAction(one); // so that its keys work while the menu is closed
    menu->addSeparator();
    menu->addAction(tr("Copy the host list"), this, [this] {
        QGuiApplication::clipboard()->setText(hostListOf(m_workspace->cluster()));
        Q_EMIT noticed(tr("Copied the host list."), false);
    });
    menu->addAction(tr("Save the host list as…"), this, &ClusterPage::exportHosts);
    button->setMenu(menu);
    button->setPopupMode(QToolButton::InstantPopup);
}

void ClusterPage::exportHosts() {
    auto* dialog = new QFileDialog(this, tr("Save the host list"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->selectFile(QStringLiteral("hosts.txt"));
    connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& path) {
        QSaveFile file(path);
        const bool saved = file.open(QIODevice::WriteOnly) &&
                           file.write(hostListOf(m_workspace->cluster()).toUtf8()) >= 0 &&
                           file.commit();
        Q_EMIT noticed(
            saved ? tr("Saved the host list as %1.").arg(plainText(path, 200))
                  : tr("Could not save the host list: %1.").arg(plainText(file.errorString(), 200)),
            false);
    });
    dialog->open();
}

void ClusterPage::showHost() {
    const int row = selectedRow();
    const auto workers = m_workspace->cluster().workers();
    if (row < 0 || row >= static_cast<int>(workers.size()) || !m_access.isThere())
        return;
    const auto destination =
        ssh::parseDestination(QString::fromStdString(workers[std::size_t(row)].sshText()));
    if (!destination.ok()) {
        Q_EMIT noticed(plainText(QString::fromStdString(destination.error().message)), false);
        return;
    }
    auto* dialog = new HostDetailsDialog(m_access, *destination, this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->open();
    dialog->startTest();
}

void ClusterPage::makeLocal(int count) {
    const bool had = m_workspace->cluster().size() > 0;
    m_workspace->editCluster(tr("Local workers"), [&](auto& spec) {
        auto fresh = cluster::localCluster(count, kFirstPort);
        while (spec.size() > 0)
            spec.remove(spec.size() - 1);
        for (const auto& worker : fresh.workers())
            spec.add(worker);
    });
    select(0);
    if (had)
        Q_EMIT noticed(countWords(count, tr("The cluster is now 1 worker on this machine."),
                                  tr("The cluster is now %1 workers on this machine.")),
                       true);
}

void ClusterPage::removeSelected() {
    const int row = selectedRow();
    if (row < 0)
        return;
    const QString name = m_model->index(row).data().toString();
    m_workspace->editCluster(tr("Remove worker"),
                             [&](auto& spec) { spec.remove(static_cast<std::size_t>(row)); });
    select(row);
    Q_EMIT noticed(tr("Removed %1.").arg(name), true);
}

void ClusterPage::moveSelected(int by) {
    const int row = selectedRow();
    if (row >= 0 && row + by >= 0 && row + by < m_model->rowCount())
        moveWorker(row, row + by);
}

void ClusterPage::moveWorker(int from, int to) {
    m_workspace->editCluster(tr("Reorder workers"), [&](auto& spec) {
        spec.move(static_cast<std::size_t>(from), static_cast<std::size_t>(to));
    });
    select(to);
}

void ClusterPage::refresh() {
    const int row = selectedRow();
    const int count = m_model->rowCount();
    m_stack->setCurrentIndex(count > 0 ? 0 : 1);
    if (const QString name = QString::fromStdString(m_workspace->cluster().name());
        m_name->text() != name) {
        m_name->setText(name);
        m_name->setCursorPosition(0);
    }
    m_problem->setProblem(m_workspace->problemExactlyAt(Document::Cluster, "workers"));
    m_up->setEnabled(row > 0);
    m_down->setEnabled(row >= 0 && row + 1 < count);
    m_remove->setEnabled(row >= 0);
    m_inspector->setRow(row);
    m_config->setRow(row);
    m_list->doItemsLayout(); // a card with a problem is taller
}

void ClusterPage::reveal(const QString& path) {
    const QStringList parts = path.split(QLatin1Char('.'));
    if (parts.size() < 2 || parts[0] != QStringLiteral("workers"))
        return;
    select(parts[1].toInt());
    m_inspector->focusField(parts.value(2));
}

} // namespace lockstep::ui
