// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/dialogs/add_workers_dialog.h"

#include "ui/models/format.h"
#include "ui/widgets/form.h"
#include "ui/widgets/icons.h"

#include <QAction>
#include <QComboBox>
#include <QFile>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QListWidget>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QStackedWidget>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace lockstep::ui {
namespace {

constexpr int kSourceHeight = 168;
constexpr int kRow = 32;
constexpr int kMostProblems = 3;
constexpr qint64 kLargestFile = 1024 * 1024;

class RowDelegate final : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;

protected:
    void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
        QStyledItemDelegate::initStyleOption(option, index);
        if (index.column() == NewWorkersModel::Address)
            option->font = monospace(option->font);
        if (index.column() == NewWorkersModel::Problem)
            option->palette.setColor(QPalette::Text, currentTokens().error);
    }
};

QString sentenceOf(const cluster::HostListProblem& each) {
    const Problem& problem = each.problem;
    QString text = AddWorkersDialog::tr("Line %1, column %2: %3")
                       .arg(problem.line)
                       .arg(each.column)
                       .arg(QString::fromStdString(problem.message));
    if (!problem.hint.empty())
        text += QLatin1Char(' ') + QString::fromStdString(problem.hint);
    else if (!problem.expected.empty())
        text += QLatin1Char(' ') +
                AddWorkersDialog::tr("Expected: %1.").arg(QString::fromStdString(problem.expected));
    return plainText(text, 300);
}

} // namespace

AddWorkersDialog::AddWorkersDialog(const cluster::ClusterSpec& spec, SshAccess access,
                                   QWidget* parent)
    : QDialog(parent)
    , m_access(std::move(access))
    , m_model(new NewWorkersModel(spec, this))
    , m_stack(new QStackedWidget) {
    setWindowTitle(tr("Add workers"));
    auto* head = makeLabel(tr("Add workers"), "title");
    head->setFont(scaled(font(), 1.15, QFont::DemiBold));
    QStringList words = {tr("Type"), tr("Paste a list")};
    m_order = {From::Typed, From::List};
    if (m_access.aliases) {
        words.insert(1, tr("From ~/.ssh/config"));
        m_order.insert(1, From::Config);
    }
    m_sources = new Segments(words, tr("Where the hosts come from"));
    connect(m_sources, &Segments::chosen, this, [this](int index) { show(m_order[index]); });
    m_stack->addWidget(makeTyped());
    m_stack->addWidget(makeConfig());
    m_stack->addWidget(makeList());
    m_stack->setFixedHeight(kSourceHeight);

    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(8);
    buttons->addStretch(1);
    auto* cancel = new QPushButton(tr("Cancel"));
    cancel->setAutoDefault(false);
    connect(cancel, &QPushButton::clicked, this, &QDialog::reject);
    m_add = new QPushButton;
    m_add->setProperty("kind", QStringLiteral("primary"));
    m_add->setAutoDefault(false); // Return in the line adds a row
    connect(m_add, &QPushButton::clicked, this, &QDialog::accept);
    buttons->addWidget(cancel);
    buttons->addWidget(m_add);

    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(24, 20, 24, 20);
    column->setSpacing(12);
    column->addWidget(head);
    column->addWidget(m_sources);
    column->addWidget(m_stack);
    column->addWidget(makePreview(), 1);
    column->addLayout(buttons);
    resize(760, 560);
    for (const auto signal : {&QAbstractItemModel::rowsInserted, &QAbstractItemModel::rowsRemoved})
        connect(m_model, signal, this, &AddWorkersDialog::refresh);
    connect(m_model, &QAbstractItemModel::dataChanged, this, &AddWorkersDialog::refresh);
    connect(m_model, &QAbstractItemModel::modelReset, this, &AddWorkersDialog::refresh);
    refresh();
    show(From::Typed);
}

void AddWorkersDialog::show(From from) {
    m_sources->setCurrent(static_cast<int>(m_order.indexOf(from)));
    m_stack->setCurrentIndex(static_cast<int>(from));
    QWidget* const first[] = {m_typed, m_aliases, m_text};
    first[static_cast<int>(from)]->setFocus();
}

