// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/pages/job_form.h"

#include "ui/models/format.h"
#include "ui/widgets/icons.h"

#include <QCheckBox>
#include <QComboBox>
#include <QGridLayout>
#include <QHeaderView>
#include <QStandardItemModel>
#include <QTableView>
#include <QToolButton>

namespace lockstep::ui {

JobForm::JobForm(Workspace* workspace, QWidget* parent)
    : QWidget(parent)
    , m_workspace(workspace) {
    setProperty("kind", QStringLiteral("page"));
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(16);
    m_ofModel = {makeData(), makeModel(), makeTraining(), makeCommunication()};
    m_program = makeProgram();
    column->addWidget(m_program);
    for (QWidget* card : m_ofModel)
        column->addWidget(card);
    column->addStretch(1);
    connect(workspace, &Workspace::jobChanged, this, &JobForm::refresh);
    connect(workspace, &Workspace::problemsChanged, this, &JobForm::refresh);
    connect(workspace, &Workspace::descriptionChanged, this, &JobForm::showLayers);
    refresh();
    showLayers();
}

void JobForm::set(const std::string& path, json::Value value) {
    // A path that does not fit the document (a text where an object belongs) is a problem that the
    // document already has; the field then keeps what it shows.
    const Status status = m_workspace->editJob(tr("Edit %1").arg(QString::fromStdString(path)),
                                               path, std::move(value));
    if (!status.ok())
        refresh();
}

void JobForm::add(const std::string& path, Field* field) {
    m_fields.append({path, field});
}

Field* JobForm::text(const QString& label, const std::string& path,
                     std::function<QString(Job)> shown) {
    auto* edit = new QLineEdit;
    auto* field = new Field(label, edit);
    connect(edit, &QLineEdit::textEdited, this, [this, path](const QString& typed) {
        set(path, typed.isEmpty() ? json::Value() : json::Value(typed.toStdString()));
    });
    m_refreshers.push_back([edit, shown](Job job) {
        if (const QString text = shown(job); edit->text() != text && !edit->hasFocus())
            edit->setText(text);
    });
    add(path, field);
    return field;
}

Field* JobForm::number(const QString& label, const std::string& path, NumberField::Kind kind,
                       double min, double max, double step,
                       std::function<std::optional<double>(Job)> shown) {
    auto* edit = new NumberField(kind);
    edit->setBounds(min, max, step);
    auto* field = new Field(label, edit);
    connect(edit, &NumberField::edited, this, [this, path, kind](double value) {
        set(path, kind == NumberField::Kind::Whole ? json::Value(static_cast<std::int64_t>(value))
                                                   : json::Value(value));
    });
    m_refreshers.push_back([edit, shown](Job job) { edit->setValue(shown(job)); });
    add(path, field);
    return field;
}

Field* JobForm::choice(const QString& label, const std::string& path, const QStringList& words,
                       std::function<QString(Job)> shown) {
    auto* box = new QComboBox;
    box->addItems(words);
    auto* field = new Field(label, box);
    connect(box, &QComboBox::textActivated, this,
            [this, path](const QString& word) { set(path, word.toStdString()); });
    m_refreshers.push_back([box, shown](Job job) {
        const QString word = shown(job);
        if (box->findText(word) < 0 && !word.isEmpty())
            box->addItem(word); // what the document says is shown, whether we know it or not
        box->setCurrentText(word);
    });
    add(path, field);
    return field;
}

QCheckBox* JobForm::check(const QString& label, const std::string& path,
                          std::function<bool(Job)> shown) {
    auto* box = new QCheckBox(label);
    connect(box, &QCheckBox::clicked, this, [this, path](bool on) { set(path, on); });
    m_refreshers.push_back([box, shown](Job job) { box->setChecked(shown(job)); });
    return box;
}

QWidget* JobForm::makeModel() {
    auto* card = new Card(tr("Model"));
    m_modelNote = makeLabel({}, "muted");
    card->header()->insertWidget(1, m_modelNote);
    auto* edit = new QToolButton;
    edit->setText(tr("Edit as JSON"));
    edit->setProperty("kind", QStringLiteral("quiet"));
    edit->setToolTip(tr("Layers are edited in the JSON of the job"));
    connect(edit, &QToolButton::clicked, this, &JobForm::jsonWanted);
    card->header()->addWidget(edit);

    m_layerModel = new QStandardItemModel(this);
    m_layers = new QTableView;
    m_layers->setModel(m_layerModel);
    m_layers->setAccessibleName(tr("Layers of the model"));
    m_layers->setEditTriggers(QAbstractItemView::NoEditTriggers);
    m_layers->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_layers->setShowGrid(false);
    m_layers->verticalHeader()->hide();
    m_layers->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    m_layers->horizontalHeader()->setHighlightSections(false);
    m_layers->verticalHeader()->setDefaultSectionSize(28);
    m_layers->setTabKeyNavigation(false);
    m_layers->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_modelProblem = new ProblemLabel;
    card->body()->addWidget(m_layers);
    card->body()->addWidget(m_modelProblem);
    return card;
}

void JobForm::showLayers() {
    const JobDescription& description = m_workspace->description();
    m_layerModel->clear();
    m_layerModel->setHorizontalHeaderLabels(
        {tr("Layer"), tr("Class"), tr("Output shape"), tr("Parameters")});
    for (const LayerRow& layer : description.layers) {
        QList<QStandardItem*> row;
        for (const QString& text :
             {layer.name, layer.className, layer.outputShape, formatCount(layer.parameters)}) {
            row.append(new QStandardItem(text));
            row.back()->setToolTip(text);
        }
        row.back()->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
        m_layerModel->appendRow(row);
    }
    m_layerModel->setHeaderData(3, Qt::Horizontal, int(Qt::AlignRight | Qt::AlignVCenter),
                                Qt::TextAlignmentRole);
    m_layers->horizontalHeader()->setSectionResizeMode(QHeaderView::Stretch);
    const int rows = std::clamp(m_layerModel->rowCount(), 1, 12);
    m_layers->setFixedHeight(rows * 28 + 34);
    m_layers->setVisible(m_layerModel->rowCount() > 0);
    const auto layers = static_cast<int>(description.layers.size());
    m_modelNote->setText(layers > 0 ? countWords(layers, tr("1 layer"), tr("%1 layers"))
                         : description.failure.isEmpty() && !description.isCurrent
                             ? tr("reading the model …")
                             : QString());
    if (description.trainRows > 0)
        m_dataNote->setText(tr("%1 rows to train, %2 to validate, %3 features")
                                .arg(formatCount(description.trainRows))
                                .arg(formatCount(description.validationRows))
                                .arg(description.features));
    else
        m_dataNote->clear();
    refresh();
}

void JobForm::refresh() {
    const job::JobSpec& job = m_workspace->job();
    const bool isCommand = job.kind == job::JobKind::Command;
    m_program->setVisible(isCommand);
    for (QWidget* card : m_ofModel)
        card->setVisible(!isCommand);
    m_isRefreshing = true;
    for (const auto& show : m_refreshers)
        show(job);
    m_isRefreshing = false;
    for (const auto& [path, field] : m_fields)
        field->setProblem(m_workspace->problemAt(Document::Job, path));
    const Problem* problem = m_workspace->problemAt(Document::Job, "model");
    if (problem)
        m_modelProblem->setProblem(problem);
    else
        m_modelProblem->setText(Tone::Warning, m_workspace->description().failure);
}

void JobForm::reveal(const QString& path) {
    const std::string wanted = path.toStdString();
    Field* best = nullptr;
    std::size_t length = 0;
    for (const auto& [place, field] : m_fields)
        if (wanted.starts_with(place) && place.size() >= length) {
            best = field;
            length = place.size();
        }
    if (best)
        best->editor()->setFocus(Qt::OtherFocusReason);
}

} // namespace lockstep::ui
