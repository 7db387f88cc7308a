// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/pages/worker_inspector.h"

#include <QComboBox>
#include <QGridLayout>
#include <QPlainTextEdit>
#include <QPushButton>

namespace lockstep::ui {
namespace {

constexpr int kEnvHeight = 52;
constexpr int kHeaderButton = 22;

QString textOf(const std::vector<std::pair<std::string, std::string>>& env) {
    QStringList lines;
    for (const auto& [key, value] : env)
        lines.append(QString::fromStdString(key + "=" + value));
    return lines.join(QLatin1Char('\n'));
}

/// Lines of NAME=value; a line without "=" is a name that is still being typed.
std::vector<std::pair<std::string, std::string>> envOf(const QString& text) {
    std::vector<std::pair<std::string, std::string>> env;
    for (const QString& line : text.split(QLatin1Char('\n'), Qt::SkipEmptyParts)) {
        const auto equals = line.indexOf(QLatin1Char('='));
        const QString key = (equals < 0 ? line : line.left(equals)).trimmed();
        if (!key.isEmpty())
            env.emplace_back(key.toStdString(),
                             equals < 0 ? std::string() : line.mid(equals + 1).toStdString());
    }
    return env;
}

void put(QLineEdit* edit, const QString& text) {
    if (edit->text() != text)
        edit->setText(text);
}

} // namespace

WorkerInspector::WorkerInspector(Workspace* workspace, QWidget* parent)
    : QWidget(parent)
    , m_workspace(workspace)
    , m_card(new Card(tr("Worker")))
    , m_test(new QPushButton(tr("Test connection")))
    , m_name(new QLineEdit)
    , m_role(new QComboBox)
    , m_address(new QLineEdit)
    , m_machine(new QLineEdit)
    , m_env(new QPlainTextEdit) {
    m_address->setFont(monospace(font()));
    m_address->setPlaceholderText(QStringLiteral("10.0.0.1:2222"));
    m_machine->setPlaceholderText(tr("this machine"));
    m_machine->setToolTip(tr("Where the worker runs: empty for this machine, or an SSH destination "
                             "as in alice@n1"));
    m_env->setFont(monospace(font()));
    m_env->setPlaceholderText(QStringLiteral("NAME=value"));
    m_env->setTabChangesFocus(true);
    m_env->setFixedHeight(kEnvHeight);
    for (const auto& name : cluster::typeNames())
        m_role->addItem(QString::fromStdString(name));

    auto* grid = new QGridLayout;
    grid->setHorizontalSpacing(12);
    grid->setVerticalSpacing(10);
    grid->setColumnStretch(0, 3);
    grid->setColumnStretch(1, 2);
    const auto add = [&](const char* key, const QString& label, QWidget* editor, int row, int at,
                         int span) {
        auto* field = new Field(label, editor);
        m_fields.append({key, field});
        grid->addWidget(field, row, at, 1, span, Qt::AlignTop);
    };
    add("name", tr("Name"), m_name, 0, 0, 1);
    add("task", tr("Role"), m_role, 0, 1, 1);
    add("address", tr("Address for the other workers"), m_address, 1, 0, 1);
    add("ssh", tr("Runs on"), m_machine, 1, 1, 1);
    add("env", tr("Environment"), m_env, 2, 0, 2);
    m_test->setProperty("kind", QStringLiteral("link"));
    m_test->setToolTip(tr("Connect to this worker's host and say what it is (Ctrl+T)"));
    m_test->setShortcut(QKeySequence(QStringLiteral("Ctrl+T")));
    m_test->setFixedHeight(kHeaderButton); // the card keeps its height for its fields
    m_test->hide();
    connect(m_test, &QPushButton::clicked, this, &WorkerInspector::testWanted);
    m_card->header()->addWidget(m_test);
    m_card->body()->addLayout(grid);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(m_card);
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Preferred);

    connect(m_name, &QLineEdit::textEdited, this, [this](const QString& text) {
        edit(tr("Rename worker"), "name", [&](auto& worker) { worker.name = text.toStdString(); });
    });
    connect(m_role, &QComboBox::activated, this, [this](int index) {
        edit(tr("Change role"), "task",
             [&](auto& worker) { worker.type = static_cast<cluster::TaskType>(index); });
    });
    connect(m_address, &QLineEdit::textEdited, this, [this](const QString& text) {
        edit(tr("Change address"), "address",
             [&](auto& worker) { worker.address = text.toStdString(); });
    });
    connect(m_machine, &QLineEdit::textEdited, this, [this](const QString& text) {
        edit(tr("Change machine"), "ssh", [&](auto& worker) {
            worker.ssh = text.trimmed().isEmpty() ? json::Value() : json::Value(text.toStdString());
        });
    });
    connect(m_env, &QPlainTextEdit::textChanged, this, [this] {
        if (m_env->hasFocus())
            edit(tr("Change environment"), "env",
                 [&](auto& worker) { worker.env = envOf(m_env->toPlainText()); });
    });
}

void WorkerInspector::edit(const QString& what, const char* key,
                           const std::function<void(cluster::Worker&)>& change) {
    if (m_row < 0)
        return;
    const auto place = static_cast<std::size_t>(m_row);
    m_workspace->editCluster(
        what,
        [&](cluster::ClusterSpec& spec) {
            cluster::Worker worker = spec.workers().at(place);
            change(worker);
            spec.set(place, worker);
        },
        QStringLiteral("%1.%2").arg(m_row).arg(QLatin1String(key)));
}

void WorkerInspector::setRow(int row) {
    const auto workers = m_workspace->cluster().workers();
    m_row = row >= 0 && row < static_cast<int>(workers.size()) ? row : -1;
    setEnabled(m_row >= 0);
    m_test->setVisible(m_canTest && m_row >= 0 &&
                       !workers[static_cast<std::size_t>(m_row)].isOnThisMachine());
    if (m_row < 0) {
        m_card->setTitle(tr("No worker selected"));
        for (QLineEdit* edit : {m_name, m_address, m_machine})
            edit->clear();
        m_env->clear();
        for (const auto& [key, field] : m_fields)
            field->setProblem(nullptr);
        return;
    }
    const cluster::Worker& worker = workers[static_cast<std::size_t>(m_row)];
    m_card->setTitle(QString::fromStdString(worker.task.text()));
    put(m_name, QString::fromStdString(worker.name));
    m_name->setPlaceholderText(QString::fromStdString(worker.task.text()));
    m_role->setCurrentIndex(static_cast<int>(worker.type));
    put(m_address, QString::fromStdString(worker.address));
    const bool parts = worker.ssh.isObject();
    m_machine->setReadOnly(parts); // written in the file with its parts
    put(m_machine, worker.ssh.isNull() ? QString() : QString::fromStdString(worker.sshText()));
    if (envOf(m_env->toPlainText()) != worker.env)
        m_env->setPlainText(textOf(worker.env));
    showProblems();
}

void WorkerInspector::setCanTest(bool can) {
    m_canTest = can;
    setRow(m_row);
}

void WorkerInspector::showProblems() {
    const std::string prefix = "workers." + std::to_string(m_row) + ".";
    for (const auto& [key, field] : m_fields)
        field->setProblem(m_workspace->problemAt(Document::Cluster, prefix + key));
}

void WorkerInspector::focusField(const QString& key) {
    for (const auto& [name, field] : m_fields)
        if (QString::fromStdString(name) == key)
            field->editor()->setFocus(Qt::OtherFocusReason);
}

} // namespace lockstep::ui