QWidget* AddWorkersDialog::makeTyped() {
    auto* page = new QWidget;
    m_typed = new QLineEdit;
    m_typed->setPlaceholderText(QStringLiteral("alice@n1"));
    m_typed->setFont(monospace(font()));
    m_typedProblem = new ProblemLabel;
    auto* put = new QPushButton(tr("Put on the list"));
    put->setAutoDefault(false);
    put->setToolTip(tr("Put the host on the list below (Return)"));
    connect(put, &QPushButton::clicked, this, &AddWorkersDialog::addTyped);
    connect(m_typed, &QLineEdit::returnPressed, this, &AddWorkersDialog::addTyped);
    connect(m_typed, &QLineEdit::textEdited, this,
            [this] { m_typedProblem->setText(Tone::Error, {}); });
    auto* row = new QHBoxLayout;
    row->setSpacing(8);
    row->addWidget(new Field(tr("Host, as ssh takes it"), m_typed), 1);
    row->addWidget(put, 0, Qt::AlignBottom);
    auto* words = makeLabel(tr("An alias of ~/.ssh/config, user@host, an address, or "
                               "ssh://user@host:port. Several workers may run on one host."),
                            "muted");
    words->setWordWrap(true);
    auto* column = new QVBoxLayout(page);
    column->setContentsMargins(0, 0, 0, 0);
    column->addLayout(row);
    column->addWidget(m_typedProblem);
    column->addWidget(words);
    column->addStretch(1);
    return page;
}

QWidget* AddWorkersDialog::makeConfig() {
    m_aliases = new QListWidget;
    m_aliases->setProperty("kind", QStringLiteral("framed"));
    m_aliases->setAccessibleName(tr("Hosts of ~/.ssh/config"));
    m_aliases->setSpacing(4);
    const QStringList names = m_access.aliases ? m_access.aliases() : QStringList();
    for (const QString& name : names) {
        auto* item = new QListWidgetItem(plainText(name, 200), m_aliases);
        item->setData(Qt::UserRole, name);
        item->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsUserCheckable);
        item->setCheckState(Qt::Unchecked);
    }
    if (names.isEmpty()) {
        auto* item = new QListWidgetItem(tr("There is no Host with a plain name in ~/.ssh/config."),
                                         m_aliases);
        item->setFlags(Qt::NoItemFlags);
    }
    connect(m_aliases, &QListWidget::itemChanged, this, [this](QListWidgetItem* item) {
        const QString name = item->data(Qt::UserRole).toString();
        m_model->removeSsh(NewWorkersModel::Source::Config, name);
        if (item->checkState() == Qt::Checked)
            if (const auto destination = ssh::parseDestination(name); destination.ok())
                add(NewWorkersModel::Source::Config, name, *destination);
    });
    return m_aliases;
}

QWidget* AddWorkersDialog::makeList() {
    auto* page = new QWidget;
    m_text = new QPlainTextEdit;
    m_text->setFont(monospace(font()));
    m_text->setTabChangesFocus(true);
    m_text->setAccessibleName(tr("List of hosts"));
    m_text->setPlaceholderText(tr("alice@n1, n2:2222\nn3 slots=2"));
    m_number = new QComboBox;
    m_number->addItems({tr("Number: guess"), tr("Number: port"), tr("Number: workers")});
    m_number->setAccessibleName(tr("What the number after a host means"));
    auto* open = new QPushButton(tr("Open a file"));
    open->setAutoDefault(false);
    setIconBeside(open, "open");
    m_listProblem = new ProblemLabel;
    connect(m_text, &QPlainTextEdit::textChanged, this, &AddWorkersDialog::readList);
    connect(m_number, &QComboBox::activated, this, &AddWorkersDialog::readList);
    connect(open, &QPushButton::clicked, this, &AddWorkersDialog::openFile);
    auto* row = new QHBoxLayout;
    row->setSpacing(8);
    row->addWidget(m_number);
    row->addWidget(open);
    row->addStretch(1);
    auto* column = new QVBoxLayout(page);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(8);
    column->addWidget(m_text, 1);
    column->addLayout(row);
    column->addWidget(m_listProblem);
    return page;
}

