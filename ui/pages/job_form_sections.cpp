// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// The sections of the job form: which fields there are, and what each shows.
#include "core/base/json_reader.h"
#include "ui/pages/job_form.h"
#include "ui/widgets/icons.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QGridLayout>
#include <QStackedWidget>
#include <QToolButton>

namespace lockstep::ui {
namespace {

using Kind = NumberField::Kind;
constexpr double kMost = 1e12;

QString qs(const std::string& text) {
    return QString::fromStdString(text);
}

const job::CsvSource* csv(const job::JobSpec& job) {
    return std::get_if<job::CsvSource>(&job.data.train);
}

const job::RandomUniformSource* random(const job::JobSpec& job) {
    return std::get_if<job::RandomUniformSource>(&job.data.train);
}

QGridLayout* makeGrid(int columns) {
    auto* grid = new QGridLayout;
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setHorizontalSpacing(12);
    grid->setVerticalSpacing(10);
    for (int i = 0; i < columns; ++i)
        grid->setColumnStretch(i, 1);
    return grid;
}

QStringList metricNames(const job::JobSpec& job) {
    QStringList names;
    for (const auto& metric : job.compile.metrics)
        names.append(qs(metric.className));
    return names;
}

} // namespace

QWidget* JobForm::makeData() {
    auto* card = new Card(tr("Data"));
    m_dataNote = makeLabel({}, "muted");
    card->header()->insertWidget(1, m_dataNote);
    m_sourceChoice = new Segments({tr("CSV file"), tr("Random numbers")}, tr("Source of the data"));
    connect(m_sourceChoice, &Segments::chosen, this, &JobForm::chooseSource);
    m_refreshers.push_back([this](Job job) {
        m_sourceChoice->setCurrent(csv(job) ? 0 : 1);
        m_source->setCurrentIndex(csv(job) ? 0 : 1);
    });
    card->header()->addWidget(m_sourceChoice);
    card->body()->addWidget(makeSource());

    auto* grid = makeGrid(3);
    grid->addWidget(number(tr("Validation fraction"), "data.validation_fraction", Kind::Real, 0,
                           0.999, 0.05, [](Job job) { return job.data.validationFraction; }),
                    0, 0, Qt::AlignTop);
    grid->addWidget(number(tr("Shuffle buffer, rows"), "data.shuffle", Kind::Whole, 0, kMost, 100,
                           [](Job job) -> std::optional<double> {
                               if (job.data.shuffle == job::kShuffleAll)
                                   return {};
                               return static_cast<double>(job.data.shuffle);
                           }),
                    0, 1, Qt::AlignTop);
    grid->addWidget(choice(tr("Sharding"), "data.auto_shard_policy",
                           {QStringLiteral("AUTO"), QStringLiteral("DATA"), QStringLiteral("OFF")},
                           [](Job job) { return qs(job::textOf(job.data.shardPolicy)); }),
                    0, 2, Qt::AlignTop);
    card->body()->addLayout(grid);
    card->body()->addWidget(
        check(tr("Leave out rows that fill no whole batch"), "data.drop_remainder",
              [](Job job) { return job.data.remainder == job::Remainder::Drop; }));
    return card;
}

QWidget* JobForm::makeSource() {
    auto* file = new QWidget;
    auto* grid = makeGrid(4);
    file->setLayout(grid);
    auto* path = text(tr("File, from the job's folder on"), "data.train.path",
                      [](Job job) { return csv(job) ? qs(csv(job)->path) : QString(); });
    auto* browseButton = makeIconButton("open", tr("Choose the data file"));
    connect(browseButton, &QToolButton::clicked, this, &JobForm::browse);
    auto* line = new QHBoxLayout;
    line->setSpacing(4);
    line->addWidget(path, 1, Qt::AlignTop);
    auto* beside = new QVBoxLayout; // below the label, beside the editor
    beside->addSpacing(22);
    beside->addWidget(browseButton);
    beside->addStretch(1);
    line->addLayout(beside);
    grid->addLayout(line, 0, 0, 1, 4);
    auto* label = text(tr("Label column"), "data.train.label", [](Job job) {
        if (!csv(job))
            return QString();
        const auto& column = csv(job)->label;
        return std::holds_alternative<std::string>(column)
                   ? qs(std::get<std::string>(column))
                   : QString::number(std::get<std::int64_t>(column));
    });
    // A place is a number in the document, a name is a text.
    auto* labelEdit = static_cast<QLineEdit*>(label->editor());
    labelEdit->disconnect(this);
    connect(labelEdit, &QLineEdit::textEdited, this, [this](const QString& typed) {
        bool isPlace = false;
        const qlonglong place = typed.toLongLong(&isPlace);
        if (typed != QStringLiteral("-"))
            set("data.train.label", isPlace ? json::Value(static_cast<std::int64_t>(place))
                                            : json::Value(typed.toStdString()));
    });
    grid->addWidget(label, 1, 0, Qt::AlignTop);
    grid->addWidget(number(tr("Skip lines"), "data.train.skip_lines", Kind::Whole, 0, kMost, 1,
                           [](Job job) -> std::optional<double> {
                               return csv(job) ? static_cast<double>(csv(job)->skipLines) : 0.0;
                           }),
                    1, 1, Qt::AlignTop);
    grid->addWidget(
        number(tr("Times every feature"), "data.train.scale", Kind::Real, -kMost, kMost, 0.1,
               [](Job job) -> std::optional<double> { return csv(job) ? csv(job)->scale : 1.0; }),
        1, 2, Qt::AlignTop);
    auto* header = check(tr("Header line"), "data.train.header",
                         [](Job job) { return csv(job) && csv(job)->header; });
    grid->addWidget(header, 1, 3, Qt::AlignBottom);

    auto* numbers = new QWidget;
    auto* row = makeGrid(4);
    numbers->setLayout(row);
    const auto add = [&](int at, const QString& name, const char* key,
                         std::int64_t job::RandomUniformSource::*member) {
        row->addWidget(number(name, std::string("data.train.") + key, Kind::Whole, 1, kMost, 1,
                              [member](Job job) -> std::optional<double> {
                                  if (!random(job))
                                      return {};
                                  return static_cast<double>(random(job)->*member);
                              }),
                       0, at, Qt::AlignTop);
    };
    add(0, tr("Rows"), "rows", &job::RandomUniformSource::rows);
    add(1, tr("Features"), "features", &job::RandomUniformSource::features);
    add(2, tr("Labels"), "labels", &job::RandomUniformSource::labels);
    row->addWidget(number(tr("Seed of the data"), "data.train.seed", Kind::Whole, 0, kMost, 1,
                          [](Job job) -> std::optional<double> {
                              return random(job) ? static_cast<double>(random(job)->seed) : 0.0;
                          }),
                   0, 3, Qt::AlignTop);
    m_source = new QStackedWidget;
    m_source->addWidget(file);
    m_source->addWidget(numbers);
    return m_source;
}

void JobForm::chooseSource(int index) {
    if (index == 0)
        set("data.train", json::Value::object({{"source", "csv"}, {"path", ""}, {"label", -1}}));
    else
        set("data.train",
            json::Value::object(
                {{"source", "random_uniform"}, {"rows", 1000}, {"features", 10}, {"labels", 1}}));
}

void JobForm::browse() {
    const QString job = m_workspace->file(Document::Job);
    const QString folder = job.isEmpty() ? QDir::currentPath() : QFileInfo(job).absolutePath();
    auto* dialog = new QFileDialog(window(), tr("Choose the data file"), folder,
                                   tr("CSV (*.csv *.csv.gz);;All files (*)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    connect(dialog, &QFileDialog::fileSelected, this, [this, job, folder](const QString& path) {
        // Below the job's folder it is named from there, so that the folder can move.
        const QString relative = QDir(folder).relativeFilePath(path);
        const bool inside = !job.isEmpty() && !relative.startsWith(QStringLiteral(".."));
        set("data.train.path", (inside ? relative : path).toStdString());
    });
    dialog->open();
}

QWidget* JobForm::makeTraining() {
    auto* card = new Card(tr("Training"));
    auto* grid = makeGrid(3);
    auto* optimizer = choice(tr("Optimizer"), "compile.optimizer",
                             {QStringLiteral("adam"), QStringLiteral("sgd")},
                             [](Job job) { return qs(job.compile.optimizer.className); });
    grid->addWidget(optimizer, 0, 0, Qt::AlignTop);
    auto* rate =
        number(tr("Learning rate"), "compile.optimizer.config.learning_rate", Kind::Real, 0, 1e6,
               0.001, [](Job job) { return job::baseLearningRate(job.compile.optimizer); });
    auto* rateEdit = static_cast<NumberField*>(rate->editor());
    rateEdit->disconnect(this);
    connect(rateEdit, &NumberField::edited, this, &JobForm::setLearningRate);
    grid->addWidget(rate, 0, 1, Qt::AlignTop);
    grid->addWidget(
        choice(tr("Loss"), "compile.loss",
               {QStringLiteral("sparse_categorical_crossentropy"),
                QStringLiteral("categorical_crossentropy"), QStringLiteral("binary_crossentropy"),
                QStringLiteral("mse"), QStringLiteral("mae")},
               [](Job job) { return qs(job.compile.loss.className); }),
        0, 2, Qt::AlignTop);
    auto* metrics = text(tr("Metrics, with commas"), "compile.metrics",
                         [](Job job) { return metricNames(job).join(QStringLiteral(", ")); });
    auto* metricsEdit = static_cast<QLineEdit*>(metrics->editor());
    metricsEdit->disconnect(this);
    connect(metricsEdit, &QLineEdit::editingFinished, this, [this, metricsEdit] {
        const QStringList names = metricsEdit->text().split(QLatin1Char(','), Qt::SkipEmptyParts);
        json::Value list = json::Value::array();
        QStringList typed;
        for (const QString& name : names) {
            typed.append(name.trimmed());
            list.append(typed.back().toStdString());
        }
        if (typed != metricNames(m_workspace->job()))
            set("compile.metrics", list);
    });
    grid->addWidget(number(tr("Epochs"), "fit.epochs", Kind::Whole, 1, kMost, 1,
                           [](Job job) { return static_cast<double>(job.fit.epochs); }),
                    1, 0, Qt::AlignTop);
    grid->addWidget(makeBatch(), 1, 1, 1, 2, Qt::AlignTop);
    grid->addWidget(metrics, 2, 0, Qt::AlignTop);
    grid->addWidget(
        choice(tr("Learning rate scaling"), "fit.learning_rate_scaling",
               {QStringLiteral("none"), QStringLiteral("linear"), QStringLiteral("sqrt")},
               [](Job job) { return qs(job::textOf(job.fit.rateScaling)); }),
        2, 1, Qt::AlignTop);
    auto* last = makeGrid(2);
    last->addWidget(number(tr("Warm-up steps"), "fit.warmup_steps", Kind::Whole, 0, kMost, 10,
                           [](Job job) { return static_cast<double>(job.fit.warmupSteps); }),
                    0, 0, Qt::AlignTop);
    last->addWidget(number(tr("Seed"), "seed", Kind::Whole, 0, 9e15, 1,
                           [](Job job) { return static_cast<double>(job.seed); }),
                    0, 1, Qt::AlignTop);
    grid->addLayout(last, 2, 2);
    card->body()->addLayout(grid);
    return card;
}

QWidget* JobForm::makeBatch() {
    m_batch = new NumberField(Kind::Whole);
    m_batch->setBounds(1, kMost, 1);
    m_batchChoice =
        new Segments({tr("Global"), tr("Per replica")}, tr("Which batch size is fixed"));
    auto* field = new Field(tr("Batch size"), m_batch);
    const auto path = [this] {
        return m_batchChoice->current() == 0 ? "fit.global_batch_size"
                                             : "fit.batch_size_per_replica";
    };
    connect(m_batch, &NumberField::edited, this,
            [this, path](double size) { set(path(), static_cast<std::int64_t>(size)); });
    connect(m_batchChoice, &Segments::chosen, this, [this, path] {
        if (m_batch->value())
            set(path(), static_cast<std::int64_t>(*m_batch->value()));
    });
    m_refreshers.push_back([this](Job job) {
        const bool perReplica = job.fit.batchSizePerReplica.has_value();
        m_batchChoice->setCurrent(perReplica ? 1 : 0);
        m_batch->setValue(static_cast<double>(perReplica ? *job.fit.batchSizePerReplica
                                                         : job::globalBatchSize(job.fit, 1)));
    });
    add("fit.global_batch_size", field);
    auto* row = new QWidget;
    auto* layout = new QHBoxLayout(row);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(12);
    layout->addWidget(field, 1, Qt::AlignTop);
    auto* beside = new QVBoxLayout;
    beside->addSpacing(22);
    beside->addWidget(m_batchChoice);
    beside->addStretch(1);
    layout->addLayout(beside);
    return row;
}

/// A name without settings becomes an object with them, as Keras writes optimizers.
void JobForm::setLearningRate(double rate) {
    const json::Value* optimizer = json::findPath(m_workspace->jobDocument(), "compile.optimizer");
    if (optimizer && optimizer->isObject())
        return set("compile.optimizer.config.learning_rate", rate);
    set("compile.optimizer",
        json::Value::object(
            {{"class_name", m_workspace->job().compile.optimizer.className},
             {"config", json::Value::object({{"learning_rate", json::Value(rate)}})}}));
}

QWidget* JobForm::makeCommunication() {
    auto* card = new Card(tr("Communication"));
    auto* grid = makeGrid(4);
    grid->addWidget(
        choice(tr("Implementation"), "communication.implementation",
               {QStringLiteral("AUTO"), QStringLiteral("RING")},
               [](Job job) { return qs(job::textOf(job.communication.implementation)); }),
        0, 0, Qt::AlignTop);
    const auto seconds = [&](int at, const QString& name, const char* key,
                             double job::Communication::*member) {
        grid->addWidget(number(name, std::string("communication.") + key, Kind::Real, 0.001, 1e6, 1,
                               [member](Job job) { return job.communication.*member; }),
                        0, at, Qt::AlignTop);
    };
    seconds(1, tr("All-reduce limit, s"), "timeout_seconds", &job::Communication::timeoutSeconds);
    seconds(2, tr("Join limit, s"), "join_timeout_seconds",
            &job::Communication::joinTimeoutSeconds);
    seconds(3, tr("Silence limit, s"), "heartbeat_timeout_seconds",
            &job::Communication::heartbeatTimeoutSeconds);
    card->body()->addLayout(grid);
    return card;
}

} // namespace lockstep::ui