QWidget* AddWorkersDialog::makePreview() {
    auto* box = new QWidget;
    m_table = new QTableView;
    m_table->setModel(m_model);
    m_table->setItemDelegate(new RowDelegate(m_table));
    m_table->setAccessibleName(tr("Workers to add"));
    m_table->setProperty("kind", QStringLiteral("framed"));
    m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_table->setSelectionMode(QAbstractItemView::SingleSelection);
    m_table->setEditTriggers(QAbstractItemView::DoubleClicked | QAbstractItemView::EditKeyPressed |
                             QAbstractItemView::AnyKeyPressed);
    m_table->setTabKeyNavigation(false);
    m_table->setShowGrid(false);
    m_table->setWordWrap(false);
    m_table->verticalHeader()->hide();
    m_table->verticalHeader()->setDefaultSectionSize(kRow);
    m_table->horizontalHeader()->setHighlightSections(false);
    m_table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    m_table->horizontalHeader()->setStretchLastSection(true);
    m_table->setColumnWidth(NewWorkersModel::RunsOn, 220);
    m_table->setColumnWidth(NewWorkersModel::Address, 220);
    auto* remove = new QAction(tr("Remove from the list"), m_table);
    remove->setShortcut(QKeySequence::Delete);
    remove->setShortcutContext(Qt::WidgetShortcut);
    connect(remove, &QAction::triggered, this, [this] {
        if (m_table->currentIndex().isValid())
            m_model->removeRow(m_table->currentIndex().row());
    });
    m_table->addAction(remove);
    m_problem = new ProblemLabel;
    auto* words = makeLabel(tr("The address is where the other workers reach this one: a name or "
                               "number that they know, and a port that is free there. F2 changes "
                               "it, Del takes a row out."),
                            "muted");
    words->setWordWrap(true);
    auto* column = new QVBoxLayout(box);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(8);
    column->addWidget(m_table, 1);
    column->addWidget(m_problem);
    column->addWidget(words);
    return box;
}

void AddWorkersDialog::add(NewWorkersModel::Source source, const QString& ssh,
                           const ssh::Destination& destination) {
    m_model->add(source, ssh, destination);
    if (m_access.resolve)
        m_access.resolve(destination, this, [this, ssh](const Result<ssh::Resolved>& where) {
            if (where.ok() && !where->hostname.isEmpty())
                m_model->setHost(ssh, where->hostname);
        });
}

void AddWorkersDialog::addTyped() {
    const QString text = m_typed->text().trimmed();
    if (text.isEmpty())
        return;
    const auto destination = ssh::parseDestination(text);
    if (!destination.ok()) {
        m_typedProblem->setText(Tone::Error,
                                plainText(QString::fromStdString(destination.error().message)));
        return;
    }
    add(NewWorkersModel::Source::Typed, text, *destination);
    m_typed->clear();
}

void AddWorkersDialog::readList() {
    const QString text = m_text->toPlainText();
    if (text.trimmed().isEmpty()) {
        m_model->setList({});
        m_listProblem->setText(Tone::Error, {});
        return;
    }
    const auto list = cluster::readHostList(
        text.toStdString(), static_cast<cluster::HostNumber>(m_number->currentIndex()));
    m_model->setList(list.workers);
    QStringList problems;
    for (const auto& problem : list.problems)
        if (problems.size() < kMostProblems)
            problems.append(sentenceOf(problem));
    if (const auto more = static_cast<int>(list.problems.size()) - kMostProblems; more > 0)
        problems.append(countWords(more, tr("And 1 more."), tr("And %1 more.")));
    m_listProblem->setText(Tone::Error, problems.join(QLatin1Char('\n')));
}

void AddWorkersDialog::openFile() {
    auto* dialog = new QFileDialog(this, tr("Open a list of hosts"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& path) {
        QFile file(path);
        if (!file.open(QIODevice::ReadOnly) || file.size() > kLargestFile)
            m_listProblem->setText(Tone::Error,
                                   tr("%1 cannot be read as a list of hosts: it is missing, "
                                      "unreadable, or larger than 1 MiB.")
                                       .arg(plainText(path, 200)));
        else
            m_text->setPlainText(QString::fromUtf8(file.readAll()));
    });
    dialog->open();
}

void AddWorkersDialog::refresh() {
    const int count = m_model->rowCount();
    const int problems = m_model->problems();
    m_add->setText(count == 0 ? tr("Add workers")
                              : countWords(count, tr("Add 1 worker"), tr("Add %1 workers")));
    m_add->setEnabled(count > 0 && problems == 0);
    m_table->setColumnHidden(NewWorkersModel::Problem, problems == 0);
    m_table->horizontalHeader()->setStretchLastSection(true);
    m_problem->setText(Tone::Error,
                       problems == 0
                           ? QString()
                           : countWords(problems,
                                        tr("1 worker needs another address before it can be "
                                           "added."),
                                        tr("%1 workers need another address before they can be "
                                           "added.")));
}

} // namespace lockstep::ui
